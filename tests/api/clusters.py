"""Clusters for the tests of the library, made of matrices."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import plink

Matrix = npt.NDArray[np.float64]


def rack_names(racks: int = 4, hosts: int = 4) -> list[str]:
    """The names of so many hosts, rack after rack."""
    return [f"n{number:02}" for number in range(1, racks * hosts + 1)]


def rack_matrix(racks: int = 4, hosts: int = 4, seed: int = 1) -> Matrix:
    """(N, N) round-trip times in µs: about 20 in a rack and 32 beyond, the hosts in mixed order."""
    rng = np.random.default_rng(seed)
    rack_of = rng.permutation(np.repeat(np.arange(racks), hosts))
    true_us = np.where(rack_of[:, None] == rack_of[None, :], 20.0, 32.0)
    rtt_us: Matrix = (true_us * (1.0 + rng.exponential(0.01, true_us.shape))).round(3)
    np.fill_diagonal(rtt_us, np.nan)
    return rtt_us


def rack_cluster(racks: int = 4, hosts: int = 4, slots: int = 1) -> plink.MeasuredCluster:
    return plink.MeasuredCluster.from_matrix(
        rack_names(racks, hosts), rack_matrix(racks, hosts), slots=slots
    )
