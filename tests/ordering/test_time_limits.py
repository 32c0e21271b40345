"""Orders keep to the time limit, whatever they are for.

What counts is processor time: a search in one thread that ends by the clock takes no more of it.
`scripts/bench limits` tries thousands of hosts, too, with the clock on the wall.
"""

from __future__ import annotations

import _thread
import random
import threading
import time

import pytest

from benchkit.limited_orders import OBJECTIVES, Case, cluster_of, run
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.solvers.collectives.registry import ALGORITHMS
from plink.solvers.search import RANDOM_ORDERS
from support.seeds import with_seeds

LIMIT_S = 0.02

# For imports and a slow machine; a search that misses its limit goes on for much longer.
MOST_MORE_S = 2.0


def check(case: Case, limit_s: float) -> None:
    found = run(case, limit_s)
    assert found.cpu_s <= limit_s + MOST_MORE_S, case
    if found.order is None:
        assert case.algorithm in found.refusal, case
        return
    order = found.order
    names = [host.name for host in (*order.hosts, *order.unused)]
    assert sorted(names) == sorted(order.listed), case
    assert 1 <= order.random_orders <= RANDOM_ORDERS
    assert 0.0 <= order.cost.lower_bound_us <= order.cost.cost_us * (1 + 1e-9), case
    if case.objective == "latency":
        assert order.cost.cost_us <= order.cost.listed_us * (1 + 1e-9), case


def hosts_for(algorithm: str) -> int:
    """So many that the algorithm takes them."""
    return next(hosts for hosts in (64, 32, 63, 65) if ALGORITHMS[algorithm].refusal(hosts) is None)


@pytest.mark.parametrize("objective", OBJECTIVES)
@with_seeds(1, 20)
def test_algorithms_keep_to_the_limit(objective, seed):
    for algorithm in random.Random(seed).sample(sorted(ALGORITHMS), 5):
        hosts = hosts_for(algorithm)
        check(Case(algorithm, objective, hosts), LIMIT_S)
        check(Case(algorithm, objective, 8, slots=hosts // 8), LIMIT_S)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    "options",
    [
        {"hosts": 12, "slots": 40, "is_uneven": True},
        {"hosts": 40, "has_gaps": True},
        {"hosts": 40, "ranks": 25},
        {"hosts": 8, "slots": 1024},
    ],
)
@with_seeds(1, 20)
def test_slots_gaps_and_choices_keep_to_the_limit(objective, options, seed):
    algorithm = random.Random(seed).choice(["ring", "tree", "openmpi-rabenseifner"])
    check(Case(algorithm, objective, **options), LIMIT_S)


@pytest.mark.parametrize("objective", ["latency", "contention"])
def test_ranks_apart_keep_to_the_limit(objective):
    check(Case("tree", objective, 16, slots=8, is_interleaved=True), LIMIT_S)


def test_several_threads_keep_to_the_limit():
    check(Case("halving-doubling", "latency", 64, threads=4), LIMIT_S)
    check(Case("ring", "latency", 64, threads=4), LIMIT_S)


@pytest.mark.parametrize(
    ("algorithm", "objective"),
    [("ring", "latency"), ("halving-doubling", "contention"), ("tree", "bandwidth")],
)
def test_a_limit_that_hardly_suffices_for_a_look_is_kept(algorithm, objective):
    check(Case(algorithm, objective, 1024), 0.05)


def test_more_messages_than_can_be_looked_at_are_refused():
    refused = run(Case("all-to-all", "latency", 8, slots=4096), LIMIT_S)
    assert refused.order is None
    assert "1,073,709,056 messages" in refused.refusal


@pytest.mark.parametrize(
    ("hosts", "algorithm", "objective", "slots"),
    [(64, "ring", "latency", 1), (16, "tree", "contention", 16)],
)
def test_an_interrupt_ends_it_at_once(hosts, algorithm, objective, slots):
    cluster = cluster_of(hosts)
    request = OrderRequest(algorithm=algorithm, objective=objective, slots=slots, time_limit_s=12.0)
    interrupted_s: list[float] = []

    def interrupt() -> None:
        interrupted_s.append(time.process_time())
        _thread.interrupt_main()

    timer = threading.Timer(0.1, interrupt)

    def start(_progress: object) -> None:
        """Interrupt the search, not what comes before it."""
        if not timer.is_alive() and not interrupted_s:
            timer.start()

    order = find_order(cluster, request, start)
    assert order.solver.ended_by == "interrupt"
    assert time.process_time() - interrupted_s[0] < 5.0
    assert order.cost.cost_us <= order.cost.listed_us * (1 + 1e-9)
