"""Lower bounds on every ring: by nearest hosts at once, by 1-trees given time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.limits.deadline import Deadline

Matrix = npt.NDArray[np.float64]

# Steps of the ascent between two proofs, one for each host and iteration: some 0.05 s.
_SLICE_STEPS = 100_000

# Sums of floats may differ in their last digits from one order of adding to another.
_ROUNDING = 1e-12


def two_nearest_bound(matrix: Matrix, near: Sequence[Sequence[int]]) -> float:
    """Return half the sum of every host's distances to its two nearest others.

    Args:
        matrix: (N, N), N at least 3.
        near: by host, the nearest others, nearest first; none where they are not known.
    """
    ends = [(host, *others[:2]) for host, others in enumerate(near) if others]
    hosts = np.array(ends, dtype=np.intp).reshape(-1, 3)
    sums = matrix[hosts[:, 0], hosts[:, 1]] + matrix[hosts[:, 0], hosts[:, 2]]
    return math.fsum(sums.tolist()) / 2.0 * (1.0 - _ROUNDING)


def rising_bounds(ascent: _native.Ascent, hosts: int, deadline: Deadline) -> Iterator[float]:
    """Yield ever higher bounds by 1-trees under penalties (Held and Karp 1970)."""
    iterations = max(1, _SLICE_STEPS // hosts)
    is_final = False
    while not is_final and not deadline.is_over:
        is_final = ascent.run(iterations, deadline.native)
        yield ascent.bound
