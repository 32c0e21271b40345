"""Search for the rank order of a cluster's hosts that makes an algorithm cheapest."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.formats.cluster import Cluster, build_not_measured_error, require_rtt
from plink.formats.hosts import Host
from plink.formats.measurements import percentile_name, readings_at
from plink.formats.order import CostRange, Order, Proof, Solver, TimeCost
from plink.formats.order_basis import order_basis
from plink.model.distance import Distances, distances, has_only_bandwidth, split_directions
from plink.model.estimating import MOST_UNGROUPED
from plink.optimize.orders.domains import Domains, join_domains
from plink.optimize.orders.latency import LatencyObjective
from plink.optimize.orders.mesh import apply_mesh, choose_algorithm
from plink.optimize.orders.request import RANDOM_SHARE, OrderRequest, random_deadline
from plink.optimize.orders.slots import (
    build_layout,
    build_peer_layout,
    compose_order,
    refuse_too_many,
    with_slots,
)
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.distances import check_distances
from plink.solvers.limits import Deadline
from plink.solvers.search import (
    RANDOM_ORDERS,
    OnProgress,
    SearchOptions,
    Solution,
    median_random_cost,
)
from plink.solvers.slots.layout import RankLayout

with lazy_imports():
    # What not every order needs: it takes longer to import than an order of few hosts.
    from plink.model import network
    from plink.optimize.orders import by_bandwidth, contention, interleave, restarts

if TYPE_CHECKING:
    from plink.model.network import KnownNetwork
    from plink.optimize.orders.contention import ContentionObjective

    Objective = LatencyObjective | ContentionObjective

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

DEFAULT_REQUEST = OrderRequest()


def find_order(
    cluster: Cluster,
    request: OrderRequest = DEFAULT_REQUEST,
    on_progress: OnProgress | None = None,
    *,
    deadline: Deadline | None = None,
) -> Order:
    """Search for the cheapest order for an algorithm, never dearer than the cluster file's.

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
    began_s = time.monotonic()
    deadline = deadline or Deadline(request.time_limit_s)
    request = apply_mesh(request)
    hosts = with_slots(cluster.hosts, request.slots)
    layout = build_layout(hosts, request.ranks)
    if len(hosts) == 1:
        return _order_one_host(replace(hosts[0], slots=layout.ranks), cluster, request)
    # As requested, or as the only known quantity.
    if request.objective == "bandwidth" or (
        request.objective is None and has_only_bandwidth(cluster)
    ):
        return by_bandwidth.order_by_bandwidth(
            cluster, hosts, layout, request, deadline, on_progress=on_progress
        )
    problem, deadline = _state_problem(cluster, hosts, layout, request, deadline)
    search_limit_s = (1.0 - RANDOM_SHARE) * deadline.left_s
    answer = _search(problem, request, on_progress, deadline.within(search_limit_s))
    random_until = random_deadline(deadline.left_s, answer.best)
    random_us, random_orders = median_random_cost(
        problem.objective.costs_us, len(hosts), request.seed, random_until
    )
    used = list(dict.fromkeys(answer.placement))
    return compose_order(
        problem.cluster,
        hosts,
        request,
        answer.placement,
        problem.known,
        began_s=began_s,
        objective=problem.objective.name,
        cost=_describe_cost(problem, answer, float(random_us)),
        random_orders=random_orders,
        solver=_describe_solver(problem.cluster, request, answer.best),
        filled_hops=np.flatnonzero(problem.known.is_filled[used, np.roll(used, -1)]).tolist(),
        confirmed_gain=answer.confirmed_gain,
        proof=answer.proof,
    )


@dataclass(frozen=True)
class _OrderProblem:
    """Input of the search for an order: cluster, layout of ranks, algorithm and objective.

    Args:
        cluster: with the readings that count.
        hosts: its hosts, with the slots that count.
        layout: how the ranks lie on them.
        algorithm: what the order is for.
        known: distances of the hosts.
        objective: what is minimised, over the algorithm's peers: ranks or hosts.
        domains: NVLink domains that stay together, if there are any.
    """

    cluster: Cluster
    hosts: Sequence[Host]
    layout: RankLayout
    algorithm: Algorithm
    known: Distances
    objective: Objective
    domains: Domains | None

    @property
    def given(self) -> list[int]:
        """Order in which the cluster file lists the hosts, each NVLink domain's made adjacent."""
        return join_domains(self.domains, len(self.hosts))


@dataclass(frozen=True)
class _Answer:
    """Result of an order search: the host of each rank, with its cost and proof.

    Args:
        best: the order of hosts, or where ranks are apart, of their slots.
        placement: the host of every rank.
        peers: the host of every peer of the algorithm, which are ranks or hosts.
        confirmed_gain, proof: as an order has them.
    """

    best: Solution
    placement: list[int]
    peers: Sequence[int]
    confirmed_gain: float | None = None
    proof: Proof | None = None


def _state_problem(
    cluster: Cluster,
    hosts: Sequence[Host],
    layout: RankLayout,
    request: OrderRequest,
    deadline: Deadline,
) -> tuple[_OrderProblem, Deadline]:
    """Build the search problem that a request states; return it with the search's deadline.

    Raises:
        WrongUseError: the request asks for what does not go together.
    """
    cluster = _at_percentile(cluster, request.percentile)
    if request.distances == "readings":
        cluster = replace(cluster, uses_readings=True)
    left_s = deadline.left_s
    known = distances(cluster)
    if len(hosts) <= MOST_UNGROUPED:
        # Groups that had to be looked for take no time from the search.
        deadline = Deadline(left_s)
    algorithm = choose_algorithm(request, layout)
    limits = known.limits_until(deadline.part(_WAYS_SHARE).at_least(_LEAST_WAYS_S))
    objective = replace(_objective(cluster, request, algorithm, known, layout), limits=limits)
    if request.interleave:
        interleave.check_size(layout)
    domains = Domains.of(hosts, request)
    return _OrderProblem(cluster, hosts, layout, algorithm, known, objective, domains), deadline


def _find_links(cluster: Cluster, request: OrderRequest, known: Distances) -> KnownNetwork | None:
    """Return the network whose links an order's time is predicted with; None for latencies.

    Raises:
        WrongUseError: predicted times are to be proven.
        NotMeasuredError: predicted times are asked for, and no rate of a link is known.
    """
    if request.objective == "latency" or (request.objective is None and cluster.uplinks is None):
        return None
    links = network.build_network(cluster, found=known)
    if request.objective is None and not links.has_rates:
        return None
    if request.prove_s > 0.0:
        raise WrongUseError(
            "an exact engine cannot prove that a time under contention is the least",
            "leave out {prove_s=}, or use {objective=latency}",
            arguments=vars(request),
        )
    if not links.has_rates:
        raise build_not_measured_error(cluster, "rates")
    return links


def _objective(
    cluster: Cluster,
    request: OrderRequest,
    algorithm: Algorithm,
    known: Distances,
    layout: RankLayout,
) -> Objective:
    peers = build_peer_layout(algorithm, layout)
    links = _find_links(cluster, request, known)
    refuse_too_many(algorithm, peers.ranks, by_table=links is not None)
    form = algorithm.form(peers.ranks)
    # Looked at once, here: all searches get the same.
    matrix_us = check_distances(known.matrix_us, len(known.matrix_us))
    by_latency = LatencyObjective(form, matrix_us, peers, request.threads)
    if links is None:
        return by_latency
    return contention.ContentionObjective(
        algorithm.table(peers.ranks, request.size_bytes),
        links.network,
        peers,
        by_latency,
        request.size_bytes,
    )


def _search(
    problem: _OrderProblem,
    request: OrderRequest,
    on_progress: OnProgress | None,
    deadline: Deadline,
) -> _Answer:
    """Search for an order; as requested, prove it, interleave ranks, and confirm its gain."""
    objective, domains = problem.objective, problem.domains
    search = deadline.part(1.0 - _CHECK_SHARE)
    # Where an algorithm's peers are hosts, its ranks are adjacent.
    is_interleaved = request.interleave and objective.layout is problem.layout
    searched = objective if domains is None else domains.penalize_crossings(objective)
    if request.executor is not None:
        left_s = deadline.left_s
        best = restarts.search_in_restarts(searched, request)
        # Restarts have as many steps as they were given, whatever time that takes.
        deadline = Deadline(left_s)
    else:
        until = search.part(0.5) if is_interleaved else search
        options = SearchOptions(until, request.seed, on_progress=on_progress)
        best = searched.solve(problem.given, options)
    if domains is not None:
        best = domains.settle(best, objective)
    confirmed, proof, placement = None, None, None
    if not best.is_interrupted:
        try:
            if isinstance(objective, LatencyObjective) and request.prove_s > 0.0:
                left_s = deadline.left_s
                best, proof = objective.prove(best, request.prove_s, request.engine)
                # An engine has its own time.
                deadline = Deadline(left_s)
            if is_interleaved:
                best, placement = interleave.search_interleaved(
                    objective, best, seed=request.seed, deadline=deadline
                )
            else:
                confirmed = _confirmed_gain(problem, request, deadline)
        except KeyboardInterrupt:
            best = replace(best, ended_by="interrupt")
    if placement is None:
        placement = problem.layout.placement(best.order).tolist()
    peers = placement if is_interleaved else objective.layout.placement(best.order).tolist()
    return _Answer(best, placement, peers, confirmed, proof)


def _confirmed_gain(
    problem: _OrderProblem, request: OrderRequest, deadline: Deadline
) -> float | None:
    """Return the share that an order found on one direction's readings saves on the other's.

    None where there is no second direction, or no time is left.
    """
    objective, cluster = problem.objective, problem.cluster
    if deadline.is_over or deadline.left_s < _S_PER_PAIR * len(cluster.hosts) ** 2:
        return None
    readings = split_directions(cluster) if objective.name == "latency" else None
    if readings is None:
        return None
    peers = objective.layout
    form = problem.algorithm.form(peers.ranks)
    first = LatencyObjective(form, next(readings), peers, request.threads)
    options = SearchOptions(deadline.part(_FIND_SHARE), request.seed)
    found = first.solve(range(peers.hosts), options)
    if found.is_interrupted:
        raise KeyboardInterrupt
    second = LatencyObjective(form, next(readings), peers, request.threads)
    random_us, _ = median_random_cost(second.costs_us, peers.hosts, request.seed, deadline)
    return 1.0 - second.cost_us(found.order) / float(random_us) if random_us else None


def _describe_cost(problem: _OrderProblem, answer: _Answer, random_us: float) -> TimeCost:
    objective, best = problem.objective, answer.best
    limits_us = objective.range_us(np.asarray(answer.peers, dtype=np.intp))
    used = list(dict.fromkeys(answer.placement))
    return TimeCost(
        objective=objective.name,
        cost_us=best.cost,
        listed_us=objective.cost_us(problem.given),
        random_us=random_us,
        hops_us=problem.known.matrix_us[used, np.roll(used, -1)].tolist(),
        lower_bound_us=best.lower_bound,
        range_us=None if limits_us is None else CostRange(*limits_us),
        size_bytes=objective.size_bytes,
    )


def _describe_solver(cluster: Cluster, request: OrderRequest, best: Solution) -> Solver:
    """Return the record of the solver: its name, options and seed to repeat the search."""
    options: dict[str, float | str] = {"time_limit_s": request.time_limit_s}
    if request.executor is not None:
        options = {"restarts": request.restarts, "steps": request.steps}
    if cluster.rtt is not None:
        options["reading"] = percentile_name(cluster.rtt.reading)
        if cluster.uses_readings:
            options["distances"] = "readings"
    return Solver(best.solver, options, request.seed, best.steps, best.ended_by)


def _order_one_host(host: Host, cluster: Cluster, request: OrderRequest) -> Order:
    return Order(
        algorithm=request.algorithm,
        hosts=[host],
        listed=cluster.names,
        cost=TimeCost("latency", cost_us=0.0, listed_us=0.0, random_us=0.0, hops_us=[0.0]),
        random_orders=RANDOM_ORDERS,
        solver=Solver("none", {"time_limit_s": request.time_limit_s}, request.seed, 0, "exact"),
        seconds=0.0,
        groups=tuple(cluster.groups),
        mesh=request.device_mesh,
        way=cluster.way,
        made_from=order_basis(cluster, "latency"),
    )


def _at_percentile(cluster: Cluster, percentile: float | None) -> Cluster:
    """Return the cluster with the given percentile of round-trip times as its readings."""
    rtt = require_rtt(cluster)
    chosen, readings_us = readings_at(rtt, percentile, cluster.source)
    if not any(np.isfinite(row).any() for row in readings_us):
        raise build_not_measured_error(cluster, "rtt")
    if chosen == rtt.reading:
        return cluster
    # Halves are known of one percentile only.
    return replace(cluster, rtt=replace(rtt, reading=chosen, passes=None, halves_us=None))
