"""Results of measuring uplinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from plink.probes.samples import BandwidthReading, PairLoss
from plink.probes.uplinks.plan import Flow


@dataclass(frozen=True)
class GroupExchange:
    """Simultaneous transfers between a group and the other groups.

    Args:
        group: index of the group.
        sends: the group sent; else it received.
        rates: what each transfer achieved, in Gbit/s, while all of them ran; at least one.
        is_whole: every host of the group took part, and no transfer failed.
        beside: what other groups' transfers in the same direction achieved meanwhile.
        is_busy: hosts share a machine that may have been the limit.
    """

    group: int
    sends: bool
    rates: Sequence[tuple[Flow, float]]
    is_whole: bool
    beside: Sequence[tuple[Flow, float]] = ()
    is_busy: bool = False

    @property
    def gbit_s(self) -> float:
        """Total rate of the group in Gbit/s."""
        return sum(gbit_s for _, gbit_s in self.rates)


@dataclass(frozen=True)
class HostRates:
    """Rates of hosts' own links in Gbit/s, by index."""

    send: Mapping[int, float]
    receive: Mapping[int, float]


class LinkSink(Protocol):
    """Receiver of hosts' link rates."""

    def reading(self, reading: BandwidthReading) -> None:
        """Record the rate at which a host sent to another."""

    def pair_lost(self, loss: PairLoss) -> None:
        """Record that a transfer from a source to a destination failed."""


class UplinkSink(Protocol):
    """Receiver of results as they come, so that an interrupted run keeps them."""

    def exchange(self, exchange: GroupExchange) -> None:
        """Record the reading of a group in one direction."""

    def exchange_lost(self, group: int, *, sends: bool, reason: str) -> None:
        """Record that a group could not be measured in one direction."""

    def pair_lost(self, loss: PairLoss) -> None:
        """Record that a transfer from a source to a destination failed."""
