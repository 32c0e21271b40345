"""The peer counts as plink does, and finds nothing cheaper with as many moves."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from benchkit import datacenters
from benchkit.plain_annealing import plain_annealer
from plink.solvers.collectives.cost import latency_cost
from plink.solvers.collectives.registry import find
from plink.solvers.limits import Deadline
from plink.solvers.orders.latency_search import anneal, search_by_latency
from plink.solvers.search import SearchOptions

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

_MOVES = 1_000_000


@pytest.fixture(scope="module")
def peer():
    with plain_annealer() as built:
        yield built


def _noise(size, seed):
    distance = np.random.default_rng(seed).uniform(10.0, 100.0, (size, size))
    return np.triu(distance, 1) + np.triu(distance, 1).T


def _with_outliers(size, seed):
    """Some hosts are far from all, as in measured networks."""
    distance = _noise(size, seed)
    distance[:4] *= 20.0
    distance[:, :4] = distance[:4].T
    return distance


@pytest.mark.parametrize("name", ["halving-doubling", "tree", "mpich-tree", "all-to-all"])
def test_the_peer_finds_what_brute_force_does(peer, name):
    form = find(name).form(8)
    distance = _noise(8, 3)
    found = peer.find(form, distance, seed=1, runs=4, moves=40_000)
    assert found.cost == pytest.approx(latency_cost(form, distance, found.order))
    assert found.cost == pytest.approx(search_by_latency(form, distance).cost)
    assert found.moves == 160_000


@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("halving-doubling", lambda hosts: _noise(hosts, 6)),
        ("bcube", lambda hosts: datacenters.unequal(hosts, 5).distance),
        ("tree", lambda hosts: _with_outliers(hosts, 5)),
    ],
)
def test_no_order_is_dearer_than_the_peers_with_as_many_moves(peer, name, draw):
    form, distance = find(name).form(64), draw(64)
    plain = peer.find(form, distance, seed=5, runs=2, moves=_MOVES)
    found = anneal(form, distance, range(64), SearchOptions(Deadline(60.0), 5, steps=2 * _MOVES))
    assert latency_cost(form, distance, found.order) <= plain.cost * (1.0 + 1e-9)
