"""Networks of racks, generated, with noise as measured, of which a sample of pairs is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.datacenters import FAMILIES

Matrix = npt.NDArray[np.float64]

# Of 128 hosts in 8 racks of the lab single readings are 21 to 29 µs within a rack and 34 to 45
# between racks (10th to 90th percentile): a least one, and an exponential above it.
_LEAST_US = (20.6, 33.5, 46.4, 59.3)
_ABOVE = (3.64 / 20.6, 5.0 / 33.5, 0.15, 0.15)
# Pairs that something disturbed all the time.
_DISTURBED, _DISTURBANCE = 0.01, (1.3, 3.0)


@dataclass(frozen=True)
class Network:
    """A generated network.

    Args:
        truth_us: (N, N) what an order is judged by.
        readings_us: (N, N) what is read where a pair meets.
        rack_of: (N,) each host's rack.
    """

    truth_us: Matrix
    readings_us: Matrix
    rack_of: npt.NDArray[np.intp]


def lab(places: Sequence[Sequence[int]], seed: int, noise: str = "lab") -> Network:
    """Hosts whose places say, level by level, where they are; the last level is the rack.

    Args:
        places: (N, levels), the coarsest first.
    """
    rng = np.random.default_rng([seed, 0x1AB])
    place = np.array(places)[rng.permutation(len(places))]
    depth = place.shape[1]
    # How many levels up from the rack two hosts first share a place.
    differs = (place[:, None, :] != place[None, :, :])
    steps = np.where(differs.any(axis=2), depth - differs.argmax(axis=2), 0)
    truth = np.take(_LEAST_US, steps)
    above = rng.exponential(np.take(_ABOVE, steps))
    if noise == "normal":
        above = rng.normal(0.0, 0.126, truth.shape)
        readings = truth * 1.16 * np.exp(above)
    else:
        readings = truth * (1.0 + above)
    is_disturbed = rng.random(truth.shape) < _DISTURBED
    readings = np.where(is_disturbed, readings * rng.uniform(*_DISTURBANCE, truth.shape), readings)
    readings = np.triu(readings, 1)
    truth = np.triu(truth, 1)
    _, rack = np.unique(place, axis=0, return_inverse=True)
    return Network(truth + truth.T, readings + readings.T, rack)


def racks(sizes: Sequence[int], seed: int, *, row: int = 0, hall: int = 0) -> Network:
    """Racks of these sizes, so many of them to a row and rows to a hall; 0 for all in one."""
    rack = np.repeat(np.arange(len(sizes)), sizes)
    rows = rack // row if row else 0 * rack
    halls = rows // hall if hall else 0 * rack
    levels = [level for level, on in ((halls, hall), (rows, row), (rack, True)) if on]
    return lab(np.stack(levels, axis=1).tolist(), seed)


def data_center(family: str, hosts: int, seed: int) -> Network:
    """One of `solvers.datacenters`, whose pairs are as far as they are read."""
    center = FAMILIES[family](hosts, seed)
    return Network(center.distance, center.distance, center.rack_of)
