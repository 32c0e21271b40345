"""Statistics of an engine's connections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import plink.engine._native as core


@dataclass(frozen=True)
class ConnectionStatistics:
    """Traffic of one connection; all from `rtt_us` on are kernel figures (TCP_INFO, tcp(7)).

    Args:
        peer: the rank at the other end.
        worker: the index of the worker that has it, the same at both ends.
        is_shared_memory: it goes through memory of this host; the kernel's figures are then 0.
        bytes_sent, bytes_received: frames and payload.
        rtt_us, rtt_variation_us: smoothed round-trip time, and its mean deviation.
        least_rtt_us: the least one seen.
        delivery_rate_bytes_s: the latest at which the peer's host acknowledged.
        retransmissions: segments sent again, in all.
        congestion_window: in segments.
        busy_us: during which there was something to send; of it `receiver_limited_us` without room
            at the receiver and `buffer_limited_us` without room in the send buffer.
        congestion_control: of TCP, such as `reno`; empty through shared memory.
        cipher: of TLS, such as `TLS_AES_128_GCM_SHA256`; empty where bytes go in the clear.
        is_encrypted_by_kernel: what is sent by TLS.
    """

    peer: int
    worker: int
    is_shared_memory: bool
    bytes_sent: int
    bytes_received: int
    rtt_us: int
    rtt_variation_us: int
    least_rtt_us: int
    delivery_rate_bytes_s: int
    retransmissions: int
    congestion_window: int
    busy_us: int
    receiver_limited_us: int
    buffer_limited_us: int
    congestion_control: str = ""
    cipher: str = ""
    is_encrypted_by_kernel: bool = False


@dataclass(frozen=True)
class PeerStatistics:
    """Bytes to and from one rank, over all connections."""

    peer: int
    bytes_sent: int
    bytes_received: int


@dataclass(frozen=True)
class WorkerStatistics:
    """Traffic of one worker in buffers that all workers share, which small ones are not.

    Args:
        busy_us: during which it had some under way.
        size_bytes: of its chunks together.
        weight: its share of the next ones, of 1.
    """

    busy_us: int
    size_bytes: int
    weight: float


@dataclass(frozen=True)
class Statistics:
    """Traffic of one rank.

    Args:
        collectives: how many were posted.
        peers: by ascending rank.
        connections: by worker, then rank.
        workers: by index.
    """

    collectives: int
    peers: Sequence[PeerStatistics]
    connections: Sequence[ConnectionStatistics]
    workers: Sequence[WorkerStatistics] = ()


def statistics_of(
    collectives: int,
    figures: Iterable[core.ConnectionFigures],
    workers: Iterable[core.WorkerFigures] = (),
) -> Statistics:
    """Build statistics from the native engine's figures."""
    names = ConnectionStatistics.__dataclass_fields__
    connections = [
        ConnectionStatistics(**{name: getattr(figure, name) for name in names})
        for figure in figures
    ]
    peers = [
        PeerStatistics(
            peer,
            sum(one.bytes_sent for one in connections if one.peer == peer),
            sum(one.bytes_received for one in connections if one.peer == peer),
        )
        for peer in sorted({one.peer for one in connections})
    ]
    of_workers = [WorkerStatistics(one.busy_us, one.bytes, one.weight) for one in workers]
    return Statistics(collectives, peers, connections, of_workers)
