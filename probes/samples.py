"""What measuring a pair of hosts yields, whatever the tool."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class PairReading:
    """Round-trip times from one host to another.

    Args:
        source: index of the host that sent the probes.
        destination: index of the host that answered.
        sent: probes sent.
        received: echoes that came back in time, at least one.
        rtt_us: percentile to round-trip time in µs.
    """

    source: int
    destination: int
    sent: int
    received: int
    rtt_us: Mapping[float, float]


@dataclass(frozen=True)
class PairLoss:
    """A pair that could not be measured in this direction, and why."""

    source: int
    destination: int
    reason: str


@dataclass(frozen=True)
class HostLoss:
    """A host that failed in the middle of a run, and why."""

    host: int
    reason: str


class Sink(Protocol):
    """Takes results as they come, so that an interrupted run keeps what it has."""

    def reading(self, reading: PairReading) -> None:
        """A direction of a pair was measured."""

    def pair_lost(self, loss: PairLoss) -> None:
        """A direction of a pair was given up."""

    def host_lost(self, loss: HostLoss) -> None:
        """A host is gone; its remaining pairs are reported one by one as well."""


# Directed pairs: (source index, destination index).
Wanted = frozenset[tuple[int, int]]


def all_pairs(hosts: int) -> Wanted:
    """Both directions of every pair of `hosts` hosts."""
    return frozenset((i, j) for i in range(hosts) for j in range(hosts) if i != j)
