"""Meshes on generated data centres: what orders for the whole and for a part of them cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchkit.datacenters import FAMILIES
from plink.base.replacing import replace
from plink.formats.mesh import Mesh, parse_mesh
from plink.optimize.orders.mesh import mesh_algorithm
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.registry import find
from plink.solvers.orders.latency_search import search_by_latency

HEADER = (
    "mesh",
    "data centre",
    "given",
    "one ring",
    "heaviest dimension alone",
    "whole mesh",
    "bound",
    "gap",
)
MESHES = (
    ("dp=4,pp=2,tp=8", "dp=2,pp=1,tp=20"),
    ("pp=4,dp=8,tp=8", "pp=1,dp=3,tp=12"),
    ("dp=6,ep=8,tp=4", "dp=1,ep=4,tp=10"),
    ("dp=16,pp=8,tp=8", "dp=2,pp=1,tp=15"),
)
_RANDOM_ORDERS = 101
_STEPS = 2_000_000
# A search ends by its steps.
_LIMIT_S = 600.0
_PROOF_S = 3.0


def rows(seeds: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """A row for each mesh and family, means over seeds: costs over those of random orders."""
    for text, traffic in MESHES:
        mesh = parse_mesh(text, traffic, 1)
        for family in FAMILIES:
            shares = np.mean([_shares(mesh, family, seed) for seed in seeds], axis=0)
            gap = 1.0 - shares[-1] / shares[-2]
            yield (text, family, *(f"{share:.3f}" for share in shares), f"{100 * gap:.0f} %")


def _shares(mesh: Mesh, family: str, seed: int) -> list[float]:
    distance = FAMILIES[family](mesh.ranks, seed).distance
    form = mesh_algorithm(mesh).form(mesh.ranks)
    heaviest = max(mesh.dimensions, key=lambda one: one.size_bytes)
    part = [one if one is heaviest else replace(one, size_bytes=0) for one in mesh.dimensions]
    alone = mesh_algorithm(Mesh(part)).form(mesh.ranks)

    whole, of_one = (
        search_by_latency(
            one, distance, seed=seed, steps=_STEPS, time_limit_s=_LIMIT_S, proof_limit_s=_PROOF_S
        )
        for one in (form, alone)
    )
    rng = np.random.default_rng(seed)
    orders = (rng.permutation(mesh.ranks).tolist() for _ in range(_RANDOM_ORDERS))
    random = float(np.median([latency_cost(form, distance, order) for order in orders]))
    ring = search_by_latency(find("ring").form(mesh.ranks), distance, seed=seed).order
    costs = [
        latency_cost(form, distance, order)
        for order in (range(mesh.ranks), ring, of_one.order, whole.order)
    ]
    return [cost / random for cost in (*costs, whole.lower_bound)]
