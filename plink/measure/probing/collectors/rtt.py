"""Gathers round-trip times."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from plink.files.cluster import Cluster, Quantity
from plink.files.measurement import Counts, Matrix
from plink.files.rtt import RttMeasurement, disagreement
from plink.measure.probing.collectors.base import Collector, Run
from plink.measure.probing.doubts import disturbed_hosts, is_doubtful
from plink.measure.probing.passes import Seen
from probes.echo.readings import DISTURBED
from probes.samples import RttReading


class RttCollector(Collector[RttReading]):
    """A sink for round-trip times. The first of its `percentiles` stands for a pair.

    Of several meetings of a pair the one with the least reading counts, for each direction by
    itself, since noise only ever adds to a round-trip time.
    """

    quantity: ClassVar[Quantity] = "rtt"

    def _begin(self) -> None:
        kept = self._cluster.rtt
        if kept is None:
            self._rtt_us = {p: self._unknown() for p in self._percentiles}
            self._samples = np.zeros(self._unknown().shape, dtype=np.int64)
            self._losses, self._passes = self._samples.copy(), self._samples.copy()
            self._halves_us = self._unknown(), self._unknown()
        else:
            self._rtt_us = {p: kept.rtt_us[p].copy() for p in self._percentiles}
            self._samples = kept.samples.copy()
            self._losses = kept.losses.copy()
            self._passes, self._halves_us = _passes_of(kept)
        # Of those without a second pass.
        self._precision_percent = self._kept(None if kept is None else kept.precision_percent)
        self._disturbance = self._kept(None if kept is None else kept.disturbance)
        # Whether one of the meetings was not disturbed; of earlier runs, the one that counts.
        self._is_calm = ~(self._disturbance >= DISTURBED) & ~np.isnan(self._readings())

    def _unknown(self) -> Matrix:
        size = len(self._cluster.hosts)
        return np.full((size, size), np.nan)

    def _kept(self, matrix: Matrix | None) -> Matrix:
        return self._unknown() if matrix is None else matrix.copy()

    def _readings(self) -> Matrix:
        return self._rtt_us[self._percentiles[0]]

    def _doubtful(self) -> npt.NDArray[np.bool_]:
        return is_doubtful(self._disturbance, disagreement(self._halves_us), self._is_calm)

    def doubts(self) -> list[str]:
        """Which readings other work on the hosts may have raised."""
        return disturbed_hosts(self._cluster.names, self._doubtful(), ~np.isnan(self._readings()))

    def achieved(self, precision_percent: float) -> list[str]:
        """How often pairs met, and of how many the passes agree."""
        passes = self._passes[self._passes > 0]
        if not passes.size or passes.max() == 1:
            return []
        found = [f"{passes.max()} passes"]
        if passes.min() < passes.max():
            found = [f"{passes.mean():.1f} passes on average ({passes.min()} to {passes.max()})"]
        if precision_percent > 0.0:
            agree = np.count_nonzero(100.0 * disagreement(self._halves_us) <= precision_percent)
            found.append(f"{agree} of {self.readings} agree within {precision_percent:g} %")
        return found

    def seen(self) -> Seen:
        """What passes have shown of the run's hosts, in the run's order."""
        here = np.ix_(self._measured, self._measured)
        odd_us, even_us = self._halves_us
        return Seen(self._passes[here], (odd_us[here], even_us[here]))

    def _take(self, pair: tuple[int, int], reading: RttReading) -> None:
        reading_us = reading.rtt_us[self._percentiles[0]]
        half_us = self._halves_us[self._passes[pair] % 2]
        half_us[pair] = np.fmin(half_us[pair], reading_us)
        self._passes[pair] += 1
        self._samples[pair] += reading.received
        self._losses[pair] += reading.sent - reading.received
        self._is_calm[pair] |= not (reading.disturbance or 0.0) >= DISTURBED
        if reading_us >= self._readings()[pair]:
            return
        for percentile, rtt_us in reading.rtt_us.items():
            self._rtt_us[percentile][pair] = rtt_us
        self._disturbance[pair] = np.nan if reading.disturbance is None else reading.disturbance

    def result(self, run: Run) -> tuple[Cluster, RttMeasurement]:
        """The cluster with what was gathered so far, and the measurement in it."""
        apart_percent = 100.0 * disagreement(self._halves_us)
        precision = np.where(self._passes > 1, apart_percent, self._precision_percent)
        measurement = RttMeasurement(
            rtt_us={percentile: matrix.copy() for percentile, matrix in self._rtt_us.items()},
            reading=self._percentiles[0],
            samples=self._samples.copy(),
            losses=self._losses.copy(),
            precision_percent=_known(precision),
            disturbance=_known(self._disturbance.copy()),
            passes=self._passes.copy(),
            halves_us=(self._halves_us[0].copy(), self._halves_us[1].copy()),
            failures=list(self.failures),
            **vars(run),
        )
        return replace(self._cluster, rtt=measurement), measurement


def _passes_of(kept: RttMeasurement) -> tuple[Counts, tuple[Matrix, Matrix]]:
    known = kept.with_passes()
    if known.passes is None or known.halves_us is None:
        raise RuntimeError("a measurement with passes has none")
    return known.passes.copy(), (known.halves_us[0].copy(), known.halves_us[1].copy())


def _known(matrix: Matrix) -> Matrix | None:
    return None if np.isnan(matrix).all() else matrix
