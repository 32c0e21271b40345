"""Facts about an order of ranks: its costs beside others, its bound and its quality."""

from __future__ import annotations

from plink.base.size import format_size
from plink.base.text import format_count, range_text, rtt_text, share_text
from plink.formats.order import BandwidthCost, Order
from plink.optimize.orders.quality import confirmation
from plink.show.tables import Fact, join_some
from plink.solvers.search import RANDOM_ORDERS

GIVEN, RANDOM, OURS, BOUND = "given order", "random (median)", "plink's order", "lower bound"

_SHOWN_HOSTS = 64
# Ends of a search that found the best order of the distances it was given.
_OPTIMAL = ("exact", "bound")
# Bandwidths this near to each other are equal.
_EQUAL = 1e-6


def purpose_text(order: Order) -> str:
    """Return the name of the algorithm or mesh that an order is for."""
    return order.algorithm if order.mesh is None else f"{order.algorithm} {order.mesh.text}"


def share_of_random(order: Order) -> str:
    """Return an order's cost as a share of a random order's, in words."""
    measure = "latency score" if order.is_score else "predicted cost"
    return f"{share_text(order.cost.cost_us / order.cost.random_us)} of a random order's {measure}"


def hosts_text(order: Order) -> str:
    """Format the numbers of hosts and ranks of an order, and of hosts left out."""
    hosts = len(order.hosts)
    text = format_count(hosts, "host")
    if order.unused:
        text = f"{hosts} of {format_count(hosts + len(order.unused), 'host')}"
    return text if order.ranks == hosts else f"{text}, {format_count(order.ranks, 'rank')}"


def cost_legend(order: Order) -> str:
    """Return a phrase on what the costs of an order mean, for the heading of their table."""
    if order.bandwidth is not None:
        return "cost: the least bandwidth that is used, then the sum of what a Gbit takes"
    if order.mesh is not None:
        cost = "time of an iteration"
        if order.is_score:
            cost = "latencies by share of traffic, not a time"
        return f"{order.cost_name}: {cost}: {order.mesh.traffic}"
    if order.cost.size_bytes is None:
        return "score: a sum of latencies, not a time; for times, plink probe --all first"
    return (
        f"cost: the time predicted for {format_size(order.cost.size_bytes)} where flows share links"
    )


def search_text(order: Order) -> str:
    """Format how an order was searched for: solver, seed, steps, seconds, what ended it."""
    solver = order.solver
    steps = [format_count(solver.steps, "step")] if solver.steps else []
    ended_by = solver.ended_by
    if order.filled_pairs and ended_by in _OPTIMAL:
        ended_by += " of distances as filled in"
    parts = [solver.name, f"seed {solver.seed}", *steps, f"{order.seconds:.2f} s"]
    return " · ".join([*parts, f"ended by {ended_by}"])


def costs_us(order: Order) -> list[tuple[str, float | None]]:
    """Return costs in µs with labels: the given order's, random orders', the found one's, bound.

    The bound is None where none is known.
    """
    cost = order.cost
    values_us = (cost.listed_us, cost.random_us, cost.cost_us)
    bound_us = cost.lower_bound_us if has_bound(order) else None
    return list(zip((GIVEN, RANDOM, OURS, BOUND), (*values_us, bound_us), strict=True))


def has_bound(order: Order) -> bool:
    """Return whether a lower bound on any order's cost is proven: one above 0, or a cost of 0."""
    return order.cost.lower_bound_us > 0.0 or order.most_us == 0.0


def explain_unproven(order: Order) -> str | None:
    """Return a phrase that unmeasured pairs leave the cost unproven; None if they do not."""
    if not order.filled_pairs or (order.most_us is not None and has_bound(order)):
        return None
    verb = "was" if order.filled_pairs == 1 else "were"
    return f"not proven: {format_count(order.filled_pairs, 'pair')} {verb} not measured"


def _gap_text(order: Order) -> str:
    """Return a phrase on how much of an order's cost another order could save."""
    if unproven := explain_unproven(order):
        return unproven
    if not has_bound(order):
        return "no lower bound is known"
    if order.gap:
        most = share_text(order.gap)
        share = f"less than {most[2:]}" if most.startswith("<") else f"at most {most}"
        if order.cost.range_us is not None and order.most_us is not None:
            share += f" of {rtt_text(order.most_us)}"
        return f"{share} could still be saved"
    if order.cost.range_us is None:
        return "none: no order is cheaper"
    return f"none: no order costs less than {rtt_text(order.cost.lower_bound_us)}"


def _bandwidth_gap_text(bandwidth: BandwidthCost) -> str:
    """Return a phrase on how much higher another order's bottleneck bandwidth could be."""
    bound = bandwidth.bound_gbit_s
    if bound is None:
        return "not known"
    if bound <= bandwidth.bottleneck_gbit_s * (1.0 + _EQUAL):
        return "none: no order has a wider bottleneck"
    more = bound / bandwidth.bottleneck_gbit_s - 1.0
    return f"the bottleneck could be at most {share_text(more)} wider"


def order_facts(order: Order, *, with_hosts: bool) -> list[Fact]:
    """Return table rows (name, lines) on an order's quality and, if `with_hosts`, its hosts."""
    gap = _gap_text(order) if order.bandwidth is None else _bandwidth_gap_text(order.bandwidth)
    hosts = len(order.hosts) + len(order.unused)
    pairs = format_count(hosts * (hosts - 1) // 2, "pair")
    facts: list[Fact] = []
    if (limits_us := order.cost.range_us) is not None:
        most = "with no limit" if limits_us.high_us is None else "by the shortest way over others"
        means = f"pairs without a measurement at nothing, and {most}"
        facts.append(("range", [range_text(limits_us.low_us, limits_us.high_us), means]))
    if order.random_orders < RANDOM_ORDERS:
        median = f"the median of {order.random_orders:,}: the time sufficed for no more"
        facts.append(("random", [median]))
    facts.append(("gap", [gap]))
    if order.proof is not None:
        engine, outcome = order.proof.engine, order.proof.outcome
        facts.append(("proof", [f"{engine}: {outcome} after {order.proof.seconds:.1f} s"]))
    filled = f"{order.filled_pairs:,} of {pairs}" if order.filled_pairs else "none"
    facts += [("confirmed", [confirmation(order)]), ("filled", [filled])]
    if order.unmeasured_hosts:
        facts.append(("no data", [", ".join(order.unmeasured_hosts)]))
    listed = [("hosts", order.hosts if with_hosts else ()), ("left out", order.unused)]
    facts += [
        (label, [join_some([host.name for host in hosts], _SHOWN_HOSTS, " ")])
        for label, hosts in listed
        if hosts
    ]
    return facts


def rank_labels(order: Order) -> list[str]:
    """Format the ranks of every host: `0`, `0-7` for eight, `0,4` if they are not adjacent."""
    runs: dict[str, list[str]] = {name: [] for name in order.names}
    rank = 0
    for host in order.runs:
        last = rank + host.slots - 1
        runs[host.name].append(str(rank) if last == rank else f"{rank}-{last}")
        rank = last + 1
    return [",".join(labels) for labels in runs.values()]
