"""Generated networks of which a sample of pairs is read: racks with measured noise, and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solvers.datacenters import FAMILIES

Matrix = npt.NDArray[np.float64]

# Single readings of 128 hosts in 8 racks of the lab are 21 to 29 µs within a rack and 34 to 45
# between racks (10th to 90th percentile): the truth, and an exponential above it. Further levels
# are as far from each other.
_TRUTH_US = (20.6, 33.5, 46.4, 59.3)
_ABOVE = (3.64 / 20.6, 5.0 / 33.5, 5.0 / 33.5, 5.0 / 33.5)
# Pairs that something disturbs whenever they meet.
_DISTURBED_SHARE = 0.01
_DISTURBANCE = (1.3, 3.0)

# Of a data centre's levels, the middle of the ranges that their pairs are drawn from.
_LEVELS_US = (25.0, 57.5, 110.0)


@dataclass(frozen=True)
class Network:
    """A generated network.

    Args:
        truth_us: (N, N) by the places of both hosts alone.
        readings_us: (N, N) what is read where a pair meets.
        rack_of: (N,) each host's rack.
    """

    truth_us: Matrix
    readings_us: Matrix
    rack_of: npt.NDArray[np.intp]


def racks(sizes: Sequence[int], seed: int, *, row: int = 0, hall: int = 0) -> Network:
    """Racks of these sizes, so many of them to a row, and rows to a hall; 0 for no such level."""
    rack = np.repeat(np.arange(len(sizes)), sizes)
    levels = [rack]
    if row:
        levels.append(rack // row)
    if hall:
        levels.append(rack // row // hall)
    rng = np.random.default_rng([seed, 0x1AB])
    place = np.stack(levels)[:, rng.permutation(len(rack))]
    # How many levels it takes to get from the one to the other.
    steps = (place[:, :, None] != place[:, None, :]).sum(axis=0)
    truth = np.take(_TRUTH_US, steps)
    np.fill_diagonal(truth, 0.0)
    return Network(truth, _read(truth, np.take(_ABOVE, steps), rng), place[0])


def plane(hosts: int, seed: int) -> Network:
    """Hosts anywhere on a plane, in no groups; each is its own rack."""
    rng = np.random.default_rng([seed, 0x9A7])
    points = rng.random((hosts, 2))
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    truth = 20.0 + 40.0 * apart
    np.fill_diagonal(truth, 0.0)
    return Network(truth, _read(truth, np.full(truth.shape, 0.15), rng), np.arange(hosts))


def data_center(family: str, hosts: int, seed: int) -> Network:
    """One of `solvers.datacenters`, with noise of 15 % on every pair, and detours."""
    center = FAMILIES[family](hosts, seed)
    steps = (center.rack_of[:, None] != center.rack_of).astype(np.intp)
    steps += center.row_of[:, None] != center.row_of
    truth = np.take(_LEVELS_US, steps)
    np.fill_diagonal(truth, 0.0)
    return Network(truth, center.distance, center.rack_of)


def _read(truth: Matrix, above: Matrix, rng: np.random.Generator) -> Matrix:
    """Readings: noise only adds."""
    readings = truth * (1.0 + rng.exponential(above))
    is_disturbed = rng.random(truth.shape) < _DISTURBED_SHARE
    readings *= np.where(is_disturbed, rng.uniform(*_DISTURBANCE, truth.shape), 1.0)
    above_diagonal = np.triu(readings, 1)
    return above_diagonal + above_diagonal.T
