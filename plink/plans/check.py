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
    up, down = forest.reduce_parents, forest.broadcast_parents
    roots = _find_roots("reduction", up, servers)
    others = _find_roots("broadcast", down, servers)
    for route in np.flatnonzero(roots != others)[:1]:
        raise BrokenForestError(
            f"route {route}: the root is rank {roots[route]} in the reduction tree, but rank "
            f"{others[route]} in the broadcast tree"
        )
    _check_paths(up, roots, "the contribution of rank {rank} never arrives at rank {root}")
    _check_paths(down, roots, "the result never arrives at rank {rank}")
    if not servers.any():
        return
    is_idle = servers & (up != ABSENT)
    route, child = np.nonzero(up >= 0)
    is_idle[route, up[route, child]] = False
    for route, rank in np.argwhere(is_idle)[:1]:
        raise BrokenForestError(
            f"route {route}: rank {rank} is a server, but receives nothing that it could send"
        )


def check_shapes(forest: Forest) -> None:
    """Raise BrokenForestError if arrays differ in shape, or weights are not valid."""
    shape = forest.reduce_parents.shape
    if len(shape) != 2 or forest.weights.shape != shape[:1] or not all(shape):
        raise BrokenForestError(
            "the arrays of weights and trees differ in the number of routes or ranks, or are empty"
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
    """Raise BrokenForestError if a route uses a port that a server does not have.

    Args:
        forest: forest over P ranks.
        route_ports: (R, P) the port of each rank, 0 where it has none or is absent.
        ports_of: (P,) number of ports of each rank.
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


def _find_roots(tree: str, parents: Parents, is_server: Flags) -> npt.NDArray[np.intp]:
    """Return the root of each tree, (R,); raise if it has none, several or a wrong parent."""
    ranks = parents.shape[1]
    is_outside = (parents < ABSENT) | (parents >= ranks)
    is_absent = parents == ABSENT
    omitted = "omits rank {rank}, which is a worker"
    if not is_server.any():
        omitted = (
            "omits rank {rank}, which only plans with servers may do: plink hub runs them, the "
            "engine does not"
        )
    checks: list[tuple[npt.NDArray[np.bool_], str]] = [
        (is_outside, "has {parent} as the parent of rank {rank}, expected -1 to {last}"),
        (parents == np.arange(ranks, dtype=np.int32), "makes rank {rank} its own parent"),
    ]
    if is_absent.any():
        is_below_absent = np.take_along_axis(
            is_absent, np.where(is_outside | (parents < 0), 0, parents), axis=1
        ) & (parents >= 0)
        under = "has rank {parent} as the parent of rank {rank}, but omits rank {parent}"
        checks = [(is_absent & ~is_server, omitted), *checks, (is_below_absent, under)]
    for is_wrong, text in checks:
        for route, rank in np.argwhere(is_wrong)[:1]:
            what_is_wrong = text.format(rank=rank, parent=parents[route, rank], last=ranks - 1)
            raise BrokenForestError(f"route {route}: the {tree} tree {what_is_wrong}")
    is_root = parents == NO_PARENT
    for route in np.flatnonzero(is_root.sum(axis=1) != 1)[:1]:
        roots = np.flatnonzero(is_root[route]).tolist()
        roots_text = f"{len(roots)} roots: ranks {_list_ranks(roots)}" if roots else "no root"
        raise BrokenForestError(f"route {route}: the {tree} tree has {roots_text}")
    found: npt.NDArray[np.intp] = np.argmax(is_root, axis=1)
    return found


def _check_paths(parents: Parents, roots: npt.NDArray[np.intp], text: str) -> None:
    """Raise if a rank has no path to the root of its tree; `text` says what that means."""
    above = np.where(parents < 0, roots[:, None], parents)
    for _ in range(int(parents.shape[1]).bit_length() + 1):
        is_lost = above != roots[:, None]
        if not is_lost.any():
            return
        # Twice as far up.
        above = np.take_along_axis(above, above, axis=1)
    route, rank = np.argwhere(is_lost)[0].tolist()
    # After so many steps up a rank without a path is on a cycle.
    cycle = [int(above[route, rank])]
    while (parent := int(parents[route, cycle[-1]])) != cycle[0]:
        cycle.append(parent)
    what_is_lost = text.format(rank=rank, root=roots[route])
    raise BrokenForestError(
        f"route {route}: {what_is_lost}: ranks {_list_ranks(sorted(cycle))} wait for each other"
    )


def _list_ranks(ranks: Sequence[int]) -> str:
    texts = [str(rank) for rank in ranks]
    if len(texts) > _SHOWN:
        texts = [", ".join(texts[:_SHOWN]), f"{len(texts) - _SHOWN} more"]
    return join_texts(texts, "and")
