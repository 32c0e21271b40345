"""Check that every route of a forest sums each worker's data once and returns it to all.

A route's two trees must have one root, and every worker a way to it; then no contribution counts
twice, since a rank has one parent. Servers contribute nothing and need no result: a route may do
without one (`plink.plans.forest.ABSENT`), and has none that receives nothing to send on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from plink.base.text import join_texts
from plink.plans.forest import ABSENT, NO_PARENT, Forest, Parents

Flags = npt.NDArray[np.bool_]
Ports = Annotated[
    npt.NDArray[np.int32],
    Meta(
        extra_json_schema={"items": {"type": "array", "items": {"type": "integer", "minimum": 0}}}
    ),
]

_SHOWN = 3


class BrokenForestError(ValueError):
    """Error that a forest does not sum every rank's data once and return it to all."""


def check(forest: Forest, is_server: Flags | None = None) -> None:
    """Raise BrokenForestError unless every route sums each worker's data once and returns it.

    Args:
        forest: forest over P ranks.
        is_server: (P,) whether each rank is a server; None if all are workers.

    Raises:
        BrokenForestError: naming route and rank, both counted from 0.
    """
    check_shapes(forest)
    servers = np.zeros(forest.ranks, dtype=bool) if is_server is None else is_server
    if servers.shape != (forest.ranks,):
        raise BrokenForestError(
            f"the forest has {forest.ranks} ranks, but roles are given for {len(servers)}"
        )
    if servers.all():
        raise BrokenForestError("no rank is a worker, so that there is nothing to aggregate")
    if _is_valid(forest, servers):
        return
    trees = zip(forest.reduce_parents.tolist(), forest.broadcast_parents.tolist(), strict=True)
    for route, (up, down) in enumerate(trees):
        _explain_route(route, up, down, servers.tolist())


def check_shapes(forest: Forest) -> None:
    """Raise BrokenForestError if a forest's arrays differ in shape or weights are not valid.

    Raises:
        BrokenForestError: naming the route, counted from 0.
    """
    shape = forest.reduce_parents.shape
    if len(shape) != 2 or forest.weights.shape != shape[:1] or not all(shape):
        raise BrokenForestError(
            "the arrays of weights and trees differ in the number of routes or ranks"
        )
    if forest.broadcast_parents.shape != shape:
        raise BrokenForestError("the trees of reduction and broadcast have different shapes")
    for route, weight in enumerate(forest.weights.tolist()):
        if not math.isfinite(weight) or weight < 0.0:
            raise BrokenForestError(
                f"route {route}: its weight is {weight:g}, expected a finite number from 0"
            )
    if not 0.0 < sum(forest.weights.tolist()) < math.inf:
        raise BrokenForestError("the weights must have a finite sum above 0")


def check_ports(forest: Forest, route_ports: Ports, ports_of: Sequence[int]) -> None:
    """Raise BrokenForestError if a route uses a port that its server does not have.

    Args:
        forest: forest over P ranks.
        route_ports: (R, P) the port of each rank, 0 where it has none or is absent.
        ports_of: (P,) number of ports of each rank.

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


def _is_valid(forest: Forest, is_server: Flags) -> bool:
    """Return quickly whether a forest is valid, without saying what is wrong with it."""
    up = forest.reduce_parents
    roots = _find_roots(up, is_server)
    others = _find_roots(forest.broadcast_parents, is_server)
    if roots is None or others is None or (roots != others).any():
        return False
    if not is_server.any():
        return True
    has_children = np.zeros(up.shape, dtype=bool)
    route, child = np.nonzero(up >= 0)
    has_children[route, up[route, child]] = True
    return bool((has_children | (up == ABSENT) | ~is_server[None, :]).all())


def _find_roots(parents: Parents, is_server: Flags) -> npt.NDArray[np.intp] | None:
    """Return the root of each tree, (R,); None if one is no tree that includes all workers."""
    ranks = int(parents.shape[1])
    is_absent, is_root = parents == ABSENT, parents == NO_PARENT
    is_outside = parents.min() < ABSENT or parents.max() >= ranks
    if is_outside or (is_root.sum(axis=1) != 1).any() or (is_absent & ~is_server).any():
        return None
    roots: npt.NDArray[np.intp] = np.argmax(is_root, axis=1)
    above = np.where(parents < 0, roots[:, None], parents)
    if np.take_along_axis(is_absent, above, axis=1).any():
        return None
    for _ in range(ranks.bit_length() + 1):
        if (above == roots[:, None]).all():
            return roots
        # Twice as far up.
        above = np.take_along_axis(above, above, axis=1)
    return None


def _explain_route(
    route: int, up: Sequence[int], down: Sequence[int], is_server: Sequence[bool]
) -> None:
    """Raise BrokenForestError with what is wrong with a route; return if it is valid."""
    root = _find_root(f"route {route}: the reduction tree", up, is_server)
    other = _find_root(f"route {route}: the broadcast tree", down, is_server)
    if root != other:
        raise BrokenForestError(
            f"route {route}: the root is rank {root} in the reduction tree, but rank {other} in "
            "the broadcast tree"
        )
    for parents, text in (
        (up, "the contribution of rank {} never arrives at rank {}"),
        (down, "the result never arrives at rank {}"),
    ):
        reaches = {root, *(rank for rank, parent in enumerate(parents) if parent == ABSENT)}
        for rank in range(len(parents)):
            way, above = [], rank
            while above not in reaches and above not in way:
                way.append(above)
                above = parents[above]
            if above not in reaches:
                cycle = _list_ranks(sorted(way[way.index(above) :]))
                raise BrokenForestError(
                    f"route {route}: {text.format(rank, root)}: ranks {cycle} wait for each other"
                )
            reaches.update(way)
    senders = set(up)
    for rank, parent in enumerate(up):
        if parent != ABSENT and is_server[rank] and rank not in senders:
            raise BrokenForestError(
                f"route {route}: rank {rank} is a server, but receives nothing that it could send"
            )


def _find_root(tree: str, parents: Sequence[int], is_server: Sequence[bool]) -> int:
    """Return a tree's root; raise if there is not exactly one, or a rank's parent is not valid."""
    ranks = len(parents)
    for rank, parent in enumerate(parents):
        if parent == ABSENT and not is_server[rank]:
            raise BrokenForestError(
                f"{tree} omits rank {rank}, which is a worker"
                if any(is_server)
                else f"{tree} omits rank {rank}, which only plans with servers may do: plink hub "
                "runs them, the engine does not"
            )
        if not ABSENT <= parent < ranks:
            raise BrokenForestError(
                f"{tree} has {parent} as the parent of rank {rank}, expected -1 to {ranks - 1}"
            )
        if parent == rank:
            raise BrokenForestError(f"{tree} makes rank {rank} its own parent")
        if parent >= 0 and parents[parent] == ABSENT and is_server[parent]:
            raise BrokenForestError(
                f"{tree} has rank {parent} as the parent of rank {rank}, but omits rank {parent}"
            )
    roots = [rank for rank, parent in enumerate(parents) if parent == NO_PARENT]
    if not roots:
        raise BrokenForestError(f"{tree} has no root")
    if len(roots) > 1:
        raise BrokenForestError(f"{tree} has {len(roots)} roots: ranks {_list_ranks(roots)}")
    return roots[0]


def _list_ranks(ranks: Sequence[int]) -> str:
    texts = [str(rank) for rank in ranks]
    if len(texts) > _SHOWN:
        texts = [", ".join(texts[:_SHOWN]), f"{len(texts) - _SHOWN} more"]
    return join_texts(texts, "and")
