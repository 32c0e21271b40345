"""Helpers that build rounds of a peer table from arrays of ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.table import PeerTable, Ranks, Round

# What a library counts in elements is here of float32.
ELEMENT_BYTES = 4


def send(sources: Ranks, destinations: Ranks, size_bytes: float | npt.ArrayLike) -> Round:
    """Return a round in which each source sends to the destination at its index, (F,) each.

    Args:
        sources: (F,) ranks.
        destinations: (F,) ranks.
        size_bytes: what each sends, or (F,) values.
    """
    sizes = np.broadcast_to(np.asarray(size_bytes, dtype=np.float64), sources.shape)
    return Round(sources, destinations, sizes)


def exchange(low: Ranks, high: Ranks, size_bytes: float) -> Round:
    """Return a round in which the ranks of each pair send to each other, (F,) each."""
    return send(np.concatenate([low, high]), np.concatenate([high, low]), size_bytes)


def together(rounds: Sequence[Round]) -> Round:
    """Return one round in which all messages of several rounds happen at once."""
    return Round(
        np.concatenate([step.sources for step in rounds]),
        np.concatenate([step.destinations for step in rounds]),
        np.concatenate([step.sizes_bytes for step in rounds]),
    )


def backwards(rounds: Sequence[Round]) -> list[Round]:
    """Return the rounds in reverse, with sender and receiver of each message swapped."""
    return [Round(step.destinations, step.sources, step.sizes_bytes) for step in reversed(rounds)]


def power_below(ranks: int, base: int = 2) -> int:
    """Return the greatest power of `base` that is not above `ranks`."""
    power = 1
    while power * base <= ranks:
        power *= base
    return power


def ring_round(ranks: int, step: int, size_bytes: float) -> Round:
    """Return a round in which every rank r sends to rank r + `step`."""
    every = np.arange(ranks)
    return send(every, (every + step) % ranks, size_bytes)


def ring_table(
    ranks: int, size_bytes: int, *, step: int = 1, is_pipelined: bool = False
) -> PeerTable:
    """Return a ring allreduce: N - 1 rounds of S / N bytes reduce, as many gather."""
    part = ring_round(ranks, step, size_bytes / ranks)
    return PeerTable(ranks, [part] * (2 * (ranks - 1)), is_pipelined)
