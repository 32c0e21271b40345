"""Collectors that gather a run's readings of pairs into matrices of a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec.structs import asdict

from plink.base.replacing import replace
from plink.formats import measurements
from plink.formats.cluster import Cluster, Quantity
from plink.formats.matrices import Counts, Matrix
from plink.probes import samples
from plink.probes.echo.readings import DISTURBED

Reading = TypeVar("Reading", samples.RttReading, samples.BandwidthReading, samples.RouteReading)


class Collector(ABC, Generic[Reading]):
    """Base class that gathers a run's readings into matrices between a cluster's hosts.

    Args:
        cluster: the hosts, in the order of every matrix, and what is kept of earlier runs.
        measured: index in the cluster of each host of the run, in the run's order.
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
        self._names = [cluster.hosts[place].name for place in measured]
        self._on_settled = on_settled
        self._on_remark = on_remark
        self._settled: set[tuple[int, int]] = set()
        # Why directions were given up that have no reading yet.
        self._lost: dict[tuple[int, int], measurements.Failure] = {}
        self.failures: list[measurements.Failure] = []
        self.remarks: list[str] = []
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Allocate the matrices, filled from the cluster's earlier measurement if there is one."""

    @abstractmethod
    def _readings(self) -> Matrix:
        """Return the matrix of all pairs' readings so far, (N, N); NaN where not measured."""

    @abstractmethod
    def _take(self, pair: tuple[int, int], reading: Reading) -> None:
        """Store a reading in the matrices; `pair` has the cluster's indices of its hosts."""

    @abstractmethod
    def _build_measurement(self, **record: Any) -> measurements.Measurement:
        """Return the readings so far as a measurement with these common fields."""

    def result(self, run: measurements.Measurement) -> tuple[Cluster, measurements.Measurement]:
        """Return the cluster with this run's measurement added, and that measurement.

        Args:
            run: record of the run: tool, options, start, duration and notes.
        """
        record = {**asdict(run), "failures": list(self.failures)}
        measurement = self._build_measurement(**record)
        added: dict[str, Any] = {self.quantity: measurement}
        return replace(self._cluster, **added), measurement

    def _copy_or_unknown(self, matrix: Matrix | None) -> Matrix:
        size = len(self._cluster.hosts)
        return np.full((size, size), np.nan) if matrix is None else matrix.copy()

    def missing(self, rounds: samples.Rounds) -> samples.Wanted:
        """Return the directed pairs of `rounds` whose reading is missing or disturbed."""
        unread = np.isnan(self._readings()) | self._untrusted_pairs()
        return frozenset(
            (source, destination)
            for pairs in rounds
            for i, j in pairs
            for source, destination in ((i, j), (j, i))
            if unread[self._measured[source], self._measured[destination]]
        )

    def _untrusted_pairs(self) -> npt.NDArray[np.bool_]:
        """Return a mask (N, N) of directed pairs with readings that other work disturbed."""
        size = len(self._cluster.hosts)
        return np.zeros((size, size), dtype=bool)

    def warnings(self) -> list[str]:
        """Return sentences for the user on readings that may be disturbed; empty if none are."""
        return []

    def describe_precision(self, precision_percent: float) -> list[str]:
        """Return phrases on passes and on how well they agree; empty if there was one pass."""
        del precision_percent
        return []

    def count_asked(self, rounds: samples.Rounds) -> int:
        """Return the number of directed pairs that are in `rounds` or have a reading already."""
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

    def pair_lost(self, loss: samples.PairLoss) -> None:
        """Record why a directed pair was given up, unless it has an earlier reading."""
        pair = loss.source, loss.destination
        ends = self._measured[loss.source], self._measured[loss.destination]
        if np.isnan(self._readings()[ends]) and pair not in self._lost:
            self._lost[pair] = build_failure(self._names, loss)
            self.failures.append(self._lost[pair])
        self._settle(*pair)

    def next_pass(self) -> None:
        """Begin another pass, in which each pair counts as progress once more."""
        self._settled.clear()

    def host_lost(self, loss: samples.HostLoss) -> None:
        """Record as a failure that a host dropped out during the run."""
        self.failures.append(measurements.Failure(self._names[loss.host], loss.reason))

    def remark(self, text: str) -> None:
        """Record a tool's remark about the whole run, and pass it on to the user."""
        self.remarks.append(text)
        self._on_remark(text)

    def _settle(self, source: int, destination: int) -> None:
        if (source, destination) not in self._settled:
            self._settled.add((source, destination))
            self._on_settled()


def build_failure(names: Sequence[str], loss: samples.PairLoss) -> measurements.Failure:
    """Return the failure of a directed pair for the cluster file; `names` are the run's hosts."""
    return measurements.Failure(names[loss.source], loss.reason, names[loss.destination])


class BandwidthCollector(Collector[samples.BandwidthReading]):
    """Collector of bandwidths in Gbit/s and of TCP retransmits between a cluster's hosts."""

    quantity: ClassVar[Quantity] = "bandwidth"

    def _begin(self) -> None:
        kept = self._cluster.bandwidth
        self._gbit_s = self._copy_or_unknown(None if kept is None else kept.gbit_s)
        self._retransmits = self._copy_or_unknown(None if kept is None else kept.retransmits)

    def _readings(self) -> Matrix:
        return self._gbit_s

    def _take(self, pair: tuple[int, int], reading: samples.BandwidthReading) -> None:
        self._gbit_s[pair] = reading.gbit_s
        known = reading.retransmits
        self._retransmits[pair] = np.nan if known is None else known

    def _build_measurement(self, **record: Any) -> measurements.BandwidthMeasurement:
        return measurements.BandwidthMeasurement(
            gbit_s=self._gbit_s, retransmits=self._retransmits, **record
        )


class RouteCollector(Collector[samples.RouteReading]):
    """Collector of routes (numbers of hops and the routers) between a cluster's hosts."""

    quantity: ClassVar[Quantity] = "routes"

    def _begin(self) -> None:
        kept = self._cluster.routes
        self._hops = self._copy_or_unknown(None if kept is None else kept.hops)
        # Route to its index: every distinct one is kept once.
        self._routes: dict[measurements.Route, int] = {}
        self._route_of: Counts = np.full(self._hops.shape, measurements.NO_ROUTE, dtype=np.int64)
        if kept is not None:
            self._route_of = kept.route_of.astype(np.int64)
            self._routes = {route: index for index, route in enumerate(kept.routes)}

    def _readings(self) -> Matrix:
        return self._hops

    def _take(self, pair: tuple[int, int], reading: samples.RouteReading) -> None:
        self._hops[pair] = reading.hops
        self._route_of[pair] = self._routes.setdefault(reading.routers, len(self._routes))

    def _build_measurement(self, **record: Any) -> measurements.RouteMeasurement:
        return measurements.RouteMeasurement(
            hops=self._hops, route_of=self._route_of, routes=list(self._routes), **record
        )


_MOST_NAMED = 3
# Passes that differ by less than that confirm each other, whatever else the hosts did.
CONFIRMED = 0.02
# A host stands out with so many times more disturbed pairs than the median host.
_STANDS_OUT = 2.0


@dataclass(frozen=True)
class PassReadings:
    """Number of passes of each pair, and its least readings in µs in odd and in even passes.

    Args:
        passes: (N, N) how often a direction was read.
        halves_us: (N, N) each, the least reading of its odd passes and of its even ones.
    """

    passes: Counts
    halves_us: tuple[Matrix, Matrix]


class RttCollector(Collector[samples.RttReading]):
    """Collector of round-trip times at several percentiles; a pair's least reading counts.

    Where a pair met several times, the least reading counts, for each direction by itself, since
    noise only ever adds to a round-trip time.
    """

    quantity: ClassVar[Quantity] = "rtt"

    def __init__(
        self,
        cluster: Cluster,
        measured: Sequence[int],
        percentiles: Sequence[float],
        **callbacks: Any,
    ) -> None:
        self._percentiles = percentiles
        super().__init__(cluster, measured, **callbacks)

    def _begin(self) -> None:
        kept = None if self._cluster.rtt is None else self._cluster.rtt.with_passes()
        unknown = self._copy_or_unknown(None)
        self._rtt_us = {p: unknown.copy() for p in self._percentiles}
        self._samples: Counts = np.zeros(unknown.shape, dtype=np.int64)
        self._losses, self._passes = self._samples.copy(), self._samples.copy()
        self._halves_us = unknown.copy(), unknown.copy()
        if kept is not None:
            self._rtt_us = {p: kept.rtt_us[p].copy() for p in self._percentiles}
            self._samples = kept.samples.astype(np.int64)
            self._losses = kept.losses.astype(np.int64)
        if kept is not None and kept.passes is not None and kept.halves_us is not None:
            self._passes = kept.passes.astype(np.int64)
            self._halves_us = kept.halves_us.odd.copy(), kept.halves_us.even.copy()
        # What earlier runs recorded for pairs without a second pass.
        self._precision_percent = self._copy_or_unknown(
            None if kept is None else kept.precision_percent
        )
        self._disturbance = self._copy_or_unknown(None if kept is None else kept.disturbance)
        # Least disturbance of the meetings, 0 where unknown; of earlier runs, the recorded one.
        self._calmest = np.where(
            np.isnan(self._readings()), np.nan, np.nan_to_num(self._disturbance, nan=0.0)
        )

    def _readings(self) -> Matrix:
        return self._rtt_us[self._percentiles[0]]

    def _untrusted_pairs(self) -> npt.NDArray[np.bool_]:
        # Noise only ever adds: a reading of a disturbed meeting is to be trusted if another meeting
        # that was not disturbed has read the same.
        agree = measurements.disagreement(self._halves_us) <= CONFIRMED
        untrusted: npt.NDArray[np.bool_] = (self._disturbance >= DISTURBED) & ~(
            (self._calmest < DISTURBED) & agree
        )
        return untrusted

    def warnings(self) -> list[str]:
        """Return a warning if other work on hosts may have raised readings, else an empty list."""
        is_read = ~np.isnan(self._readings())
        return describe_disturbed_hosts(self._cluster.names, self._untrusted_pairs(), is_read)

    def describe_precision(self, precision_percent: float) -> list[str]:
        """Return phrases: the number of passes, and how many pairs agree within the precision."""
        passes = self._passes[self._passes > 0]
        if not passes.size or passes.max() == 1:
            return []
        parts = [f"{passes.max()} passes"]
        if passes.min() < passes.max():
            parts = [f"{passes.mean():.1f} passes on average ({passes.min()} to {passes.max()})"]
        if precision_percent > 0.0:
            agree = np.count_nonzero(
                100.0 * measurements.disagreement(self._halves_us) <= precision_percent
            )
            parts.append(f"{agree} of {self.readings} agree within {precision_percent:g} %")
        return parts

    def readings_us(self) -> Matrix:
        """Return the readings so far, (N, N) in µs; NaN where not measured."""
        return self._readings().copy()

    def read_passes(self) -> PassReadings:
        """Return the number of passes and their least readings in µs, between this run's hosts."""
        here = np.ix_(self._measured, self._measured)
        odd_us, even_us = self._halves_us
        return PassReadings(self._passes[here], (odd_us[here], even_us[here]))

    def _take(self, pair: tuple[int, int], reading: samples.RttReading) -> None:
        reading_us = reading.rtt_us[self._percentiles[0]]
        half_us = self._halves_us[self._passes[pair] % 2]
        half_us[pair] = np.fmin(half_us[pair], reading_us)
        self._passes[pair] += 1
        self._samples[pair] += reading.received
        self._losses[pair] += reading.sent - reading.received
        self._calmest[pair] = np.fmin(self._calmest[pair], reading.disturbance or 0.0)
        if reading_us >= self._readings()[pair]:
            return
        for percentile, rtt_us in reading.rtt_us.items():
            self._rtt_us[percentile][pair] = rtt_us
        self._disturbance[pair] = np.nan if reading.disturbance is None else reading.disturbance

    def _build_measurement(self, **record: Any) -> measurements.RttMeasurement:
        apart_percent = 100.0 * measurements.disagreement(self._halves_us)
        precision = np.where(self._passes > 1, apart_percent, self._precision_percent)
        # A reading that a calm meeting confirmed is recorded with that one's disturbance, so that
        # whoever reads the file doubts the same directions as `warnings`.
        is_confirmed = (self._disturbance >= DISTURBED) & ~self._untrusted_pairs()
        disturbance = np.where(is_confirmed, self._calmest, self._disturbance)
        return measurements.RttMeasurement(
            rtt_us={percentile: matrix.copy() for percentile, matrix in self._rtt_us.items()},
            reading=self._percentiles[0],
            samples=self._samples.copy(),
            losses=self._losses.copy(),
            precision_percent=_none_if_all_nan(precision.round(3)),
            disturbance=_none_if_all_nan(disturbance.round(3)),
            passes=self._passes.copy(),
            halves_us=measurements.Halves(self._halves_us[0].copy(), self._halves_us[1].copy()),
            **record,
        )


def _none_if_all_nan(matrix: Matrix) -> Matrix | None:
    return None if np.isnan(matrix).all() else matrix


def describe_disturbed_hosts(
    names: Sequence[str], disturbed: npt.NDArray[np.bool_], measured: npt.NDArray[np.bool_]
) -> list[str]:
    """Return a list with a warning that names hosts whose other work disturbed readings, or empty.

    Args:
        disturbed, measured: (N, N), [source][destination].
    """
    pairs = int(np.count_nonzero(disturbed))
    if pairs == 0:
        return []
    of_host = disturbed.sum(axis=0) + disturbed.sum(axis=1)
    in_all = measured.sum(axis=0) + measured.sum(axis=1)
    total = int(np.count_nonzero(measured))
    were = "1 directed pair was" if pairs == 1 else f"{pairs} of {total} directed pairs were"
    where = _name_outstanding(names, of_host, in_all)
    readings = "its reading" if pairs == 1 else "their readings"
    return [f"{were} disturbed by other work on the hosts, {where}: {readings} may be too high"]


def _name_outstanding(
    names: Sequence[str], of_host: npt.NDArray[np.int64], in_all: npt.NDArray[np.int64]
) -> str:
    usual = float(np.median(of_host))
    outstanding = [
        index
        for index in np.argsort(-of_host, kind="stable")
        if of_host[index] > _STANDS_OUT * usual
    ]
    if not outstanding or len(outstanding) > len(names) // 2:
        hosts = np.count_nonzero(of_host)
        return f"on {'all' if hosts == len(names) else f'{hosts} of'} {len(names)} hosts"
    listed = ", ".join(
        f"{names[index]} ({of_host[index]} of its {in_all[index]})"
        for index in outstanding[:_MOST_NAMED]
    )
    return f"most on {listed}"
