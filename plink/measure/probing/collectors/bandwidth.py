"""Gathers bandwidths."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from plink.files.bandwidth import BandwidthMeasurement
from plink.files.cluster import Cluster, Quantity
from plink.files.measurement import Matrix
from plink.measure.probing.collectors.base import Collector, Run
from probes.samples import BandwidthReading


class BandwidthCollector(Collector[BandwidthReading]):
    """A sink for bandwidths."""

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

    def result(self, run: Run) -> tuple[Cluster, BandwidthMeasurement]:
        """The cluster with what was gathered so far, and the measurement in it."""
        measurement = BandwidthMeasurement(
            gbit_s=self._gbit_s,
            retransmits=self._retransmits,
            failures=self.failures,
            **vars(run),
        )
        return replace(self._cluster, bandwidth=measurement), measurement
