"""Networks of known shape, readings of them with noise, and a check of one against the other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.formats.matrices import Matrix
from plink.formats.measurements import RttMeasurement
from plink.measure.drift.judge import DriftJudgement, Mask, Pair, build_baseline, measure_and_judge
from plink.measure.probing.tools import CHECK_PARTNERS

IN_RACK_US, ACROSS_US = 7.0, 13.0


def racks_of(racks: int, hosts: int) -> npt.NDArray[np.int64]:
    """The rack of every host."""
    return np.repeat(np.arange(racks), hosts)


def truth_us(racks: npt.NDArray[np.int64]) -> Matrix:
    """(N, N): what the network itself takes."""
    return np.where(racks[:, None] == racks[None, :], IN_RACK_US, ACROSS_US)


def uplink_slower(truth: Matrix, inside: Mask, factor: float) -> Matrix:
    """The same with the way out of some hosts longer."""
    crosses = inside[:, None] != inside[None, :]
    return np.where(crosses, truth * factor, truth)


def read(truth: Matrix, seed: Sequence[int], noise: float = 0.05) -> RttMeasurement:
    """Readings: never less than the truth; both directions share most of a pair's disturbance."""
    rng = np.random.default_rng(seed)
    shared = np.triu(np.abs(rng.normal(0.0, noise, truth.shape)), 1)
    own = np.abs(rng.normal(0.0, noise / 3.0, truth.shape))
    readings = truth * np.exp(shared + shared.T + own)
    np.fill_diagonal(readings, np.nan)
    counts = np.ones(truth.shape, dtype=np.int64)
    return RttMeasurement(
        rtt_us={10.0: readings, 50.0: readings * 1.02},
        reading=10.0,
        samples=counts,
        losses=0 * counts,
        tool="echo",
    )


def check_again(file: RttMeasurement, now: Matrix, seed: int) -> DriftJudgement:
    """Check a file in the network as it is now, whose every reading has its own noise."""
    runs = itertools.count(1)

    def measure(pairs: Sequence[Pair]) -> Matrix:
        readings_us = read(now, [seed, next(runs)]).readings_us
        return np.where(as_matrix(pairs, len(now)), readings_us, np.nan)

    found = measure_and_judge(
        build_baseline(file),
        np.isfinite(file.readings_us),
        measure,
        partners=CHECK_PARTNERS,
        seed=seed,
    )
    assert found is not None
    return found


def named(found: DriftJudgement) -> list[list[int]]:
    """The hosts of every change."""
    return [list(change.hosts) for change in found.changes]


def as_matrix(pairs: Sequence[Pair], size: int) -> Mask:
    """(N, N), symmetric: whether two hosts are one of `pairs`."""
    mask = np.zeros((size, size), dtype=np.bool_)
    for a, b in pairs:
        mask[a, b] = mask[b, a] = True
    return mask
