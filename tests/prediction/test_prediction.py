"""What an order is predicted to cost: the latency form against its definition, and times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.network import network_of
from plink.prediction import Predictor, latency_us
from prediction.clusters import rack_cluster
from solvers.collectives.form import RingForm, RoundsForm, TreesForm, WeightedRound
from solvers.collectives.registry import find


def plain_us(form, distance_us, order):
    """Luo 2020, §5.2.1, hop by hop."""
    if isinstance(form, RingForm):
        return sum(distance_us[order[i - 1], order[i]] for i in range(form.ranks))
    if isinstance(form, RoundsForm):
        return sum(
            step.weight * max(distance_us[order[a], order[b]] for a, b in step.edges)
            for step in form.rounds
        )

    def depth_us(parents, rank):
        if parents[rank] < 0:
            return 0.0
        above = parents[rank]
        return distance_us[order[rank], order[above]] + depth_us(parents, above)

    return max(depth_us(parents, rank) for parents in form.parents for rank in range(form.ranks))


@st.composite
def forms(draw: st.DrawFn, ranks: int):
    kind = draw(st.sampled_from(["ring", "rounds", "trees"]))
    if kind == "ring":
        return RingForm(ranks)
    if kind == "rounds":
        rank = st.integers(0, ranks - 1)
        edges = st.lists(st.tuples(rank, rank), min_size=1, max_size=5)
        drawn = draw(st.lists(st.tuples(edges, st.floats(0.5, 4)), max_size=4))
        return RoundsForm(
            ranks, [WeightedRound(np.array(pairs), weight) for pairs, weight in drawn]
        )
    trees = []
    for _ in range(draw(st.integers(1, 2))):
        labels = draw(st.permutations(range(ranks)))
        parents = np.full(ranks, -1)
        for place in range(1, ranks):
            parents[labels[place]] = labels[draw(st.integers(0, place - 1))]
        trees.append(parents)
    return TreesForm(ranks, trees)


@given(st.data(), st.integers(1, 9))
def test_the_latency_form_is_what_its_definition_says(data, ranks):
    form = data.draw(forms(ranks), label="form")
    distance_us = np.random.default_rng(data.draw(st.integers(0, 99))).random((9, 9))
    distance_us = distance_us + distance_us.T
    np.fill_diagonal(distance_us, 0.0)
    order = data.draw(st.permutations(range(9)), label="order")[:ranks]
    expected = plain_us(form, distance_us, order)
    assert latency_us(form, distance_us, np.array(order)) == pytest.approx(expected)


def predictor(name, cluster, size_bytes=10_000_000):
    network = network_of(cluster)
    ranks = len(cluster.hosts)
    return Predictor(find(name), ranks, size_bytes, cluster=cluster, network=network)


def test_a_gloo_ring_over_racks_takes_as_long_as_its_crossings_say():
    cluster = rack_cluster(4, 4)
    ring = predictor("gloo-ring", cluster)
    in_racks = np.argsort(np.arange(16) % 4, kind="stable")
    # 2 x 15/16 of 10 MB at 0.4 Gbit/s, once and four times.
    assert ring.cost(in_racks).time_s == pytest.approx(0.375, abs=0.002)
    assert ring.cost(range(16)).time_s == pytest.approx(1.5, abs=0.002)
    assert ring.cost(in_racks).latency_us == pytest.approx(12 * 20 + 4 * 50)


def test_without_rates_there_are_latencies_only():
    cost = predictor("gloo-ring", rack_cluster(2, 2, has_uplinks=False)).cost(range(4))
    assert cost.time_s is None
    assert cost.latency_us == 200.0
