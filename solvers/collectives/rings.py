"""Rings: every rank sends to the next in one direction, a part of the buffer at a time."""

from __future__ import annotations

import numpy as np

from solvers.collectives.steps import send
from solvers.collectives.table import PeerTable, Round


def ring_round(ranks: int, step: int, size_bytes: float) -> Round:
    """Rank r sends to rank r + `step`, for every r."""
    every = np.arange(ranks)
    return send(every, (every + step) % ranks, size_bytes)


def ring_table(
    ranks: int, size_bytes: int, *, step: int = 1, is_pipelined: bool = False
) -> PeerTable:
    """An allreduce: N - 1 rounds of S / N bytes reduce and scatter, as many gather."""
    part = ring_round(ranks, step, size_bytes / ranks)
    return PeerTable(ranks, [part] * (2 * (ranks - 1)), is_pipelined)
