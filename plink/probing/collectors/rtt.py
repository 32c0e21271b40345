"""Gathers round-trip times."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from plink.files.cluster import Cluster, Quantity
from plink.files.measurement import Matrix
from plink.files.rtt import RttMeasurement
from plink.probing.collectors.base import Collector, Run
from probes.samples import RttReading


class RttCollector(Collector[RttReading]):
    """A sink for round-trip times. The first of its `percentiles` stands for a pair."""

    quantity: ClassVar[Quantity] = "rtt"

    def _begin(self) -> None:
        size = len(self._cluster.hosts)
        kept = self._cluster.rtt
        if kept is None:
            self._rtt_us = {p: np.full((size, size), np.nan) for p in self._percentiles}
            self._samples = np.zeros((size, size), dtype=np.int64)
            self._losses = np.zeros((size, size), dtype=np.int64)
        else:
            self._rtt_us = {p: kept.rtt_us[p].copy() for p in self._percentiles}
            self._samples = kept.samples.copy()
            self._losses = kept.losses.copy()

    def _readings(self) -> Matrix:
        return self._rtt_us[self._percentiles[0]]

    def _take(self, pair: tuple[int, int], reading: RttReading) -> None:
        for percentile, rtt_us in reading.rtt_us.items():
            self._rtt_us[percentile][pair] = rtt_us
        self._samples[pair] = reading.received
        self._losses[pair] = reading.sent - reading.received

    def result(self, run: Run) -> tuple[Cluster, RttMeasurement]:
        """The cluster with what was gathered so far, and the measurement in it."""
        measurement = RttMeasurement(
            rtt_us=self._rtt_us,
            reading=self._percentiles[0],
            samples=self._samples,
            losses=self._losses,
            failures=self.failures,
            **vars(run),
        )
        return replace(self._cluster, rtt=measurement), measurement
