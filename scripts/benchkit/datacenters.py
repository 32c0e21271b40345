"""Synthetic data centres: round-trip times between hosts of racks in rows, with the truth.

Two families. In `uniform` ones every rack has 16 hosts and every row four racks, but for the last
of each. In `unequal` ones a rack has 8 to 32 hosts and a row two to five racks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Distances of a pair in one rack, in one row, and beyond, each drawn evenly from its range.
_RTT_RANGES_US = ((20.0, 30.0), (45.0, 70.0), (80.0, 140.0))

# Every reading is off by log-normal noise; some pairs have a path that is too long.
_NOISE = 0.15
_DETOUR_SHARE = 0.05
_DETOUR_RANGE = (1.3, 3.0)


@dataclass(frozen=True)
class DataCenter:
    """Generated data centre with true positions and round-trip times.

    Args:
        distance: (N, N) round trips in µs, symmetric, zero diagonal.
        rack_of: (N,) each host's rack.
        row_of: (N,) each host's row.
    """

    distance: npt.NDArray[np.float64]
    rack_of: npt.NDArray[np.intp]
    row_of: npt.NDArray[np.intp]


def uniform(hosts: int, seed: int) -> DataCenter:
    """Return a data centre with racks of 16 hosts and rows of four racks, shuffled."""
    rng = np.random.default_rng(seed)
    racks = -(-hosts // 16)
    return _build_data_center(rng, hosts, [16] * racks, [4] * racks)


def unequal(hosts: int, seed: int) -> DataCenter:
    """Return a data centre with racks of 8 to 32 hosts and rows of two to five racks, shuffled."""
    rng = np.random.default_rng(seed)
    most_racks = -(-hosts // 8)
    rack_sizes = rng.integers(8, 33, most_racks).tolist()
    row_sizes = rng.integers(2, 6, most_racks).tolist()
    return _build_data_center(rng, hosts, rack_sizes, row_sizes)


FAMILIES: Mapping[str, Callable[[int, int], DataCenter]] = {"uniform": uniform, "unequal": unequal}


def _build_data_center(
    rng: np.random.Generator, hosts: int, rack_sizes: list[int], row_sizes: list[int]
) -> DataCenter:
    """Build a data centre by filling racks and rows until the hosts run out."""
    if hosts < 1:
        raise ValueError(f"hosts is {hosts}, expected at least 1")
    place = rng.permutation(hosts)
    rack_of = np.repeat(np.arange(len(rack_sizes)), rack_sizes)[place]
    row_of = np.repeat(np.arange(len(row_sizes)), row_sizes)[rack_of]
    level = np.where(
        rack_of[:, None] == rack_of[None, :],
        0,
        np.where(row_of[:, None] == row_of[None, :], 1, 2),
    )
    low, high = np.take(np.array(_RTT_RANGES_US), level, axis=0).transpose(2, 0, 1)
    shape = (hosts, hosts)
    reading = rng.uniform(low, high) * rng.lognormal(0.0, _NOISE, shape)
    detour = np.where(rng.random(shape) < _DETOUR_SHARE, rng.uniform(*_DETOUR_RANGE, shape), 1.0)
    above = np.triu(reading * detour, 1)
    return DataCenter(above + above.T, rack_of, row_of)
