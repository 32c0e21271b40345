"""Estimate of the time slice of spinning ranks that share a core, from small all-reduces.

Small messages hardly take time on links, so that nearly all of such a time are waits for turns, and
it grows as turns do.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np

from plink.files.clients import Estimate
from plink.solvers.contention.flows import FlowClock, Manner

# What Linux gives at 250 ticks a second; assumed where nothing small was measured.
USUAL_TURN_US = 4000.0
_USUAL_RANGE = 1.35

# What the model misses of one algorithm on so many ranks, and at least of all together (standard
# deviations of logarithms).
_MODEL_SPREAD = 0.12
_LEAST_SPREAD = 0.05
_RUNS = 41
_Z_OF_90_PERCENT = 1.645


def fit_time_slice(
    clocks: Sequence[FlowClock], times_s: Sequence[Sequence[float]], cores: int
) -> Estimate:
    """Return the time slice in µs that fits the measured times best.

    Args:
        clocks: of each all-reduce, all of small buffers.
        times_s: of each all-reduce, its repetitions.
        cores: that all ranks share; fewer than ranks.
    """
    misses, weights = [], []
    manner = Manner(slice_s=USUAL_TURN_US * 1e-6, cores=cores)
    for clock, times in zip(clocks, times_s, strict=True):
        expected_s = statistics.median(clock.time_s(manner, seed) for seed in range(_RUNS))
        logs = np.log(times)
        misses.append(float(np.median(logs)) - math.log(expected_s))
        # Fewer ranks of a core tell less of many: their turns are more often cut short.
        crowd = clock.ranks / cores
        weights.append(crowd / (_MODEL_SPREAD**2 + float(logs.var()) / len(times)))
    if not misses:
        return Estimate(USUAL_TURN_US, USUAL_TURN_US / _USUAL_RANGE, USUAL_TURN_US * _USUAL_RANGE)
    miss = float(np.average(misses, weights=weights))
    spread = max(_LEAST_SPREAD, _MODEL_SPREAD / math.sqrt(len(misses)))
    reach = math.exp(_Z_OF_90_PERCENT * spread)
    value = USUAL_TURN_US * math.exp(miss)
    return Estimate(value, value / reach, value * reach)
