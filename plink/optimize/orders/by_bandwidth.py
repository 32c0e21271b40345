"""Search for orders by bandwidth: fastest bottleneck first, then least summed time of a Gbit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.limits import MAX_GBIT_S
from plink.formats.matrices import Matrix
from plink.formats.order import BandwidthCost, Order, Solver
from plink.model.distance import filled_bandwidth_distances
from plink.optimize.orders.domains import Domains, join_domains
from plink.optimize.orders.mesh import choose_algorithm
from plink.optimize.orders.request import RANDOM_SHARE, OrderRequest, random_deadline
from plink.optimize.orders.slots import build_peer_layout, compose_order, refuse_too_many
from plink.solvers.bottleneck.bottleneck_search import search_by_bottleneck
from plink.solvers.bottleneck.bound import ExchangingPairs
from plink.solvers.collectives.form import Form, RingForm
from plink.solvers.limits import Deadline
from plink.solvers.search import (
    OnProgress,
    Orders,
    SearchOptions,
    median_random_cost,
    scale_progress,
)
from plink.solvers.slots.layout import RankLayout, cost_with_slots, prices_with_slots

NAME = "bandwidth"

# Rounds and trees use so many pairs that their bottleneck is the noise of the slowest links: the
# last percents of it would cost the sum more than they are worth. A ring has room for both.
_SLACK = 0.1

_US_PER_S = 1e6


def order_by_bandwidth(
    cluster: Cluster,
    hosts: Sequence[Host],
    layout: RankLayout,
    request: OrderRequest,
    deadline: Deadline,
    *,
    on_progress: OnProgress | None = None,
) -> Order:
    """Search for the order whose slowest pair of hosts is fastest, and of such for least time.

    Args:
        cluster: bandwidths between hosts.
        hosts: the cluster's, with the slots that count.
        layout: how the ranks lie on them.
        request: for which algorithm.
        deadline: when to be done.
        on_progress: told of the time in µs that a Gbit takes over the slowest pair.

    Raises:
        WrongUseError: no bandwidth was measured, the algorithm does not take so many ranks, or
            something is asked for that goes with other objectives.
    """
    start = time.monotonic()
    _refuse(request)
    found = filled_bandwidth_distances(cluster)
    algorithm = choose_algorithm(request, layout)
    peers = build_peer_layout(algorithm, layout)
    refuse_too_many(algorithm, peers.ranks, by_table=False)
    form = algorithm.form(peers.ranks)
    domains = Domains.of(hosts, request)
    given = join_domains(domains, len(hosts))
    best = search_by_bottleneck(
        form,
        found.s_per_gbit,
        peers,
        given,
        SearchOptions(
            deadline.part(1.0 - RANDOM_SHARE),
            request.seed,
            request.threads,
            on_progress=scale_progress(on_progress, _US_PER_S),
        ),
        is_guess=found.is_filled,
        slack=0.0 if isinstance(form, RingForm) else _SLACK,
    )
    if domains is not None:
        joined = [
            replace(
                best,
                order=order,
                farthest=ExchangingPairs(form, peers).farthest(found.s_per_gbit, order),
                cost=cost_with_slots(form, found.s_per_gbit, peers, order),
                lower_bound=0.0,
                ended_by="interrupt" if best.is_interrupted else "time",
            )
            for order in (domains.join(best.order), given)
        ]
        best = min(joined, key=lambda each: (each.farthest, each.cost))
    placement = layout.placement(best.order).tolist()
    used = list(dict.fromkeys(placement))
    figures = _build_pricing(found.s_per_gbit, form, peers)
    random_until = random_deadline(deadline.left_s, best)
    (random_farthest, random_sum), random_orders = median_random_cost(
        figures, len(hosts), request.seed, random_until
    )
    listed_farthest, listed_sum = figures(np.array([given]), random_until)[0]
    hops_s = found.s_per_gbit[used, np.roll(used, -1)].tolist()
    return compose_order(
        cluster,
        hosts,
        request,
        placement,
        found,
        began_s=start,
        objective=NAME,
        cost=BandwidthCost(
            hops_gbit_s=[_gbit_s(hop) for hop in hops_s],
            bottleneck_gbit_s=_gbit_s(best.farthest),
            listed_gbit_s=_gbit_s(float(listed_farthest)),
            random_gbit_s=_gbit_s(float(random_farthest)),
            bound_gbit_s=_gbit_s(best.farthest_bound) if best.farthest_bound else None,
            sum_s_per_gbit=best.cost,
            listed_s_per_gbit=float(listed_sum),
            random_s_per_gbit=float(random_sum),
            bound_s_per_gbit=best.lower_bound or None,
        ),
        random_orders=random_orders,
        solver=Solver(
            best.solver,
            {"time_limit_s": request.time_limit_s},
            request.seed,
            best.steps,
            best.ended_by,
        ),
    )


def _build_pricing(
    matrix: Matrix, form: Form, peers: RankLayout
) -> Callable[[Orders, Deadline], Matrix]:
    """Return a function from orders to seconds a Gbit, (K, 2): over the slowest pair, and summed.

    K is as many orders as the deadline allows, at least 1.
    """
    used, prices = ExchangingPairs(form, peers), prices_with_slots(form, matrix, peers)

    def figures(orders: Orders, until: Deadline) -> Matrix:
        sums = prices.price_first(orders, until, least=1)
        farthest = [used.farthest(matrix, orders[0])]
        for order in orders[1 : len(sums)]:
            if until.is_over:
                break
            farthest.append(used.farthest(matrix, order))
        return np.stack([farthest, sums[: len(farthest)]], axis=1)

    return figures


def _refuse(request: OrderRequest) -> None:
    """Raise WrongUseError if the request has an option that orders by bandwidth do not take."""
    other = "takes {objective=latency} or {objective=contention}"
    for is_given, message, hint in (
        (
            request.percentile is not None,
            "{percentile=} applies to round-trip times, but this order is by bandwidth",
            "leave it out, or name another objective",
        ),
        (
            request.prove_s > 0.0,
            "an exact engine cannot prove an order by bandwidth",
            "its search proves a bound by itself; {prove_s=} takes {objective=latency}",
        ),
        (
            request.executor is not None,
            "{executor=} needs a search limited by steps, but that by bandwidth is limited by time",
            f"{{executor=}} {other}",
        ),
        (
            request.interleave,
            "an order by bandwidth keeps the ranks of a host adjacent",
            f"{{interleave=}} {other}",
        ),
    ):
        if is_given:
            raise WrongUseError(message, hint, arguments=vars(request))


def _gbit_s(s_per_gbit: float) -> float:
    """Return the bandwidth between two hosts in Gbit/s; practically unlimited within a host."""
    return min(MAX_GBIT_S, 1.0 / s_per_gbit) if s_per_gbit else MAX_GBIT_S
