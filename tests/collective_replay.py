"""What a peer table does, replayed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.solvers.collectives.steps import PeerTable, Round


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


def check_reduce_scatter(ranks: int, rounds: Sequence[Round]) -> None:
    """Rank r ends with the sum of block r, of which there are as many as ranks, of one byte each.

    What a rank is sent in a round is all that it must hold from then on, for itself or for those
    whom it sends to later; no contribution may count twice, and a whole sum replaces.
    """
    needs = [1 << rank for rank in range(ranks)]
    sent = []
    for step in reversed(rounds):
        after = list(needs)
        flows = list(zip(step.sources.tolist(), step.destinations.tolist(), strict=True))
        for source, target in flows:
            needs[source] |= after[target]
        sizes = [after[target].bit_count() for _, target in flows]
        np.testing.assert_allclose(step.sizes_bytes, sizes)
        sent.append([(source, target, after[target]) for source, target in flows])
    # Who has added to a block of a rank's, as bits.
    everyone = (1 << ranks) - 1
    sums = [[1 << rank] * ranks for rank in range(ranks)]
    for flows_and_blocks in reversed(sent):
        before = [list(blocks) for blocks in sums]
        for source, target, blocks in flows_and_blocks:
            for block in (block for block in range(ranks) if blocks >> block & 1):
                part = before[source][block]
                assert part == everyone or sums[target][block] & part == 0
                sums[target][block] |= part
    assert all(sums[rank][rank] == everyone for rank in range(ranks))
