"""Pairs of a large cluster that are chosen by what the readings before showed."""

from __future__ import annotations

import numpy as np

from plink.files.measurement import FollowedSample
from plink.measure.probing.collectors.rtt import RttCollector
from probes.samples import Rounds
from solvers.sampling.sampler import next_rounds


class Following:
    """Asks for the next pairs until the groups show or the share of pairs is spent.

    Args:
        collector: takes what the run reads; what it holds already counts.
        sample: how many pairs at most.
    """

    def __init__(self, collector: RttCollector, sample: FollowedSample) -> None:
        self._collector = collector
        self._sample = sample
        self._tried = np.triu(np.isfinite(self._least_us()), 1)

    def next(self) -> Rounds:
        """The next rounds of pairs of the run's hosts; none when that is enough."""
        rounds = next_rounds(
            self._least_us(),
            tried=self._tried,
            share=self._sample.share,
            seed=self._sample.seed,
        ).rounds
        for pairs in rounds:
            for pair in pairs:
                self._tried[pair] = True
        return rounds

    @property
    def pairs(self) -> Rounds:
        """All pairs that were tried or measured, in this run or before it."""
        return [[(int(i), int(j)) for i, j in np.argwhere(self._tried)]]

    def _least_us(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        least = np.fmin(*self._collector.seen().halves_us)
        return np.fmin(least, least.T)
