"""Device meshes as collective algorithms, for the search of orders and for predictions."""

from __future__ import annotations

from collections.abc import Sequence

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.base.text import format_count
from plink.formats.mesh import MESH, Mesh, MeshDimension
from plink.optimize.orders.request import OrderRequest
from plink.optimize.orders.slots import find_algorithm
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.mesh import Dimension, find_pattern, mesh_form, mesh_table
from plink.solvers.slots.layout import RankLayout


def apply_mesh(request: OrderRequest) -> OrderRequest:
    """Return an order request with the algorithm, ranks and size that its device mesh implies.

    Raises:
        WrongUseError: another number of ranks is asked for than the mesh has.
    """
    mesh = request.device_mesh
    own = request.custom_algorithm
    if mesh is None:
        return request if own is None else replace(request, algorithm=own.name)
    if request.ranks not in (None, mesh.ranks):
        raise WrongUseError(
            f"the mesh {mesh.text} has {format_count(mesh.ranks, 'rank')}, not {request.ranks}",
            "leave out {ranks=}",
            arguments={"ranks": request.ranks},
        )
    # The mesh has its own bytes from here on, as texts would be read with the size of all of it.
    return replace(
        request,
        algorithm=MESH,
        mesh=mesh,
        traffic=None,
        ranks=mesh.ranks,
        size=mesh.size_bytes,
    )


def choose_algorithm(request: OrderRequest, layout: RankLayout) -> Algorithm:
    """Return the algorithm of an order request: a named one, or its mesh's collectives as one.

    Raises:
        WrongUseError: it is unknown, or not run with so many ranks.
    """
    if request.custom_algorithm is not None:
        reason = request.custom_algorithm.refusal(layout.ranks)
        if reason is not None:
            raise WrongUseError(reason)
        return request.custom_algorithm
    if request.device_mesh is None:
        return find_algorithm(request.algorithm, layout)
    return mesh_algorithm(request.device_mesh)


def mesh_algorithm(mesh: Mesh, name: str = MESH) -> Algorithm:
    """Return all collectives of a training iteration on a mesh as one algorithm.

    Raises:
        WrongUseError: what a dimension runs is unknown, or not run with so many ranks.
    """
    dimensions = [_dimension(one) for one in mesh.dimensions]

    def refusal(ranks: int) -> str | None:
        if ranks == mesh.ranks:
            return None
        return f"the mesh {mesh.text} has {format_count(mesh.ranks, 'rank')}, not {ranks}"

    return Algorithm(
        name,
        f"the groups of {mesh.text}: {mesh.traffic}",
        lambda _ranks, _size_bytes: mesh_table(dimensions),
        lambda _ranks: mesh_form(dimensions),
        refusal,
    )


def _dimension(one: MeshDimension) -> Dimension:
    try:
        pattern = find_pattern(one.algorithm)
    except ValueError as error:
        raise WrongUseError(
            f"mesh dimension {one.name}: {error}",
            "a dimension runs chain, ring, all-to-all, or another algorithm in rounds",
        ) from None
    if one.size == 1 or not one.size_bytes:
        return Dimension(one.size, None, 0)
    reason = pattern.refusal(one.size)
    if reason is not None:
        raise WrongUseError(f"mesh dimension {one.name} cannot run {one.algorithm}: {reason}")
    return Dimension(one.size, pattern, one.size_bytes)


def list_dimensions(mesh: Mesh) -> Sequence[Algorithm]:
    """Return a mesh's algorithm, then one for each dimension that has traffic, by itself.

    Raises:
        WrongUseError: as `mesh_algorithm`.
    """
    carrying = [one for one in mesh.dimensions if one.size > 1 and one.size_bytes]
    alone = [
        Mesh([other if other is one else replace(other, size_bytes=0) for other in mesh.dimensions])
        for one in carrying
    ]
    names = [f"{MESH}: {one.name}" for one in carrying]
    return [mesh_algorithm(mesh), *map(mesh_algorithm, alone, names)]


def inner_advice(mesh: Mesh, slots: int) -> str | None:
    """Return advice to put the dimension with most traffic last, if hosts have several ranks.

    Args:
        mesh: mesh of an order in which the ranks of a host are neighbours.
        slots: ranks of the host with most.
    """
    carrying = [one for one in mesh.dimensions if one.size > 1]
    heaviest = max(carrying, key=lambda one: one.size_bytes)
    if slots < 2 or heaviest.size_bytes == carrying[-1].size_bytes:
        return None
    others = [one for one in mesh.dimensions if one is not heaviest]
    better = ",".join(f"{one.name}={one.size}" for one in (*others, heaviest))
    return (
        f"the ranks of a host are neighbours in {carrying[-1].name}, the mesh's last dimension, "
        f"though {heaviest.name} carries more: a mesh of {better} would keep that inside hosts"
    )
