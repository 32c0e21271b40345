"""Device mesh of ranks, from text such as dp=4,tp=8, with collective and bytes by dimension."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from plink.base.errors import WrongUseError
from plink.base.size import format_size, parse_size
from plink.base.text import format_count
from plink.formats.limits import Bytes, constrain_to_pattern, find_repeated
from plink.formats.structs import InvalidValueError

# What an order for a mesh has in place of an algorithm's name.
MESH = "mesh"

# What the groups of a dimension with one of these names run, where nothing else is said.
_PATTERNS = {"pp": "chain", "ep": "all-to-all"}
_PATTERN = "ring"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}", re.ASCII)
_ALGORITHM = re.compile(r"[a-z0-9][a-z0-9:-]{0,63}", re.ASCII)

_MOST_DIMENSIONS = 8
MAX_MESH_RANKS = 1 << 16

_HINT = "write a mesh as dp=4,pp=2,tp=8: the last dimension's ranks are neighbours"
_TRAFFIC_HINT = "write traffic as tp=2GB,dp=ring:500MB: bytes of an iteration, or shares of it"


class MeshDimension(Struct, frozen=True, forbid_unknown_fields=True):
    """Dimension of a device mesh: name, size, and the algorithm and bytes of its collectives.

    Attributes:
        name: name of the dimension, such as `tp`
        size: number of ranks in each of its groups
        algorithm: collective algorithm that each of its groups runs
        size_bytes: buffer that each rank puts into that algorithm in an iteration; 0 for nothing
    """

    name: Annotated[str, constrain_to_pattern(rf"^{_NAME.pattern}$(?!\n)", "a name such as tp")]
    size: Annotated[int, Meta(ge=1, le=MAX_MESH_RANKS)]
    algorithm: Annotated[
        str, constrain_to_pattern(rf"^{_ALGORITHM.pattern}$(?!\n)", "an algorithm such as ring")
    ]
    size_bytes: Bytes


class Mesh(Struct, frozen=True, forbid_unknown_fields=True):
    """Device mesh: ranks in a grid, numbered as by PyTorch's `DeviceMesh`, last dimension fastest.

    Attributes:
        dimensions: dimensions of the mesh, the last one fastest
    """

    dimensions: Annotated[Sequence[MeshDimension], Meta(min_length=1, max_length=_MOST_DIMENSIONS)]

    def __post_init__(self) -> None:
        if find_repeated(dimension.name for dimension in self.dimensions) is not None:
            raise ValueError("two dimensions of the mesh have the same name")
        if self.ranks > MAX_MESH_RANKS:
            raise InvalidValueError(
                f"the mesh has {format_count(self.ranks, 'rank')}, more than {MAX_MESH_RANKS:,}"
            )
        if not any(one.size > 1 and one.size_bytes for one in self.dimensions):
            raise InvalidValueError(
                "no dimension of the mesh with several ranks has traffic", _TRAFFIC_HINT
            )

    @property
    def ranks(self) -> int:
        """Number of ranks of the mesh."""
        return math.prod(one.size for one in self.dimensions)

    @property
    def size_bytes(self) -> int:
        """Sum of the dimensions' buffer sizes in bytes."""
        return sum(one.size_bytes for one in self.dimensions)

    @property
    def text(self) -> str:
        """Mesh's dimensions in the syntax of the command line: `dp=4,tp=2`."""
        return ",".join(f"{one.name}={one.size}" for one in self.dimensions)

    @property
    def given_traffic(self) -> str:
        """Mesh's traffic in the syntax of the command line: `dp=ring:2000000`."""
        return ",".join(
            f"{one.name}={one.algorithm}:{one.size_bytes}"
            for one in self.dimensions
            if one.size_bytes
        )

    @property
    def traffic(self) -> str:
        """Algorithm and buffer size of each dimension as text: `dp ring 2 MB, tp nothing`."""
        return ", ".join(
            f"{one.name} {one.algorithm} {format_size(one.size_bytes)}"
            if one.size_bytes
            else f"{one.name} nothing"
            for one in self.dimensions
        )


def parse_mesh(mesh: str, traffic: str | None, size_bytes: int) -> Mesh:
    """Parse a device mesh from the texts of `--mesh` and `--traffic`.

    Args:
        mesh: sizes of dimensions: `dp=4,pp=2,tp=8`.
        traffic: what some of them carry: `tp=2GB,dp=halving-doubling:500MB`; the others then carry
            nothing. Where it is None, all carry `size_bytes`.
        size_bytes: size of each dimension, without traffic.

    Raises:
        WrongUseError: not a mesh or traffic, or the traffic of a dimension that the mesh lacks.
    """
    sizes = {name: _size(name, value) for name, value in _pairs(mesh, "mesh", _HINT)}
    if len(sizes) > _MOST_DIMENSIONS:
        raise WrongUseError(f"the mesh has {len(sizes)} dimensions, more than {_MOST_DIMENSIONS}")
    carried = {name: (_default(name), size_bytes) for name in sizes}
    if traffic is not None:
        carried = {name: (_default(name), 0) for name in sizes}
        for name, value in _pairs(traffic, "traffic", _TRAFFIC_HINT):
            if name not in sizes:
                raise WrongUseError(
                    f"traffic is given for {name}, which is no dimension of the mesh", _HINT
                )
            carried[name] = _parse_traffic(name, value)
    try:
        return Mesh([MeshDimension(name, size, *carried[name]) for name, size in sizes.items()])
    except InvalidValueError as error:
        raise WrongUseError(str(error), error.hint) from None


def _default(name: str) -> str:
    return _PATTERNS.get(name, _PATTERN)


def _pairs(text: str, argument: str, hint: str) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not (equals and value and _NAME.fullmatch(name)):
            raise WrongUseError(f"{argument} has {part.strip()!r}, expected NAME=VALUE", hint)
        if name in found:
            raise WrongUseError(f"{argument} names the dimension {name} twice", hint)
        found[name] = value
    return list(found.items())


def _size(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= 9 and int(value) > 0):
        raise WrongUseError(
            f"dimension {name} has size {value!r}, expected a whole number of at least 1", _HINT
        )
    return int(value)


def _parse_traffic(name: str, value: str) -> tuple[str, int]:
    algorithm, colon, size = value.rpartition(":")
    if not colon:
        algorithm = _default(name)
    try:
        return algorithm.strip(), parse_size(size)
    except WrongUseError as wrong_size:
        raise WrongUseError(
            f"the traffic of dimension {name}: {wrong_size}", _TRAFFIC_HINT
        ) from None
