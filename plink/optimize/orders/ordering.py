"""From a cluster to the rank order that suits an algorithm."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from plink.base.errors import WrongUseError
from plink.files.cluster import Cluster, Host
from plink.files.order import Order, Solver
from plink.files.rtt import percentile_name
from plink.model.distance import Distances, both_directions, distances
from plink.model.network import network_of
from plink.optimize.orders.algorithms import algorithm_for
from plink.optimize.orders.by_bandwidth import (
    BandwidthTask,
    is_by_bandwidth,
    order_by_bandwidth,
    refuse_options,
)
from plink.optimize.orders.interleave import apart, check_size
from plink.optimize.orders.objectives import ContentionObjective, LatencyObjective, Objective
from plink.optimize.orders.slots import filling_of, modelled, placed_on, with_slots
from solvers.collectives.algorithm import Algorithm
from solvers.exact.prove import Engine
from solvers.orders.solution import Progress
from solvers.slots.layout import RankLayout

RANDOM_ORDERS = 1001

# Of the time limit, for the check that the gain is no noise.
_CHECK_SHARE = 0.1

DEFAULT_SIZE_BYTES = 100_000_000

OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class OrderRequest:
    """What an order is asked for.

    Args:
        algorithm: a name of `solvers.collectives.registry`.
        objective: `latency`, `contention` or `bandwidth`; None for contention where the groups'
            uplinks are known, else latency, and bandwidth where no round-trip time is known.
        size_bytes: of the buffer, for contention.
        seed: decides every choice by chance; 0 to 2^63 - 1.
        time_limit_s: for the search and the check of its gain.
        prove_s: for an exact engine afterwards, 0 for none.
        engine: which one.
        threads: restarts at the same time.
        ranks: how many; None for as many as there are slots. Hosts that are not needed are chosen.
        slots: of every host; None for the cluster's.
        is_interleaved: the ranks of a host need not be adjacent.
    """

    algorithm: str = "ring"
    objective: str | None = None
    size_bytes: int = DEFAULT_SIZE_BYTES
    seed: int = 0
    time_limit_s: float = 2.0
    prove_s: float = 0.0
    engine: Engine = "cp-sat"
    threads: int = 1
    ranks: int | None = None
    slots: int | None = None
    is_interleaved: bool = False


def find_order(
    cluster: Cluster, request: OrderRequest, on_progress: OnProgress | None = None
) -> Order:
    """The hosts in an order that makes an algorithm cheap, never dearer than the given one.

    Where not all hosts are needed, which ones are is a part of the answer; the given order then is
    that of the first.

    An interrupt (Ctrl-C) ends the search with the best so far.

    Args:
        cluster: hosts and what was measured.
        request: which order, for whom, and how long to search.
        on_progress: called some twenty times a second.

    Raises:
        WrongUseError: nothing was measured, there are not enough slots, or the algorithm does not
            take so many ranks.
    """
    start = time.monotonic()
    hosts = with_slots(cluster.hosts, request.slots)
    filling = filling_of(hosts, request.ranks)
    if len(hosts) > 1 and is_by_bandwidth(cluster, request.objective):
        refuse_options(prove_s=request.prove_s, is_interleaved=request.is_interleaved)
        by_bandwidth = BandwidthTask(
            request.algorithm,
            hosts,
            filling,
            seed=request.seed,
            time_limit_s=request.time_limit_s,
            threads=request.threads,
            random_orders=RANDOM_ORDERS,
        )
        return order_by_bandwidth(cluster, by_bandwidth, on_progress)
    found = distances(cluster)
    if len(hosts) == 1:
        return _of_one_host(replace(hosts[0], slots=filling.ranks), cluster, request)
    algorithm = algorithm_for(request.algorithm, filling)
    objective = _objective(cluster, request, algorithm, found, filling)
    if request.prove_s > 0.0 and not isinstance(objective, LatencyObjective):
        raise WrongUseError(
            "no exact engine proves a time under contention", "--prove takes --objective latency"
        )
    if request.is_interleaved:
        check_size(filling)
    given = list(range(len(hosts)))
    check_s = _CHECK_SHARE * request.time_limit_s
    limit_s = request.time_limit_s - check_s
    is_interleaved = request.is_interleaved and objective.filling is filling
    best = objective.solve(
        given,
        seed=request.seed,
        time_limit_s=limit_s / 2.0 if is_interleaved else limit_s,
        on_progress=on_progress,
    )
    confirmed, proof = None, None
    placement = filling.placement(best.order).tolist()
    if best.ended_by != "interrupt":
        try:
            if isinstance(objective, LatencyObjective) and request.prove_s > 0.0:
                best, proof = objective.prove(best, request.prove_s, request.engine)
                placement = filling.placement(best.order).tolist()
            if is_interleaved:
                best, placement = apart(
                    objective, best, seed=request.seed, time_limit_s=limit_s / 2.0
                )
            else:
                confirmed = _confirmed_gain(cluster, algorithm, objective, request, check_s)
        except KeyboardInterrupt:
            best = replace(best, ended_by="interrupt")
    placed = placed_on(hosts, placement)
    names = {host.name for host in placed.hosts}
    used = list(dict.fromkeys(placement))
    following = np.roll(used, -1)
    peers = placement if is_interleaved else objective.filling.placement(best.order)
    return Order(
        algorithm=request.algorithm,
        objective=objective.name,
        size_bytes=objective.size_bytes,
        hosts=placed.hosts,
        unused=placed.unused,
        host_of_rank=placed.host_of_rank,
        hops_us=found.matrix_us[used, following].tolist(),
        given=cluster.names,
        filled_hops=np.flatnonzero(found.is_filled[used, following]).tolist(),
        cost_us=best.cost_us,
        cost_range_us=objective.range_us(np.asarray(peers, dtype=np.intp)),
        cost_given_us=objective.cost_us(given),
        cost_random_us=median_of_random(objective, request.seed),
        random_orders=RANDOM_ORDERS,
        lower_bound_us=best.lower_bound_us,
        solver=Solver(
            name=best.solver,
            options={"time_limit_s": request.time_limit_s, **_reading(cluster)},
            seed=request.seed,
            steps=best.steps,
            ended_by=best.ended_by,
        ),
        seconds=time.monotonic() - start,
        filled_pairs=found.filled_pairs,
        unmeasured_hosts=[name for name in found.unmeasured_hosts if name in names],
        confirmed_gain=confirmed,
        made_from=cluster.file_hash,
        proof=proof,
        groups=tuple(cluster.groups),
    )


def _of_one_host(host: Host, cluster: Cluster, request: OrderRequest) -> Order:
    return Order(
        algorithm=request.algorithm,
        hosts=[host],
        hops_us=[0.0],
        given=cluster.names,
        cost_us=0.0,
        cost_given_us=0.0,
        cost_random_us=0.0,
        random_orders=RANDOM_ORDERS,
        lower_bound_us=0.0,
        solver=Solver("none", {"time_limit_s": request.time_limit_s}, request.seed, 0, "exact"),
        seconds=0.0,
        made_from=cluster.file_hash,
        groups=tuple(cluster.groups),
    )


def median_of_random(objective: Objective, seed: int) -> float:
    """The median cost in µs of `RANDOM_ORDERS` random orders; their first hosts are used."""
    rng = np.random.default_rng([seed, RANDOM_ORDERS])
    hosts = objective.filling.hosts
    orders = (rng.permutation(hosts).tolist() for _ in range(RANDOM_ORDERS))
    return float(np.median([objective.cost_us(order) for order in orders]))


def _objective(
    cluster: Cluster,
    request: OrderRequest,
    algorithm: Algorithm,
    found: Distances,
    filling: RankLayout,
) -> Objective:
    peers = modelled(algorithm, filling)
    by_latency = LatencyObjective(
        algorithm.form(peers.ranks), found.matrix_us, peers, request.threads
    )
    name = request.objective or ("contention" if cluster.uplinks is not None else "latency")
    if name == "latency":
        return replace(by_latency, limits=found.limits)
    return ContentionObjective(
        algorithm.table(peers.ranks, request.size_bytes),
        network_of(cluster).network,
        peers,
        by_latency,
        request.size_bytes,
        limits=found.limits,
    )


def _confirmed_gain(
    cluster: Cluster,
    algorithm: Algorithm,
    objective: Objective,
    request: OrderRequest,
    time_limit_s: float,
) -> float | None:
    """What an order found on one direction's readings saves on the other's, if that can be told."""
    readings = both_directions(cluster)
    if readings is None or objective.name != "latency":
        return None
    peers = objective.filling
    form = algorithm.form(peers.ranks)
    first, second = (
        LatencyObjective(form, matrix_us, peers, request.threads) for matrix_us in readings
    )
    found = first.solve(list(range(peers.hosts)), seed=request.seed, time_limit_s=time_limit_s)
    if found.ended_by == "interrupt":
        raise KeyboardInterrupt
    random_us = median_of_random(second, request.seed)
    return 1.0 - second.cost_us(found.order) / random_us if random_us else None


def _reading(cluster: Cluster) -> dict[str, str]:
    """Which percentile stood for a pair."""
    return {} if cluster.rtt is None else {"reading": percentile_name(cluster.rtt.reading)}
