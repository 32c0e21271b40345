"""Collectors of a run's readings of pairs: common base, bandwidths, routes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from plink.base.replacing import replace
from plink.files.cluster import Cluster, Quantity
from plink.files.matrices import Matrix
from plink.files.measurements import (
    NO_ROUTE,
    BandwidthMeasurement,
    Failure,
    Measurement,
    Route,
    RouteMeasurement,
)
from plink.probes.samples import BandwidthReading, HostLoss, PairLoss, Rounds, RouteReading, Wanted


class OfPair(Protocol):
    """Reading or loss that concerns one directed pair of a run's hosts."""

    @property
    def source(self) -> int:
        """Index of the host that measured."""

    @property
    def destination(self) -> int:
        """Index of the host that was measured."""


Reading = TypeVar("Reading", bound=OfPair)


@dataclass(frozen=True)
class RunRecord:
    """Record of a run: the fields of `Measurement` except its failures."""

    tool: str
    options: Mapping[str, Any]
    started: str | None
    seconds: float
    notes: Sequence[str]


class Collector(ABC, Generic[Reading]):
    """Base class that gathers a run's readings into matrices over a cluster's hosts.

    Args:
        cluster: the hosts, in the order of every matrix, and what is kept of earlier runs.
        measured: of each host that takes part in the run, in the run's order, its index there.
        on_settled: called after each direction of a pair that was read or given up.
        on_remark: given what a user should know of the run as a whole.
    """

    # The member of a cluster that this fills.
    quantity: ClassVar[Quantity]

    def __init__(
        self,
        cluster: Cluster,
        measured: Sequence[int],
        *,
        on_settled: Callable[[], None] = lambda: None,
        on_remark: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._cluster = cluster
        self._measured = measured
        self._on_settled = on_settled
        self._on_remark = on_remark
        self._settled: set[tuple[int, int]] = set()
        # Why directions were given up that have no reading yet.
        self._lost: dict[tuple[int, int], Failure] = {}
        self.failures: list[Failure] = []
        self.remarks: list[str] = []
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Allocate the matrices, filled from an earlier measurement if there is one."""

    @abstractmethod
    def _readings(self) -> Matrix:
        """Return the reading that stands for each pair, (N, N); NaN where not measured."""

    @abstractmethod
    def _take(self, pair: tuple[int, int], reading: Reading) -> None:
        """Store a reading in the matrices, at a pair of host indices of the cluster."""

    @abstractmethod
    def result(self, run: RunRecord) -> tuple[Cluster, Measurement]:
        """Return the cluster with the readings so far, and the measurement in it."""

    def missing(self, rounds: Rounds) -> Wanted:
        """Return the directed pairs of the run without a trustworthy reading."""
        unread = np.isnan(self._readings()) | self._untrusted_pairs()
        return frozenset(
            (source, destination)
            for pairs in rounds
            for i, j in pairs
            for source, destination in ((i, j), (j, i))
            if unread[self._measured[source], self._measured[destination]]
        )

    def _untrusted_pairs(self) -> npt.NDArray[np.bool_]:
        """Return a mask of the pairs whose reading is not to be trusted, (N, N)."""
        size = len(self._cluster.hosts)
        return np.zeros((size, size), dtype=bool)

    def warnings(self) -> list[str]:
        """Return why some readings are not to be trusted, as sentences for the user."""
        return []

    def describe_precision(self, precision_percent: float) -> list[str]:
        """Describe the precision that the readings reached; empty if none was requested."""
        del precision_percent
        return []

    def count_asked(self, rounds: Rounds) -> int:
        """Return how many directed pairs the run was to measure, including those it read.

        A question of the run, such as which groups there are, may ask for pairs beside the rounds.

        Args:
            rounds: pairs of the cluster's hosts that the run asks for.
        """
        asked = ~np.isnan(self._readings())
        for pairs in rounds:
            for i, j in pairs:
                asked[i, j] = asked[j, i] = True
        return int(np.count_nonzero(asked))

    @property
    def readings(self) -> int:
        """Number of directed pairs that have a reading."""
        return int(np.count_nonzero(~np.isnan(self._readings())))

    def reading(self, reading: Reading) -> None:
        """Record a reading of a directed pair; a later one may replace it."""
        self._take((self._measured[reading.source], self._measured[reading.destination]), reading)
        failure = self._lost.pop((reading.source, reading.destination), None)
        if failure is not None:
            self.failures.remove(failure)
        self._settle(reading.source, reading.destination)

    def pair_lost(self, loss: PairLoss) -> None:
        """Record that a directed pair was given up; an earlier reading stays."""
        pair = loss.source, loss.destination
        ends = self._measured[loss.source], self._measured[loss.destination]
        if np.isnan(self._readings()[ends]) and pair not in self._lost:
            source, destination = (self._name(end) for end in pair)
            self._lost[pair] = Failure(source, loss.reason, destination=destination)
            self.failures.append(self._lost[pair])
        self._settle(*pair)

    def next_pass(self) -> None:
        """Begin another pass, in which these directed pairs are expected once more."""
        self._settled.clear()

    def host_lost(self, loss: HostLoss) -> None:
        """Record that a host failed during the run."""
        self.failures.append(Failure(self._name(loss.host), loss.reason))

    def remark(self, text: str) -> None:
        """Record a remark for the user about the whole run."""
        self.remarks.append(text)
        self._on_remark(text)

    def _settle(self, source: int, destination: int) -> None:
        if (source, destination) not in self._settled:
            self._settled.add((source, destination))
            self._on_settled()

    def _name(self, index: int) -> str:
        return self._cluster.hosts[self._measured[index]].name


class BandwidthCollector(Collector[BandwidthReading]):
    """Collector of bandwidths."""

    quantity: ClassVar[Quantity] = "bandwidth"

    def _begin(self) -> None:
        size = len(self._cluster.hosts)
        kept = self._cluster.bandwidth
        if kept is None:
            self._gbit_s = np.full((size, size), np.nan)
            self._retransmits = np.full((size, size), np.nan)
        else:
            self._gbit_s = kept.gbit_s.copy()
            self._retransmits = kept.retransmits.copy()

    def _readings(self) -> Matrix:
        return self._gbit_s

    def _take(self, pair: tuple[int, int], reading: BandwidthReading) -> None:
        self._gbit_s[pair] = reading.gbit_s
        known = reading.retransmits
        self._retransmits[pair] = np.nan if known is None else known

    def result(self, run: RunRecord) -> tuple[Cluster, BandwidthMeasurement]:
        """Return the cluster with the readings so far, and the measurement in it."""
        measurement = BandwidthMeasurement(
            gbit_s=self._gbit_s,
            retransmits=self._retransmits,
            failures=self.failures,
            **vars(run),
        )
        return replace(self._cluster, bandwidth=measurement), measurement


class RouteCollector(Collector[RouteReading]):
    """Collector of routes."""

    quantity: ClassVar[Quantity] = "routes"

    def _begin(self) -> None:
        size = len(self._cluster.hosts)
        kept = self._cluster.routes
        # Route to its index: every distinct one is kept once.
        self._routes: dict[Route, int] = {}
        if kept is None:
            self._hops = np.full((size, size), np.nan)
            self._route_of = np.full((size, size), NO_ROUTE, dtype=np.int64)
        else:
            self._hops = kept.hops.copy()
            self._route_of = kept.route_of.astype(np.int64)
            self._routes = {route: index for index, route in enumerate(kept.routes)}

    def _readings(self) -> Matrix:
        return self._hops

    def _take(self, pair: tuple[int, int], reading: RouteReading) -> None:
        self._hops[pair] = reading.hops
        self._route_of[pair] = self._routes.setdefault(reading.routers, len(self._routes))

    def result(self, run: RunRecord) -> tuple[Cluster, RouteMeasurement]:
        """Return the cluster with the routes so far, and the measurement in it."""
        measurement = RouteMeasurement(
            hops=self._hops,
            route_of=self._route_of,
            routes=list(self._routes),
            failures=self.failures,
            **vars(run),
        )
        return replace(self._cluster, routes=measurement), measurement
