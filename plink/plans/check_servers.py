"""Symbolic check of a forest with servers, which contribute no data and need no result.

Every worker's contribution has to arrive at the root of every route once, and the result at every
worker. A route may do without any server (`plink.plans.forest.ABSENT`), and uses none as if it had
something of its own to add.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from plink.plans.check import BrokenForestError, check, check_route, check_shapes, find_sound_roots
from plink.plans.forest import ABSENT, NO_PARENT, Forest, Parents

Flags = npt.NDArray[np.bool_]
Ports = Annotated[
    npt.NDArray[np.int32],
    Meta(
        extra_json_schema={"items": {"type": "array", "items": {"type": "integer", "minimum": 0}}}
    ),
]


def check_with_servers(forest: Forest, is_server: Flags) -> None:
    """Raise if a route does not sum every worker's data once and return it to all workers.

    Args:
        forest: over P ranks.
        is_server: (P,) whether each contributes nothing.

    Raises:
        BrokenForestError: naming route and rank, both counted from 0.
    """
    if not is_server.any():
        check(forest)
        return
    check_shapes(forest)
    if is_server.shape != (forest.ranks,):
        raise BrokenForestError(
            f"the forest is over {forest.ranks} ranks, but {len(is_server)} roles are given"
        )
    if is_server.all():
        raise BrokenForestError("no rank is a worker, so that there is nothing to aggregate")
    if _is_sound(forest, is_server):
        return
    trees = zip(forest.reduce_parents.tolist(), forest.broadcast_parents.tolist(), strict=True)
    roles = is_server.tolist()
    for route, (up, down) in enumerate(trees):
        _check_route(route, up, down, roles)


def check_ports(forest: Forest, route_ports: Ports, ports_of: Sequence[int]) -> None:
    """Raise if a route uses a server port that the server does not have.

    Args:
        forest: over P ranks.
        route_ports: (R, P) the port of each rank, 0 where it has none or is absent.
        ports_of: (P,) how many each rank has.

    Raises:
        BrokenForestError: naming route and rank, both counted from 0.
    """
    if route_ports.shape != forest.reduce_parents.shape:
        raise BrokenForestError(
            "the arrays of ports and trees differ in the number of routes or ranks"
        )
    most = np.maximum(np.asarray(ports_of), 1)
    wrong = np.argwhere((route_ports < 0) | (route_ports >= most[None, :]))
    if len(wrong):
        route, rank = wrong[0].tolist()
        raise BrokenForestError(
            f"route {route}: rank {rank} has no port {route_ports[route, rank]}, "
            f"expected 0 to {most[rank] - 1}"
        )


def _is_sound(forest: Forest, is_server: Flags) -> bool:
    """Return quickly whether a forest with servers is valid, without an explanation."""
    up, down = forest.reduce_parents, forest.broadcast_parents
    roots = [_sound_roots(parents, is_server) for parents in (up, down)]
    if roots[0] is None or roots[1] is None or (roots[0] != roots[1]).any():
        return False
    has_children = np.zeros(up.shape, dtype=bool)
    route, child = np.nonzero(up >= 0)
    has_children[route, up[route, child]] = True
    return bool((has_children | (up == ABSENT) | ~is_server[None, :]).all())


def _sound_roots(parents: Parents, is_server: Flags) -> npt.NDArray[np.intp] | None:
    """Return the root of each tree, shape (R,); None if one is not a tree with all workers."""
    if parents.min() < ABSENT or parents.max() >= parents.shape[1]:
        return None
    is_absent = parents == ABSENT
    is_root = parents == NO_PARENT
    if (is_absent & ~is_server[None, :]).any() or (is_root.sum(axis=1) != 1).any():
        return None
    route, child = np.nonzero(parents >= 0)
    if is_absent[route, parents[route, child]].any():
        return None
    return find_sound_roots(np.where(is_absent, np.argmax(is_root, axis=1)[:, None], parents))


def _check_route(
    route: int, up: Sequence[int], down: Sequence[int], is_server: Sequence[bool]
) -> None:
    for tree, parents in (("reduction", up), ("broadcast", down)):
        for rank, parent in enumerate(parents):
            if parent == ABSENT and not is_server[rank]:
                raise BrokenForestError(
                    f"route {route}: the {tree} tree omits rank {rank}, which is a worker"
                )
            if 0 <= parent < len(parents) and parents[parent] == ABSENT:
                raise BrokenForestError(
                    f"route {route}: the {tree} tree has rank {parent} as the parent of rank "
                    f"{rank}, but omits rank {parent}"
                )
    check_route(route, _attach_absent(up), _attach_absent(down))
    has_children = set(up)
    for rank, parent in enumerate(up):
        if parent != ABSENT and is_server[rank] and rank not in has_children:
            raise BrokenForestError(
                f"route {route}: rank {rank} is a server, but receives nothing that it could send"
            )


def _attach_absent(parents: Sequence[int]) -> list[int]:
    """Return a tree with the ranks it omits attached below its root, where they change nothing."""
    root = parents.index(NO_PARENT) if NO_PARENT in parents else 0
    return [root if parent == ABSENT else parent for parent in parents]
