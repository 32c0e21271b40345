"""What embedding is worth on generated data centres: its figures as tables, and what they share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from benchkit.datacenters import FAMILIES, DataCenter, uniform
from benchkit.peers import adam
from benchkit.readings import cluster_of
from plink.model.denoising import denoise
from plink.model.distance import distances
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.form import RingForm
from plink.solvers.embedding.embed import embed
from plink.solvers.embedding.fit import Objective, Shape, start
from plink.solvers.embedding.observations import observe
from plink.solvers.groups.agreement import affinity
from plink.solvers.orders.latency_search import search_by_latency

Matrix = npt.NDArray[np.float64]
Table = tuple[Sequence[str], list[list[object]]]
"""A header, and rows."""

_Result = TypeVar("_Result")

SIZES = (64, 256, 512)
SHARES = (1.0, 0.25, 0.1)
_RING_HOSTS = 128
_RING_SHARES = (0.5, 0.25)
_RING_S = 1.0


def affinity_table(seeds: int) -> Table:
    """How near hosts of a rack and row are found to be, raw and embedded."""
    rows: list[list[object]] = []
    for title, share, centres in generate_centres(seeds):
        raws, embeddeds, seconds, dimensions, better = [], [], [], [], 0
        for centre in centres:
            measured = sample_distances(centre.distance, share)
            places = _positions(centre)
            raws.append(affinity(measured, places).accuracy)
            try:
                passed, found = time_work(partial(embed, measured))
            except ValueError:
                continue
            seconds.append(passed)
            dimensions.append(found.dimensions)
            better += found.is_better_than_raw
            embeddeds.append(affinity(found.distance, places).accuracy)
        if not embeddeds:
            rows.append([title, f"{share:.0%}", f"{np.mean(raws):.4f}", "too sparse", "", "", ""])
            continue
        rows.append(
            [
                title,
                f"{share:.0%}",
                f"{np.mean(raws):.4f}",
                f"{np.mean(embeddeds):.4f} ({min(embeddeds):.4f})",
                f"{np.median(dimensions):.0f}",
                f"{better} of {len(embeddeds)}",
                f"{np.median(seconds):.2f} s",
            ]
        )
    return ("hosts", "pairs", "raw", "embedded (least)", "D", "used", "time"), rows


def optimiser_table(seeds: int) -> Table:
    """L-BFGS beside Adam, on the embedding's objective."""
    from scipy.optimize import minimize  # noqa: PLC0415

    rows: list[list[object]] = []
    for size in SIZES:
        ratios = []
        for seed in range(1, seeds + 1):
            observations = observe(FAMILIES["uniform"](size, seed).distance)
            shape = Shape(5, has_heights=False)
            objective = Objective(observations, shape, 0.15)
            begin = start(observations, shape).points.ravel()
            passed, found = time_work(
                partial(
                    minimize,
                    objective,
                    begin,
                    jac=True,
                    method="L-BFGS-B",
                    options={"maxiter": 60},
                )
            )
            tracks = [
                adam(objective, begin, rate=rate, seconds=10.0 * passed)
                for rate in (0.003, 0.01, 0.03)
            ]
            reached = [
                next((at for at, value in track if value <= found.fun), np.inf) for track in tracks
            ]
            ratios.append(min(reached) / passed)
        text = f"{np.median(ratios):.1f}" if np.isfinite(np.median(ratios)) else "> 10"
        rows.append([size, f"{1e3 * passed:.0f} ms", text])
    return ("hosts", "60 steps of L-BFGS", "Adam takes so many times longer"), rows


def rings_table(seeds: int) -> Table:
    """What rings cost on all distances, by what they were searched on, in shares of the best."""
    rows: list[list[object]] = []
    for share in _RING_SHARES:
        for seed in range(1, seeds + 1):
            rows.append([f"{share:.0%}", seed, *(f"{ratio:.2f}" for ratio in _ratios(share, seed))])
    return ("measured", "seed", "raw", "embedded", "random"), rows


def _ratios(share: float, seed: int) -> list[float]:
    whole = uniform(_RING_HOSTS, seed).distance
    rng = np.random.default_rng(seed)
    kept = np.triu(rng.random(whole.shape) < share, 1)
    cluster = cluster_of(np.where(kept | kept.T, whole, np.nan), "import")
    embedding = denoise(cluster, range(_RING_HOSTS)).embedding
    if embedding is None:
        raise ValueError("the data are too sparse to be embedded")
    given = list(range(_RING_HOSTS))

    def found_on(matrix: Matrix) -> float:
        order = search_by_latency(
            RingForm(_RING_HOSTS), matrix, given, seed=0, time_limit_s=_RING_S
        ).order
        return latency_cost(RingForm(_RING_HOSTS), whole, order)

    best = found_on(whole)
    orders = [rng.permutation(_RING_HOSTS).tolist() for _ in range(101)]
    costs = [latency_cost(RingForm(_RING_HOSTS), whole, order) for order in orders]
    random = float(np.median(costs))
    searched = [found_on(distances(cluster).matrix_us), found_on(embedding.distance)]
    return [value / best for value in (*searched, random)]


def generate_centres(seeds: int) -> Iterator[tuple[str, float, list[DataCenter]]]:
    """Name, share of pairs that are measured, and data centres of that kind."""
    for family, make in FAMILIES.items():
        for size in SIZES:
            centres = [make(size, seed) for seed in range(1, seeds + 1)]
            for share in SHARES:
                yield f"{family} {size}", share, centres


def sample_distances(distance: Matrix, share: float) -> Matrix:
    """The distances of a share of the pairs; NaN for the others."""
    rng = np.random.default_rng([int(100 * share), len(distance)])
    kept = np.triu(rng.random(distance.shape) < share, 1)
    return np.where(kept | kept.T, distance, np.nan)


def _positions(centre: DataCenter) -> list[tuple[int, int, int]]:
    places = zip(centre.row_of, centre.rack_of, strict=True)
    return [(int(row), int(rack), host) for host, (row, rack) in enumerate(places)]


def time_work(work: Callable[[], _Result]) -> tuple[float, _Result]:
    """Processor seconds, and what came of it."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result
