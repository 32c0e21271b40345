"""What a peer table does, replayed."""

from __future__ import annotations

import numpy as np

from solvers.collectives.table import PeerTable


def heard(table: PeerTable) -> np.ndarray:
    """(N, N): whether a rank (row) has heard from another (column) in the end, directly or not.

    What a rank sends in a round, it knew before the round.
    """
    known = np.eye(table.ranks, dtype=bool)
    for step in table.rounds:
        after = known.copy()
        np.logical_or.at(after, step.destinations, known[step.sources])
        known = after
    return known


def check_flows(table: PeerTable) -> None:
    """Ranks exist, none sends to itself, and none twice to the same one in a round."""
    for step in table.rounds:
        assert step.sources.shape == step.destinations.shape == step.sizes_bytes.shape
        assert len(step.sources) > 0
        flows = np.stack([step.sources, step.destinations])
        assert flows.min() >= 0
        assert flows.max() < table.ranks
        assert (step.sources != step.destinations).all()
        assert np.unique(flows, axis=1).shape == flows.shape
        assert (step.sizes_bytes >= 0.0).all()


def most_sends_at_once(table: PeerTable) -> int:
    """The most messages that one rank sends in one round."""
    return max(int(np.bincount(step.sources).max()) for step in table.rounds)


def sent_bytes(table: PeerTable) -> np.ndarray:
    """(N,) bytes that each rank sends in all."""
    return table.bytes_between().sum(axis=1)


def received_bytes(table: PeerTable) -> np.ndarray:
    """(N,) bytes that each rank receives in all."""
    return table.bytes_between().sum(axis=0)
