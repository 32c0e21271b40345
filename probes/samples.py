"""Input of every measuring tool, and its results: readings, losses and the sink for them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from plink.probes.options import ToolOptions

if TYPE_CHECKING:
    from plink.probes.reach import ReachedHost


@dataclass(frozen=True)
class RttReading:
    """Round-trip times in µs from one host to another, one per percentile.

    Args:
        source, destination: index of the host that sent the probes, and of the one that answered.
        received: echoes that came back in time, at least one.
        rtt_us: percentile to round-trip time in µs.
        disturbance: share of the time, 0 to 1, that other work took from the two hosts, or None.
        meeting_us: how long the two measured each other in both directions, or None.
    """

    source: int
    destination: int
    sent: int
    received: int
    rtt_us: Mapping[float, float]
    disturbance: float | None = None
    meeting_us: int | None = None


@dataclass(frozen=True)
class BandwidthReading:
    """Bandwidth in Gbit/s from one host to another, with TCP retransmits.

    Args:
        source, destination: index of the host that sent, and of the one that received.
        gbit_s: what it received, in Gbit/s.
        retransmits: TCP segments sent again, None where unknown.
    """

    source: int
    destination: int
    gbit_s: float
    retransmits: int | None


@dataclass(frozen=True)
class RouteReading:
    """Reading of a directed pair: the route from one host to the other.

    Args:
        hops: number of hops as traceroute counts them: 1 within a segment.
        routers: `hops` - 1 addresses, None for a router that does not show itself.
    """

    source: int
    destination: int
    hops: int
    routers: tuple[str | None, ...]


Reading_contra = TypeVar("Reading_contra", contravariant=True)


@dataclass(frozen=True)
class PairLoss:
    """Directed pair of hosts that could not be measured, with the reason."""

    source: int
    destination: int
    reason: str


@dataclass(frozen=True)
class HostLoss:
    """Host that failed during a run, with the reason."""

    host: int
    reason: str


class Sink(Protocol[Reading_contra]):
    """Interface that takes a tool's results as they come, so that an interrupted run keeps them."""

    def reading(self, reading: Reading_contra) -> None:
        """Record a reading of a directed pair."""

    def pair_lost(self, loss: PairLoss) -> None:
        """Record that measuring a directed pair failed; a later round may try it again."""

    def host_lost(self, loss: HostLoss) -> None:
        """Record that a host dropped out; its remaining pairs are reported as lost, too."""

    def remark(self, text: str) -> None:
        """Record a remark about the whole run for the user."""


# Directed pairs: (source index, destination index).
Wanted = frozenset[tuple[int, int]]

# Rounds of disjoint pairs (lower index, higher index): who may be measured at the same time.
Rounds = Sequence[Sequence[tuple[int, int]]]

# Asked once all that was to be measured is: rounds in which pairs meet once more, or for the first
# time, both directions each; no rounds when that is enough. What was read before is handed on by
# then.
More = Callable[[], Rounds]


def no_more() -> Rounds:
    """Return no rounds: the default for tools that measure every pair only once."""
    return ()


Options_co = TypeVar("Options_co", bound=ToolOptions, covariant=True)


def no_limit() -> float:
    """Return infinity: the default seconds left for transfers."""
    return math.inf


@dataclass(frozen=True)
class MeasuringJob(Generic[Options_co]):
    """Input of a measuring tool for one run: hosts, pairs by round, and options.

    Args:
        wanted: directed pairs of them to measure, by index.
        rounds: disjoint pairs that may meet at the same time.
        timeout_s: seconds of silence after which a host is given up.
        ssh_concurrency: hosts worked on at once over SSH.
        adaptive: whether fewer pairs may be in flight where they disturb each other.
        more: the rounds of the next pass, asked once all of those before is measured.
        left_s: returns the seconds left for transfers; called by any thread. No transfer begins for
            which that is too short, and one that ends later does not count.
    """

    hosts: Sequence[ReachedHost]
    wanted: Wanted
    rounds: Rounds
    options: Options_co
    timeout_s: float
    concurrency: int
    ssh_concurrency: int = 16
    adaptive: bool = False
    more: More = no_more
    left_s: Callable[[], float] = no_limit


# Numbers of silences after which a host is suspected.
_SUSPECT_AT = (2, 6)


class Suspicion:
    """Counter of failures between hosts, which finds hosts that no other can reach.

    A host that was silent twice since its last reading is suspected, and once more after
    three times as many. Others go on trying it, but wait less each time: giving it up for everybody
    would also give up the hosts of a group that only cannot reach another group.

    Attributes:
        suspected: hosts that are suspected now.
    """

    def __init__(self) -> None:
        self.suspected: set[int] = set()
        self._silences: Counter[int] = Counter()
        self._heard: set[int] = set()

    def reading(self, source: int, destination: int) -> None:
        """Record that two hosts reached each other."""
        for host in (source, destination):
            self._heard.add(host)
            self._silences[host] = 0
        self.suspected -= {source, destination}

    def silence(self, source: int, destination: int) -> list[int]:
        """Record that two hosts failed to reach each other; return those newly under suspicion."""
        self._silences.update((source, destination))
        ends = (source, destination)
        suspects = [host for host in ends if self._silences[host] in _SUSPECT_AT]
        self.suspected.update(suspects)
        return suspects

    def silent_to_all(self) -> list[int]:
        """Return the hosts that reached no other; empty if no two hosts reached each other."""
        never_heard = sorted(set(self._silences) - self._heard)
        return never_heard if self._heard else []
