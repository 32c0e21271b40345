"""Kernel's figures of a rank's connections, from window to window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plink.autotune.protocol.messages import Floats
from plink.autotune.ranks.placing import Placing
from plink.engine import Statistics

_US = 1e-6


@dataclass(frozen=True)
class Snapshot:
    """Counters of all connections, at a point.

    Args:
        at: number of the next collective.
        peers: (C,) of each connection the peer's rank in the plan.
        counters: (4, C) bytes sent, seconds busy, seconds without room at the receiver, segments
            sent again.
        rtt_s, rate_bytes_s: (C,).
        ranks: of the job.
    """

    at: int
    peers: Any
    counters: Floats
    rtt_s: Floats
    rate_bytes_s: Floats
    ranks: int


def snapshot_of(at: int, statistics: Statistics, placing: Placing) -> Snapshot:
    """Return the counters that an engine gives now."""
    found = statistics.connections
    planned = np.asarray(placing.planned_rank, dtype=np.intp)
    counters = [
        [one.bytes_sent, _US * one.busy_us, _US * one.receiver_limited_us, one.retransmissions]
        for one in found
    ]
    return Snapshot(
        at,
        planned[[one.peer for one in found]] if found else np.empty(0, dtype=np.intp),
        np.array(counters, dtype=np.float64).reshape(-1, 4).T,
        np.array([_US * one.rtt_us for one in found]),
        np.array([one.delivery_rate_bytes_s for one in found], dtype=np.float64),
        placing.ranks,
    )


def between(before: Snapshot, after: Snapshot) -> dict[str, Floats]:
    """Return the difference of two snapshots: for each name of `PEER_FIGURES` an array (P,).

    Bytes and segments are those of all connections to a peer, which carry data at the same time: so
    busy and waited seconds are those of the busiest, and the round trip the longest.
    """
    gained = np.zeros_like(after.counters)
    if before.counters.shape == after.counters.shape:
        gained = np.maximum(after.counters - before.counters, 0.0)
    sent, busy, waited, again = gained
    return {
        "sent_bytes": _by_peer(np.add, sent, after),
        "busy_s": _by_peer(np.maximum, busy, after),
        "waited_s": _by_peer(np.maximum, waited, after),
        "rtt_s": _by_peer(np.maximum, after.rtt_s, after),
        "rate_bytes_s": _by_peer(np.add, after.rate_bytes_s, after),
        "retransmissions": _by_peer(np.add, again, after),
    }


def _by_peer(combine: np.ufunc, values: Floats, snapshot: Snapshot) -> Floats:
    found = np.zeros(snapshot.ranks)
    combine.at(found, snapshot.peers, values)
    return found
