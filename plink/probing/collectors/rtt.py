"""Gathers round-trip times."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from plink.files.cluster import Cluster, Quantity
from plink.files.measurement import Matrix
from plink.files.rtt import RttMeasurement
from plink.probing.collectors.base import Collector, Run
from plink.probing.doubts import disturbed_hosts
from probes.echo.disturbance import DISTURBED
from probes.samples import RttReading


class RttCollector(Collector[RttReading]):
    """A sink for round-trip times. The first of its `percentiles` stands for a pair."""

    quantity: ClassVar[Quantity] = "rtt"

    def _begin(self) -> None:
        kept = self._cluster.rtt
        if kept is None:
            self._rtt_us = {p: self._unknown() for p in self._percentiles}
            self._samples = np.zeros(self._unknown().shape, dtype=np.int64)
            self._losses = self._samples.copy()
        else:
            self._rtt_us = {p: kept.rtt_us[p].copy() for p in self._percentiles}
            self._samples = kept.samples.copy()
            self._losses = kept.losses.copy()
        self._precision_percent = self._kept(None if kept is None else kept.precision_percent)
        self._disturbance = self._kept(None if kept is None else kept.disturbance)

    def _unknown(self) -> Matrix:
        size = len(self._cluster.hosts)
        return np.full((size, size), np.nan)

    def _kept(self, matrix: Matrix | None) -> Matrix:
        return self._unknown() if matrix is None else matrix.copy()

    def _readings(self) -> Matrix:
        return self._rtt_us[self._percentiles[0]]

    def _doubtful(self) -> npt.NDArray[np.bool_]:
        return self._disturbance >= DISTURBED

    def doubts(self) -> list[str]:
        """Which readings other work on the hosts may have raised."""
        return disturbed_hosts(self._cluster.names, self._doubtful(), ~np.isnan(self._readings()))

    def achieved(self, precision_percent: float) -> list[str]:
        """How many pairs are as precise."""
        if precision_percent == 0.0 or np.isnan(self._precision_percent).all():
            return []
        precise = np.count_nonzero(self._precision_percent <= precision_percent)
        return [f"{precise} of {self.readings} within {precision_percent:g} %"]

    def _take(self, pair: tuple[int, int], reading: RttReading) -> None:
        before = self._disturbance[pair]
        if reading.disturbance is not None and reading.disturbance > before:
            return
        for percentile, rtt_us in reading.rtt_us.items():
            self._rtt_us[percentile][pair] = rtt_us
        self._samples[pair] = reading.received
        self._losses[pair] = reading.sent - reading.received
        self._precision_percent[pair] = _number(reading.precision_percent)
        self._disturbance[pair] = _number(reading.disturbance)

    def result(self, run: Run) -> tuple[Cluster, RttMeasurement]:
        """The cluster with what was gathered so far, and the measurement in it."""
        measurement = RttMeasurement(
            rtt_us=self._rtt_us,
            reading=self._percentiles[0],
            samples=self._samples,
            losses=self._losses,
            precision_percent=_known(self._precision_percent),
            disturbance=_known(self._disturbance),
            failures=self.failures,
            **vars(run),
        )
        return replace(self._cluster, rtt=measurement), measurement


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _known(matrix: Matrix) -> Matrix | None:
    return None if np.isnan(matrix).all() else matrix
