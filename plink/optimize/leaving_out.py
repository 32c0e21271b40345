"""Prediction of what a job gains without the outlying hosts, with the same algorithm.

The order stays as it is but for the hosts that are left out, whose ranks are gone: the job has so
many fewer. A better order of the rest may gain more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from plink.base.lazy import lazy_imports
from plink.base.size import DEFAULT_SIZE_BYTES
from plink.formats.cluster import Cluster
from plink.formats.limits import Amount, Positive
from plink.formats.order import Order
from plink.formats.structs import Output
from plink.model.outliers import Outlier, group_by_host, outliers
from plink.optimize.orders.slots import index_placement, recover_slots
from plink.solvers.collectives.registry import ALGORITHMS

with lazy_imports():
    # Orders of which no host stands out do without, and start sooner.
    from plink.model import network
    from plink.optimize import prediction

# What is looked at takes hundredths of a second: so many hosts, and messages of the algorithm.
_MOST_HOSTS = 2048
_MOST_MESSAGES = 1 << 20

# A gain below this share is not worth a host.
_LEAST_GAIN = 0.05


class LeavingOutCosts(Output, frozen=True):
    """Predicted costs of an order with all hosts, and with some of them left out.

    Attributes:
        hosts: names of the hosts that are left out
        ranks: number of ranks that are left
        is_time: whether the costs are predicted times; else sums of latencies
        with_us: cost of the order with the hosts, in µs
        without_us: cost without them, in µs; null if the algorithm does not take so many ranks
        size_bytes: size of the buffer, in bytes
        slots: slots of every host, if others than the cluster's
    """

    COMPUTED: ClassVar = ("gain",)

    hosts: Sequence[str]
    ranks: Positive
    is_time: bool
    with_us: Amount
    without_us: Amount | None
    size_bytes: Positive
    slots: Positive | None = None

    @property
    def gain(self) -> Annotated[float, Meta(le=1)]:
        """Share of the cost that leaving hosts out saves; 0 if unknown, negative if it grows."""
        if self.without_us is None or not self.with_us:
            return 0.0
        return 1.0 - self.without_us / self.with_us

    @property
    def is_worth_it(self) -> bool:
        """Whether the gain of leaving hosts out is large enough to recommend it."""
        return self.gain >= _LEAST_GAIN


class Limiting(Output, frozen=True):
    """Outlying hosts of an order, with the predicted costs with and without them.

    Attributes:
        outliers: hosts with a rank that stand out
        leaving_out: costs with and without all of them; null if not predicted
    """

    outliers: Sequence[Outlier]
    leaving_out: LeavingOutCosts | None


def find_limiting(cluster: Cluster, order: Order) -> Limiting:
    """Find the outlying hosts of an order, and predict its cost without them.

    Where there are more than 2,048 hosts nothing is said: that would take longer than the limit of
    an order's time leaves. What orders of meshes would gain is not predicted.
    """
    if len(cluster.hosts) > _MOST_HOSTS:
        return Limiting((), None)
    used = set(order.names)
    found = [each for each in outliers(cluster) if each.host in used]
    hosts = list(group_by_host(found))
    return Limiting(found, _compare_leaving_out(cluster, order, hosts) if found else None)


def _compare_leaving_out(
    cluster: Cluster, order: Order, hosts: list[str]
) -> LeavingOutCosts | None:
    """Predict the cost of an order with all hosts, and without some; None if it cannot be told.

    By time where anything is known of what links carry, whatever the order minimised: a sum of
    latencies does not know how slow a link is.

    Returns:
        None where it is a mesh's, has too many messages to be predicted at once, or nothing would
        be left.
    """
    algorithm = ALGORITHMS.get(order.algorithm)
    if algorithm is None:
        return None
    placement = index_placement(cluster, order, "the order")
    places = {name: place for place, name in enumerate(cluster.names)}
    out = {places[name] for name in hosts}
    rest = [host for host in placement if host not in out]
    if len(set(rest)) < 2 or algorithm.messages(len(placement)) > _MOST_MESSAGES:
        return None
    size_bytes = order.cost.size_bytes or DEFAULT_SIZE_BYTES
    built = network.build_network(cluster)
    distances = prediction.known_distances(cluster)
    costs: list[float | None] = []
    for each in (placement, rest):
        ranks = len(set(each)) if algorithm.is_over_hosts else len(each)
        if algorithm.refusal(ranks) is not None:
            costs.append(None)
            continue
        predictor = prediction.Predictor(
            algorithm, ranks, size_bytes, distances=distances, network=built
        )
        cost = predictor.cost(each)
        costs.append(cost.latency_us if cost.time_s is None else cost.time_s * 1e6)
    with_us, without_us = costs
    if with_us is None:
        return None
    slots = _find_changed_slots(cluster, order)
    return LeavingOutCosts(
        hosts, len(rest), built.has_rates, with_us, without_us, size_bytes, slots
    )


def _find_changed_slots(cluster: Cluster, order: Order) -> int | None:
    slots = recover_slots(order, cluster.hosts)
    pairs = [(had, host.slots) for had, host in zip(slots, cluster.hosts, strict=True)]
    # One host may have fewer ranks than slots, as the last one to be filled.
    is_other = any(had > own for had, own in pairs) or sum(had != own for had, own in pairs) > 1
    return max(slots) if is_other else None
