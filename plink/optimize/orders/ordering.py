"""Search for the rank order of a cluster that suits an algorithm."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.files.cluster import Cluster, measured_rtt, nothing_measured
from plink.files.hosts import Host
from plink.files.measurements import percentile_name, readings_at
from plink.files.order import CostRange, Order, Proof, Solver, TimeCost
from plink.files.order_basis import order_basis
from plink.model.distance import Distances, both_directions, distances, has_only_bandwidth
from plink.model.estimating import MOST_UNGROUPED
from plink.optimize.orders.domains import Domains, given_order
from plink.optimize.orders.latency import FoundOrder, LatencyObjective
from plink.optimize.orders.mesh import algorithm_asked, for_mesh
from plink.optimize.orders.random_orders import median_random_cost
from plink.optimize.orders.request import (
    AFTER_INTERRUPT_S,
    LEAST_RANDOM_S,
    RANDOM_ORDERS,
    RANDOM_SHARE,
    OnProgress,
    OrderRequest,
)
from plink.optimize.orders.slots import (
    build_peer_layout,
    layout_of,
    place_ranks,
    refuse_too_many,
    with_slots,
)
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.distances import check_distances
from plink.solvers.limits.deadline import Deadline
from plink.solvers.slots.layout import RankLayout

# The most that the shortest ways may take, where pairs were not measured.
_WAYS_SHARE = 0.1

# And in any case: few hosts take no longer.
_LEAST_WAYS_S = 0.05

# The share of the time limit for the check that the gain is not noise.
_CHECK_SHARE = 0.1

# Of that, the share for the order that the check is made with; and what making it ready takes, for
# each pair of hosts.
_FIND_SHARE = 0.8
_S_PER_PAIR = 1e-7

if TYPE_CHECKING:
    from plink.optimize.orders.contention import ContentionObjective

    Objective = LatencyObjective | ContentionObjective

DEFAULT_REQUEST = OrderRequest()


def find_order(
    cluster: Cluster,
    request: OrderRequest = DEFAULT_REQUEST,
    on_progress: OnProgress | None = None,
    *,
    deadline: Deadline | None = None,
) -> Order:
    """Return the cheapest order found for an algorithm, never dearer than the listed one.

    Where not all hosts are needed, which ones are is a part of the answer; the given order then is
    that of the first.

    An interrupt (Ctrl-C) ends the search with the best so far.

    Args:
        cluster: hosts and what was measured.
        request: which order, for whom, and how long to search.
        on_progress: called some twenty times a second.
        deadline: when to be done, but for an exact engine; None for the request's limit from now.

    Raises:
        WrongUseError: nothing was measured, there are not enough slots, or the algorithm does not
            take so many ranks.
    """
    start = time.monotonic()
    deadline = deadline or Deadline(request.time_limit_s)
    request = for_mesh(request)
    hosts = with_slots(cluster.hosts, request.slots)
    layout = layout_of(hosts, request.ranks)
    if len(hosts) == 1:
        return _of_one_host(replace(hosts[0], slots=layout.ranks), cluster, request)
    if _is_by_bandwidth(cluster, request.objective):
        # What not every order needs is imported for those that do, here and below: it takes longer
        # than an order of few hosts.
        from plink.optimize.orders.by_bandwidth import order_by_bandwidth  # noqa: PLC0415

        return order_by_bandwidth(
            cluster, hosts, layout, request, deadline, on_progress=on_progress
        )
    cluster = _at_percentile(cluster, request.percentile)
    if request.distances == "readings":
        cluster = replace(cluster, uses_readings=True)
    left_s = deadline.left_s
    known = distances(cluster)
    if len(hosts) <= MOST_UNGROUPED:
        # Groups that had to be looked for take no time from the search.
        deadline = Deadline(left_s)
    algorithm = algorithm_asked(request, layout)
    limits = known.limits_until(deadline.part(_WAYS_SHARE).at_least(_LEAST_WAYS_S))
    objective = _objective(cluster, request, algorithm, known, layout)
    objective = replace(objective, limits=limits)
    if request.prove_s > 0.0 and not isinstance(objective, LatencyObjective):
        raise WrongUseError(
            "an exact engine cannot prove a time under contention",
            f"leave out prove_s={request.prove_s:g}, or use objective=latency",
        )
    if request.is_interleaved:
        from plink.optimize.orders.interleave import check_size  # noqa: PLC0415

        check_size(layout)
    domains = Domains.of(hosts, request)
    random_s = RANDOM_SHARE * deadline.left_s
    answer = _search(
        cluster,
        request,
        algorithm,
        objective,
        layout,
        domains=domains,
        on_progress=on_progress,
        deadline=deadline.within(deadline.left_s - random_s),
    )
    best, placement = answer.found, answer.placement
    if best.ended_by == "interrupt":
        random_s = AFTER_INTERRUPT_S
    random_s = max(LEAST_RANDOM_S, min(random_s, deadline.left_s))
    random_us, random_orders = median_random_cost(
        objective.costs_us, len(hosts), request.seed, Deadline(random_s)
    )
    placed = place_ranks(hosts, placement)
    names = {host.name for host in placed.hosts}
    used = list(dict.fromkeys(placement))
    following = np.roll(used, -1)
    limits_us = objective.range_us(np.asarray(answer.peers, dtype=np.intp))
    return Order(
        algorithm=request.algorithm,
        hosts=placed.hosts,
        unused=placed.unused,
        host_of_rank=placed.host_of_rank,
        listed=cluster.names,
        filled_hops=np.flatnonzero(known.is_filled[used, following]).tolist(),
        cost=TimeCost(
            objective=objective.name,
            cost_us=best.cost_us,
            listed_us=objective.cost_us(given_order(domains, len(hosts))),
            random_us=float(random_us),
            hops_us=known.matrix_us[used, following].tolist(),
            lower_bound_us=best.lower_bound_us,
            range_us=None if limits_us is None else CostRange(*limits_us),
            size_bytes=objective.size_bytes,
        ),
        random_orders=random_orders,
        solver=Solver(
            name=best.solver,
            options={**_effort(request), **_reading(cluster)},
            seed=request.seed,
            steps=best.steps,
            ended_by=best.ended_by,
        ),
        seconds=time.monotonic() - start,
        filled_pairs=known.filled_pairs,
        unmeasured_hosts=[name for name in known.unmeasured_hosts if name in names],
        confirmed_gain=answer.confirmed_gain,
        proof=answer.proof,
        groups=tuple(cluster.groups),
        mesh=request.mesh,
        way=cluster.way,
        made_from=order_basis(cluster, objective.name),
    )


@dataclass(frozen=True)
class _SearchResult:
    """Result of a search for an order.

    Args:
        found: the order of hosts, or where ranks are apart, of their slots.
        placement: the host of every rank.
        peers: of every peer of the algorithm, which are ranks or hosts.
        confirmed_gain, proof: as an order has them.
    """

    found: FoundOrder
    placement: list[int]
    peers: Sequence[int]
    confirmed_gain: float | None
    proof: Proof | None


def _search(
    cluster: Cluster,
    request: OrderRequest,
    algorithm: Algorithm,
    objective: Objective,
    layout: RankLayout,
    *,
    domains: Domains | None,
    on_progress: OnProgress | None,
    deadline: Deadline,
) -> _SearchResult:
    """Run the search and its follow-ups: exact engine, interleaving, check of the gain."""
    search = deadline.part(1.0 - _CHECK_SHARE)
    # Where an algorithm's peers are hosts, its ranks are adjacent.
    is_interleaved = request.is_interleaved and objective.layout is layout
    searched = objective if domains is None else domains.search(objective)
    if request.executor is not None:
        from plink.optimize.orders.restarts import by_restarts  # noqa: PLC0415

        left_s = deadline.left_s
        best = by_restarts(searched, request)
        # Restarts have as many steps as they were given, whatever time that takes.
        deadline = Deadline(left_s)
    else:
        best = searched.solve(
            given_order(domains, layout.hosts),
            seed=request.seed,
            deadline=search.part(0.5) if is_interleaved else search,
            on_progress=on_progress,
        )
    if domains is not None:
        best = domains.settle(best, objective)
    confirmed, proof = None, None
    placement: list[int] = layout.placement(best.order).tolist()
    rest = deadline
    if best.ended_by != "interrupt":
        try:
            if isinstance(objective, LatencyObjective) and request.prove_s > 0.0:
                left_s = deadline.left_s
                best, proof = objective.prove(best, request.prove_s, request.engine)
                # An engine has its own time.
                rest = Deadline(left_s)
                placement = layout.placement(best.order).tolist()
            if is_interleaved:
                from plink.optimize.orders.interleave import apart  # noqa: PLC0415

                best, placement = apart(objective, best, seed=request.seed, deadline=rest)
            else:
                confirmed = _confirmed_gain(cluster, algorithm, objective, request, rest)
        except KeyboardInterrupt:
            best = replace(best, ended_by="interrupt")
    peers = placement if is_interleaved else objective.layout.placement(best.order).tolist()
    return _SearchResult(best, placement, peers, confirmed, proof)


def _objective(
    cluster: Cluster,
    request: OrderRequest,
    algorithm: Algorithm,
    known: Distances,
    layout: RankLayout,
) -> Objective:
    peers = build_peer_layout(algorithm, layout)
    name = request.objective or ("contention" if cluster.uplinks is not None else "latency")
    refuse_too_many(algorithm, peers.ranks, by_table=name == "contention")
    form = algorithm.form(peers.ranks)
    # Looked at once, here: all searches get the same.
    matrix_us = check_distances(known.matrix_us, len(known.matrix_us))
    by_latency = LatencyObjective(form, matrix_us, peers, request.threads)
    if name == "latency":
        return by_latency
    from plink.model.network import build_network  # noqa: PLC0415  as above
    from plink.optimize.orders.contention import ContentionObjective  # noqa: PLC0415

    return ContentionObjective(
        algorithm.table(peers.ranks, request.size_bytes),
        build_network(cluster, found=known).network,
        peers,
        by_latency,
        request.size_bytes,
    )


def _confirmed_gain(
    cluster: Cluster,
    algorithm: Algorithm,
    objective: Objective,
    request: OrderRequest,
    deadline: Deadline,
) -> float | None:
    """Return the gain of an order from one direction's readings on the other's, if known."""
    if deadline.is_over or deadline.left_s < _S_PER_PAIR * len(cluster.hosts) ** 2:
        return None
    readings = both_directions(cluster) if objective.name == "latency" else None
    if readings is None:
        return None
    peers = objective.layout
    form = algorithm.form(peers.ranks)
    first = LatencyObjective(form, next(readings), peers, request.threads)
    found = first.solve(range(peers.hosts), seed=request.seed, deadline=deadline.part(_FIND_SHARE))
    if found.ended_by == "interrupt":
        raise KeyboardInterrupt
    second = LatencyObjective(form, next(readings), peers, request.threads)
    random_us, _ = median_random_cost(second.costs_us, peers.hosts, request.seed, deadline)
    return 1.0 - second.cost_us(found.order) / float(random_us) if random_us else None


def _of_one_host(host: Host, cluster: Cluster, request: OrderRequest) -> Order:
    return Order(
        algorithm=request.algorithm,
        hosts=[host],
        listed=cluster.names,
        cost=TimeCost("latency", cost_us=0.0, listed_us=0.0, random_us=0.0, hops_us=[0.0]),
        random_orders=RANDOM_ORDERS,
        solver=Solver("none", {"time_limit_s": request.time_limit_s}, request.seed, 0, "exact"),
        seconds=0.0,
        groups=tuple(cluster.groups),
        mesh=request.mesh,
        way=cluster.way,
        made_from=order_basis(cluster, "latency"),
    )


def _is_by_bandwidth(cluster: Cluster, objective: str | None) -> bool:
    """Return whether to order by bandwidth: as requested, or as the only known quantity."""
    return has_only_bandwidth(cluster) if objective is None else objective == "bandwidth"


def _at_percentile(cluster: Cluster, percentile: float | None) -> Cluster:
    """Return the cluster with that percentile of round-trip times standing for a pair."""
    rtt = measured_rtt(cluster)
    chosen, readings_us = readings_at(rtt, percentile, cluster.source)
    if not any(np.isfinite(row).any() for row in readings_us):
        raise nothing_measured(cluster)
    if chosen == rtt.reading:
        return cluster
    # Halves are known of one percentile only.
    return replace(cluster, rtt=replace(rtt, reading=chosen, passes=None, halves_us=None))


def _effort(request: OrderRequest) -> dict[str, float]:
    """Return how long, or how many steps, the search ran."""
    if request.executor is None:
        return {"time_limit_s": request.time_limit_s}
    return {"restarts": request.restarts, "steps": request.steps}


def _reading(cluster: Cluster) -> dict[str, str]:
    """Return the percentile that stood for a pair, and whether readings were used unsmoothed."""
    if cluster.rtt is None:
        return {}
    as_they_are = {"distances": "readings"} if cluster.uses_readings else {}
    return {"reading": percentile_name(cluster.rtt.reading), **as_they_are}
