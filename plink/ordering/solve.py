"""From a cluster to the rank order that suits an algorithm."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from plink.distance import Distances, both_directions, distances
from plink.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.files.order import Order, Solver
from plink.files.rtt import percentile_name
from plink.network import network_of
from plink.ordering.algorithms import algorithm_for
from plink.ordering.objectives import ContentionObjective, LatencyObjective, Objective
from solvers.collectives.algorithm import Algorithm
from solvers.orders.solution import Progress

RANDOM_ORDERS = 1001

# Of the time limit, for the check that the gain is no noise.
_CHECK_SHARE = 0.1

DEFAULT_SIZE_BYTES = 100_000_000

OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Task:
    """What an order is asked for.

    Args:
        algorithm: a name of `solvers.collectives.registry`.
        objective: `latency` or `contention`; None for contention where the groups' uplinks are
            known, else latency.
        size_bytes: of the buffer, for contention.
        seed: decides every choice by chance; 0 to 2^63 - 1.
        time_limit_s: for the search and the check of its gain.
        prove_s: for an exact engine afterwards, 0 for none.
        threads: restarts at the same time.
    """

    algorithm: str = "ring"
    objective: str | None = None
    size_bytes: int = DEFAULT_SIZE_BYTES
    seed: int = 0
    time_limit_s: float = 2.0
    prove_s: float = 0.0
    threads: int = 1


def solve_order(
    cluster: Cluster, made_from: str | None, task: Task, on_progress: OnProgress | None = None
) -> Order:
    """The hosts in an order that makes an algorithm cheap, never dearer than the given one.

    An interrupt (Ctrl-C) ends the search with the best so far.

    Args:
        cluster: hosts and what was measured.
        made_from: the hash of the cluster file.
        on_progress: called some twenty times a second.

    Raises:
        WrongUseError: nothing was measured, or the algorithm does not take so many hosts.
    """
    start = time.monotonic()
    found = distances(cluster)
    if len(cluster.hosts) == 1:
        return _of_one_host(cluster, made_from, task)
    algorithm = algorithm_for(task.algorithm, len(cluster.hosts))
    objective = _objective(cluster, task, algorithm, found)
    if task.prove_s > 0.0 and not isinstance(objective, LatencyObjective):
        raise WrongUseError(
            "no exact engine proves a time under contention", "--prove takes --objective latency"
        )
    given = list(range(len(cluster.hosts)))
    check_s = _CHECK_SHARE * task.time_limit_s
    best = objective.solve(
        given, seed=task.seed, time_limit_s=task.time_limit_s - check_s, on_progress=on_progress
    )
    confirmed, proof = None, None
    if best.ended_by != "interrupt":
        try:
            if isinstance(objective, LatencyObjective) and task.prove_s > 0.0:
                best, proof = objective.prove(best, task.prove_s)
            confirmed = _confirmed_gain(cluster, algorithm, objective, task, check_s)
        except KeyboardInterrupt:
            best = replace(best, ended_by="interrupt")
    return Order(
        algorithm=task.algorithm,
        objective=objective.name,
        size_bytes=objective.size_bytes,
        hosts=[cluster.hosts[host] for host in best.order],
        hops_us=found.matrix_us[best.order, np.roll(best.order, -1)].tolist(),
        given=cluster.names,
        cost_us=best.cost_us,
        cost_given_us=objective.cost_us(given),
        cost_random_us=median_of_random(objective, len(given), task.seed),
        random_orders=RANDOM_ORDERS,
        lower_bound_us=best.lower_bound_us,
        solver=Solver(
            name=best.solver,
            options={"time_limit_s": task.time_limit_s, **_reading(cluster)},
            seed=task.seed,
            steps=best.steps,
            ended_by=best.ended_by,
        ),
        seconds=time.monotonic() - start,
        filled_pairs=found.filled_pairs,
        unmeasured_hosts=found.unmeasured_hosts,
        confirmed_gain=confirmed,
        made_from=made_from,
        proof=proof,
        groups=tuple(cluster.groups),
    )


def _of_one_host(cluster: Cluster, made_from: str | None, task: Task) -> Order:
    return Order(
        algorithm=task.algorithm,
        hosts=cluster.hosts,
        hops_us=[0.0],
        given=cluster.names,
        cost_us=0.0,
        cost_given_us=0.0,
        cost_random_us=0.0,
        random_orders=RANDOM_ORDERS,
        lower_bound_us=0.0,
        solver=Solver("none", {"time_limit_s": task.time_limit_s}, task.seed, 0, "exact"),
        seconds=0.0,
        made_from=made_from,
        groups=tuple(cluster.groups),
    )


def median_of_random(objective: Objective, hosts: int, seed: int) -> float:
    """The median cost in µs of `RANDOM_ORDERS` random orders."""
    rng = np.random.default_rng([seed, RANDOM_ORDERS])
    orders = (rng.permutation(hosts).tolist() for _ in range(RANDOM_ORDERS))
    return float(np.median([objective.cost_us(order) for order in orders]))


def _objective(cluster: Cluster, task: Task, algorithm: Algorithm, found: Distances) -> Objective:
    form = algorithm.form(len(cluster.hosts))
    by_latency = LatencyObjective(form, found.matrix_us, task.threads)
    name = task.objective or ("contention" if cluster.uplinks is not None else "latency")
    if name == "latency":
        return by_latency
    return ContentionObjective(
        algorithm.table(len(cluster.hosts), task.size_bytes),
        network_of(cluster).network,
        by_latency,
        task.size_bytes,
    )


def _confirmed_gain(
    cluster: Cluster, algorithm: Algorithm, objective: Objective, task: Task, time_limit_s: float
) -> float | None:
    """What an order found on one direction's readings saves on the other's, if that can be told."""
    readings = both_directions(cluster)
    if readings is None or objective.name != "latency":
        return None
    form = algorithm.form(len(cluster.hosts))
    first, second = (LatencyObjective(form, matrix_us, task.threads) for matrix_us in readings)
    given = list(range(len(cluster.hosts)))
    found = first.solve(given, seed=task.seed, time_limit_s=time_limit_s)
    if found.ended_by == "interrupt":
        raise KeyboardInterrupt
    random_us = median_of_random(second, len(given), task.seed)
    return 1.0 - second.cost_us(found.order) / random_us if random_us else None


def _reading(cluster: Cluster) -> dict[str, str]:
    """Which percentile stood for a pair."""
    return {} if cluster.rtt is None else {"reading": percentile_name(cluster.rtt.reading)}
