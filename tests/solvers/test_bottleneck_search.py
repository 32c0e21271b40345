"""The nearest farthest neighbours, beside every order of few hosts and graphs that are known."""

from __future__ import annotations

import itertools
import time

import numpy as np
import numpy.typing as npt
import pytest

from forms import ANY, form_of
from plink.solvers.bottleneck.bottleneck_search import search_by_bottleneck
from plink.solvers.bottleneck.bound import ExchangingPairs, largest_block, largest_component
from plink.solvers.collectives.form import Form, RingForm
from plink.solvers.limits import Deadline
from plink.solvers.orders.latency_search import search_by_latency
from plink.solvers.search import SearchOptions
from plink.solvers.slots.layout import RankLayout, cost_with_slots
from support.seeds import with_seeds

Matrix = npt.NDArray[np.float64]


def _options(time_limit_s: float) -> SearchOptions:
    return SearchOptions(Deadline(time_limit_s))


def distances(rng: np.random.Generator, hosts: int, levels: int = 50) -> Matrix:
    """Symmetric whole numbers, so that some are equal."""
    upper = np.triu(rng.integers(1, levels + 1, (hosts, hosts)).astype(np.float64), 1)
    return upper + upper.T


def best_by_trying(form: Form, distance: Matrix, layout: RankLayout) -> tuple[float, float]:
    """The least greatest distance of all orders, and the least cost of those that have it."""
    used = ExchangingPairs(form, layout)
    return min(
        (used.farthest(distance, order), cost_with_slots(form, distance, layout, order))
        for order in map(list, itertools.permutations(range(layout.hosts)))
    )


@pytest.mark.parametrize("name", ANY)
@with_seeds(1, 20)
def test_equals_every_order_tried(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    hosts = 5 + seed % 2
    form, layout = form_of(name, hosts), RankLayout([1] * hosts, hosts)
    distance = distances(rng, hosts)
    found = search_by_bottleneck(
        form, distance, layout, list(range(hosts)), SearchOptions(Deadline(60.0), seed)
    )
    farthest, cost = best_by_trying(form, distance, layout)
    assert (found.farthest, found.cost) == (farthest, pytest.approx(cost))
    assert found.farthest_bound == farthest
    assert found.ended_by == "exact"
    assert sorted(found.order) == list(range(hosts))


@pytest.mark.parametrize(("slots", "ranks"), [([1] * 6, 4), ([1, 2, 3, 1, 2], 8), ([2] * 5, 2)])
@pytest.mark.parametrize("name", ["ring", "tree", "all pairs"])
def test_chosen_hosts_equal_every_choice_tried(name: str, slots: list[int], ranks: int) -> None:
    rng = np.random.default_rng([42, *slots, ranks])
    form, layout = form_of(name, ranks), RankLayout(slots, ranks)
    distance = distances(rng, len(slots))
    found = search_by_bottleneck(form, distance, layout, list(range(len(slots))), _options(20.0))
    farthest, cost = best_by_trying(form, distance, layout)
    assert found.farthest_bound <= farthest == found.farthest
    assert found.cost == pytest.approx(cost)


@pytest.mark.parametrize("hosts", [11, 40, 150])
def test_a_hidden_ring_is_found_and_proven(hosts: int) -> None:
    rng = np.random.default_rng([43, hosts])
    distance = 100.0 + distances(rng, hosts)
    np.fill_diagonal(distance, 0.0)
    ring = rng.permutation(hosts)
    near = 10.0 + rng.random(hosts)
    distance[ring, np.roll(ring, -1)] = distance[np.roll(ring, -1), ring] = near
    found = search_by_bottleneck(
        RingForm(hosts),
        distance,
        RankLayout([1] * hosts, hosts),
        list(range(hosts)),
        _options(10.0),
    )
    assert found.farthest == found.farthest_bound == near.max()
    assert found.cost == pytest.approx(near.sum())


def test_a_slow_host_does_not_cost_the_others() -> None:
    """Everything to one host is far, so the farthest are decided; what is left is the sum."""
    rng = np.random.default_rng(44)
    hosts = 30
    points = rng.random((hosts, 2))
    distance = np.linalg.norm(points[:, None] - points[None, :], axis=-1)
    distance[7, :] = distance[:, 7] = 50.0
    distance[7, 3] = distance[3, 7] = distance[7, 4] = distance[4, 7] = 40.0
    np.fill_diagonal(distance, 0.0)
    form, layout = RingForm(hosts), RankLayout([1] * hosts, hosts)
    found = search_by_bottleneck(form, distance, layout, list(range(hosts)), _options(20.0))
    assert found.farthest == found.farthest_bound == 40.0
    free = search_by_latency(form, distance, list(range(hosts)), layout=layout, time_limit_s=20.0)
    assert found.cost == pytest.approx(free.cost)
    assert 0.99 * found.cost <= found.lower_bound <= found.cost


def test_what_is_not_known_proves_nothing() -> None:
    hosts = 9
    distance = np.full((hosts, hosts), 5.0)
    np.fill_diagonal(distance, 0.0)
    is_guess = np.zeros((hosts, hosts), dtype=bool)
    is_guess[0, 1:] = is_guess[1:, 0] = True
    found = search_by_bottleneck(
        RingForm(hosts),
        distance,
        RankLayout([1] * hosts, hosts),
        list(range(hosts)),
        _options(10.0),
        is_guess=is_guess,
    )
    # The other eight are on a path, whose hops are known.
    assert found.farthest_bound == found.farthest == 5.0
    is_guess[:, :] = ~np.eye(hosts, dtype=bool)
    found = search_by_bottleneck(
        RingForm(hosts),
        distance,
        RankLayout([1] * hosts, hosts),
        list(range(hosts)),
        _options(10.0),
        is_guess=is_guess,
    )
    assert found.farthest_bound == 0.0
    assert found.lower_bound == 0.0


def test_the_given_order_stays_where_nothing_is_better() -> None:
    hosts = 20
    distance = np.ones((hosts, hosts)) - np.eye(hosts)
    given = np.random.default_rng(45).permutation(hosts).tolist()
    found = search_by_bottleneck(
        RingForm(hosts), distance, RankLayout([1] * hosts, hosts), given, _options(2.0)
    )
    assert found.order == given
    assert found.ended_by in ("bound", "exact")


def test_keeps_to_its_time() -> None:
    rng = np.random.default_rng(46)
    hosts = 60
    begin_s = time.process_time()
    search_by_bottleneck(
        form_of("halving-doubling", 32),
        distances(rng, hosts, 10**6),
        RankLayout([1] * hosts, 32),
        list(range(hosts)),
        _options(0.2),
    )
    assert time.process_time() - begin_s < 10.0


def test_tells_seconds_from_its_beginning_to_its_end() -> None:
    hosts = 40
    told: list[float] = []
    search_by_bottleneck(
        RingForm(hosts),
        distances(np.random.default_rng(1), hosts),
        RankLayout([1] * hosts, hosts),
        list(range(hosts)),
        SearchOptions(Deadline(1.0), on_progress=lambda now: told.append(now.seconds)),
    )
    assert told == sorted(told)
    assert told[0] < 0.4


def without(graph: npt.NDArray[np.bool_], vertex: int) -> npt.NDArray[np.bool_]:
    kept = np.delete(np.arange(len(graph)), vertex)
    return graph[np.ix_(kept, kept)]


@with_seeds(10, 60)
def test_blocks_are_what_no_single_vertex_cuts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 12))
    upper = np.triu(rng.random((size, size)) < rng.uniform(0.1, 0.6), 1)
    graph = upper | upper.T
    largest = 2
    for count in range(3, size + 1):
        for chosen in itertools.combinations(range(size), count):
            part = graph[np.ix_(chosen, chosen)]
            if largest_component(part) == count and all(
                largest_component(without(part, vertex)) == count - 1 for vertex in range(count)
            ):
                largest = count
                break
    assert largest_block(graph) == largest
