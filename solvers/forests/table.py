"""A forest as a peer table, so that its time is predicted as that of any other collective."""

from __future__ import annotations

import numpy as np

from solvers.collectives.table import PeerTable, Round
from solvers.forests.routes import Floats, Indices, Routes
from solvers.forests.trees import depths, heights


def forest_table(routes: Routes, size_bytes: float) -> PeerTable:
    """The pipelined table of an allreduce over all routes at the same time.

    A member sends up as soon as all below it have, and down as soon as it has the sum: round i has
    the messages of those that are i edges away from their farthest leaf, or from their root.
    """
    sizes_bytes = routes.weights * size_bytes
    up = routes.reduce_parents.astype(np.intp)
    down = routes.broadcast_parents.astype(np.intp)
    towards_root = _rounds(up, heights(up), sizes_bytes)
    fan_out = [
        Round(step.destinations, step.sources, step.sizes_bytes)
        for step in _rounds(down, depths(down) - 1, sizes_bytes)
    ]
    return PeerTable(routes.members, [*towards_root, *fan_out], is_pipelined=True)


def _rounds(parents: Indices, round_of: Indices, sizes_bytes: Floats) -> list[Round]:
    """The messages from every member to its parent, by rounds."""
    is_sent = parents >= 0
    rounds = []
    for number in range(int(round_of[is_sent].max(initial=-1)) + 1):
        route, child = np.nonzero(is_sent & (round_of == number))
        rounds.append(Round(child, parents[route, child], sizes_bytes[route]))
    return rounds
