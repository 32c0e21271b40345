"""Orders by bandwidth: the least that the algorithm uses first, then what a Gbit takes in all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plink.base.errors import WrongUseError
from plink.files.bandwidth import MAX_GBIT_S
from plink.files.cluster import Cluster, Host
from plink.files.measurement import Matrix
from plink.files.order import Order, Solver
from plink.files.order_bandwidth import OrderBandwidth
from plink.model.bandwidth_distance import filled_bandwidth_distances, has_only_bandwidth
from plink.optimize.orders.algorithms import algorithm_for
from plink.optimize.orders.slots import modelled, placed_on
from solvers.bottleneck.bottleneck_search import BottleneckSolution, search_by_bottleneck
from solvers.bottleneck.used import Used
from solvers.collectives.form import Form, RingForm
from solvers.orders.solution import Progress
from solvers.slots.layout import RankLayout
from solvers.slots.slot_search import cost_with_slots

NAME = "bandwidth"
_SOLVER = "threshold"

# Rounds and trees use so many pairs that their bottleneck is the noise of the slowest links: the
# last percents of it would cost the sum more than they are worth. A ring has room for both.
_SLACK = 0.1

_US_PER_S = 1e6


@dataclass(frozen=True)
class BandwidthTask:
    """What an order by bandwidth is asked for; members as `ordering.OrderRequest` has them.

    Args:
        hosts: the cluster's, with the slots that count.
        filling: how the ranks fill them.
        random_orders: how many stand beside the order.
    """

    algorithm: str
    hosts: Sequence[Host]
    filling: RankLayout
    seed: int
    time_limit_s: float
    threads: int
    random_orders: int


def is_by_bandwidth(cluster: Cluster, objective: str | None) -> bool:
    """Whether an order goes by bandwidth: where that is asked for, or there is nothing else."""
    return has_only_bandwidth(cluster) if objective is None else objective == NAME


def refuse_options(*, prove_s: float, is_interleaved: bool) -> None:
    """Refuse what is for other objectives.

    Raises:
        WrongUseError: an exact engine or ranks apart are asked for.
    """
    if prove_s > 0.0:
        raise WrongUseError(
            "no exact engine proves an order by bandwidth",
            "its search proves a bound by itself; --prove takes --objective latency",
        )
    if is_interleaved:
        raise WrongUseError(
            "ranks of a host stay together in an order by bandwidth",
            "--interleave takes --objective latency or contention",
        )


def order_by_bandwidth(
    cluster: Cluster,
    task: BandwidthTask,
    on_progress: Callable[[Progress], None] | None = None,
) -> Order:
    """The hosts in an order whose slowest used pair is as fast as can be, then all used pairs.

    Args:
        cluster: hosts and bandwidths between them.
        task: what is wanted.
        on_progress: told of the time in µs that a Gbit takes over the slowest pair.

    Raises:
        WrongUseError: no bandwidth was measured, or the algorithm does not take so many ranks.
    """
    start = time.monotonic()
    found = filled_bandwidth_distances(cluster)
    algorithm = algorithm_for(task.algorithm, task.filling)
    peers = modelled(algorithm, task.filling)
    form = algorithm.form(peers.ranks)
    given = list(range(len(task.hosts)))
    best = search_by_bottleneck(
        form,
        found.s_per_gbit,
        peers,
        given,
        is_guess=found.is_filled,
        slack=0.0 if isinstance(form, RingForm) else _SLACK,
        seed=task.seed,
        time_limit_s=task.time_limit_s,
        threads=task.threads,
        on_progress=None if on_progress is None else _in_us(on_progress),
    )
    placement = task.filling.placement(best.order).tolist()
    placed = placed_on(task.hosts, placement)
    used = list(dict.fromkeys(placement))
    bandwidth = OrderBandwidth(
        hops_gbit_s=[_gbit_s(hop) for hop in found.s_per_gbit[used, np.roll(used, -1)].tolist()],
        **_figures(found.s_per_gbit, form, peers, best, task),
    )
    names = {host.name for host in placed.hosts}
    return Order(
        algorithm=task.algorithm,
        objective=NAME,
        hosts=placed.hosts,
        unused=placed.unused,
        host_of_rank=placed.host_of_rank,
        given=cluster.names,
        random_orders=task.random_orders,
        solver=Solver(
            _SOLVER, {"time_limit_s": task.time_limit_s}, task.seed, best.steps, best.ended_by
        ),
        seconds=time.monotonic() - start,
        filled_pairs=found.filled_pairs,
        unmeasured_hosts=[name for name in found.unmeasured_hosts if name in names],
        made_from=cluster.file_hash,
        groups=tuple(cluster.groups),
        bandwidth=bandwidth,
        **bandwidth.times(),
    )


def _figures(
    matrix: Matrix, form: Form, peers: RankLayout, best: BottleneckSolution, task: BandwidthTask
) -> dict[str, Any]:
    """Bottleneck and sum of the best order, and of others, as `OrderBandwidth` names them."""
    used = Used(form, peers)

    def figures(order: Sequence[int]) -> tuple[float, float]:
        return used.farthest(matrix, order), cost_with_slots(form, matrix, peers, order)

    rng = np.random.default_rng([task.seed, task.random_orders])
    orders = (rng.permutation(len(matrix)).tolist() for _ in range(task.random_orders))
    random_farthest, random_sum = np.median([figures(order) for order in orders], axis=0)
    given_farthest, given_sum = figures(range(len(matrix)))
    return {
        "bottleneck_gbit_s": _gbit_s(best.farthest),
        "bottleneck_given_gbit_s": _gbit_s(given_farthest),
        "bottleneck_random_gbit_s": _gbit_s(float(random_farthest)),
        "bottleneck_bound_gbit_s": _gbit_s(best.farthest_bound) if best.farthest_bound else None,
        "sum_s_per_gbit": best.cost,
        "sum_given_s_per_gbit": given_sum,
        "sum_random_s_per_gbit": float(random_sum),
        "sum_bound_s_per_gbit": best.cost_bound or None,
    }


def _gbit_s(s_per_gbit: float) -> float:
    """A bandwidth; that within a host is as good as without limit."""
    return min(MAX_GBIT_S, 1.0 / s_per_gbit) if s_per_gbit else MAX_GBIT_S


def _in_us(on_progress: Callable[[Progress], None]) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        cost_us, bound_us = progress.cost * _US_PER_S, progress.lower_bound * _US_PER_S
        on_progress(Progress(progress.seconds, cost_us, bound_us))

    return tell
