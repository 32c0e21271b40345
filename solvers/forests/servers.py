"""Forests through parameter servers, which contribute no data (Luo 2020, Fig. 1.7 and §2.3).

Members are workers first, then the ports of servers, each of them a link. A route does without the
ports that it does not use, which have -2 in place of a parent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers.forests.kinds import flat, replace_unlimited
from plink.solvers.forests.trees import Floats, Indices, Parents, Routes, make_routes

ABSENT = -2

# How racks' servers aggregate among each other.
BETWEEN = ("star", "chain", "ring")

# Two cuts of the buffer this near to each other are one.
_NOTHING = 1e-9


def central(workers: int, at: int) -> Routes:
    """Return routes of a star around one worker's host (colocated central server, CC)."""
    if not 0 <= at < workers:
        raise ValueError(f"at, the worker that serves, is {at}, expected 0 to {workers - 1}")
    parents = np.full((1, workers), at)
    parents[0, at] = -1
    return make_routes([1.0], parents)


def stars(workers: int, port_bytes_s: npt.ArrayLike) -> Routes:
    """Return one star per port of dedicated servers (NCC for one server, NCS for several).

    Shares follow the ports' rates, so that all end at the same time.
    """
    rates = replace_unlimited(np.asarray(port_bytes_s, dtype=np.float64))
    ports = np.arange(len(rates))
    parents = np.full((len(rates), workers + len(rates)), ABSENT)
    parents[:, :workers] = workers + ports[:, None]
    parents[ports, workers + ports] = -1
    return make_routes(rates, parents)


def route_by_racks(
    group_of_worker: Sequence[int] | Indices,
    group_of_port: Sequence[int] | Indices,
    port_bytes_s: npt.ArrayLike,
    uplink_bytes_s: npt.ArrayLike,
    between: str = "star",
) -> Routes:
    """Return routes from workers to a server in their group, and between the groups' servers.

    In a star, every group's server is the root of a share, to which the others send: what goes to
    the root and back crosses an uplink 2 (G-1)/G times. In a ring, the same shares go round. In a
    chain, all goes along the groups to the last one and back.

    Within a group, the ports take turns so that each carries in proportion to its rate
    (McNaughton's wrap-around rule, 1959).

    Args:
        group_of_worker: (P,) the group of each worker, 0 to G-1.
        group_of_port: (K,) of each server's port; every group has one.
        port_bytes_s: (K,) what each port carries in either direction.
        uplink_bytes_s: (G,) what each group's uplink does; infinite where unlimited.
        between: of `BETWEEN`.
    """
    workers = np.asarray(group_of_worker, dtype=np.intp)
    ports = np.asarray(group_of_port, dtype=np.intp)
    rates = replace_unlimited(np.asarray(port_bytes_s, dtype=np.float64))
    groups = int(max(workers.max(initial=-1), ports.max(initial=-1))) + 1
    if between not in BETWEEN:
        raise ValueError(f"between (groups) is {between!r}, expected chain, star or ring")
    if not groups or len(np.unique(ports)) < groups or ports.shape != rates.shape:
        raise ValueError("every group of workers needs the port of a parameter server")
    uplinks = np.asarray(uplink_bytes_s, dtype=np.float64)
    carried = np.minimum(np.bincount(ports, np.minimum(rates, 1e30)), uplinks)
    weights, trees = [], []
    for share, tops in _split_by_trees(carried, between):
        for part, port_of in _split_by_ports(ports, rates, groups):
            weights.append(share * part)
            trees.append([_tree(workers, len(ports), port_of, top) for top in tops])
    up, down = zip(*trees, strict=True)
    return make_routes(weights, np.array(up), np.array(down))


def _split_by_trees(carried: Floats, between: str) -> list[tuple[float, tuple[Indices, Indices]]]:
    """Return shares of the buffer, each with its reduction and broadcast tree over the groups."""
    groups = len(carried)
    everyone = np.arange(groups)
    if between == "chain" or groups == 1:
        way = np.append(everyone[1:], -1)
        return [(1.0, (way, way))]
    shares = flat(carried)
    roots = np.argmax(shares.reduce_parents == -1, axis=1)
    found = []
    for share, root in zip(shares.weights, roots, strict=True):
        up = down = np.full(groups, root)
        if between == "ring":
            up, down = (everyone + 1) % groups, (everyone - 1) % groups
        up[root] = down[root] = -1
        found.append((share, (up, down)))
    return found


def _split_by_ports(ports: Indices, rates: Floats, groups: int) -> list[tuple[float, Indices]]:
    """Split a share by ports' rates; return each part with the port that each group uses for it."""
    of_group = [np.flatnonzero(ports == group) for group in range(groups)]
    ends = [np.cumsum(rates[own]) / rates[own].sum() for own in of_group]
    cuts = np.unique(np.concatenate(ends))
    cuts = cuts[np.append(np.diff(cuts) > _NOTHING, True)]
    turns, begin = [], 0.0
    for end in cuts:
        middle = (begin + end) / 2.0
        chosen = [
            own[np.searchsorted(until, middle)] for own, until in zip(of_group, ends, strict=True)
        ]
        turns.append((float(end - begin), np.array(chosen)))
        begin = end
    return turns


def _tree(workers: Indices, ports: int, port_of: Indices, top: Indices) -> Parents:
    """Return the parents in a tree of workers below their group's port, and of ports by group."""
    parents = np.full(len(workers) + ports, ABSENT, dtype=np.int32)
    members = len(workers) + port_of
    parents[: len(workers)] = members[workers]
    parents[members] = np.where(top >= 0, members[top], -1)
    return parents
