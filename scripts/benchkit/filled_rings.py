"""Rings on distances of which some were not measured: filled from the raw matrix, or embedded."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plink.files.cluster import Cluster, Host
from plink.files.rtt import RttMeasurement
from plink.model.denoising import denoise
from plink.model.distance import distances
from solvers.collectives.form import RingForm
from solvers.datacenters import uniform
from solvers.orders.latency_search import search_by_latency
from solvers.orders.reference import cost

Matrix = npt.NDArray[np.float64]

_HOSTS = 128
_SHARES = (0.5, 0.25)
_SECONDS = 1.0
_HEADING = ("measured", "seed", "raw", "embedded", "random")


def filled_rings(seeds: int) -> tuple[tuple[str, ...], list[list[object]]]:
    """What rings cost on all distances, by what they were searched on, in shares of the best."""
    rows: list[list[object]] = []
    for share in _SHARES:
        for seed in range(1, seeds + 1):
            rows.append([f"{share:.0%}", seed, *(f"{ratio:.2f}" for ratio in _ratios(share, seed))])
    return _HEADING, rows


def _ratios(share: float, seed: int) -> list[float]:
    whole = uniform(_HOSTS, seed).distance
    rng = np.random.default_rng(seed)
    kept = np.triu(rng.random(whole.shape) < share, 1)
    cluster = _cluster(np.where(kept | kept.T, whole, np.nan))
    embedding = denoise(cluster, range(_HOSTS)).embedding
    if embedding is None:
        raise ValueError("the data are too sparse to be embedded")
    given = list(range(_HOSTS))

    def found_on(matrix: Matrix) -> float:
        order = search_by_latency(
            RingForm(_HOSTS), matrix, given, seed=0, time_limit_s=_SECONDS
        ).order
        return cost(RingForm(_HOSTS), whole, order)

    best = found_on(whole)
    orders = [rng.permutation(_HOSTS).tolist() for _ in range(101)]
    random = float(np.median([cost(RingForm(_HOSTS), whole, order) for order in orders]))
    searched = [found_on(distances(cluster).matrix_us), found_on(embedding.distance)]
    return [value / best for value in (*searched, random)]


def _cluster(readings_us: Matrix) -> Cluster:
    counts = np.isfinite(readings_us).astype(np.int64)
    np.fill_diagonal(readings_us, np.nan)
    rtt = RttMeasurement(
        rtt_us={10.0: readings_us},
        reading=10.0,
        samples=counts,
        losses=np.zeros_like(counts),
        tool="import",
    )
    return Cluster([Host(f"h{host}", f"h{host}") for host in range(len(readings_us))], rtt)
