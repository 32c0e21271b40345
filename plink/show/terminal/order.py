"""Page of an order file: its costs beside others, its quality, and its hosts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from plink.base.size import format_size
from plink.base.text import (
    bandwidth_text,
    format_count,
    printable,
    range_text,
    rtt_text,
    share_text,
)
from plink.files.hosts import Host
from plink.files.order import BandwidthCost, Order
from plink.optimize.orders.quality import confirmation
from plink.show.terminal import facts
from plink.solvers.search import RANDOM_ORDERS

_SHOWN_HOSTS = 64
# Columns that the whole table of costs takes.
_WIDE = 58

# Ends of a search that found the best order of the distances it was given.
_OPTIMAL = ("exact", "bound")
WHAT = "cost: the least bandwidth that is used, then the sum of what a Gbit takes"

# Bandwidths this near to each other are equal.
_EQUAL = 1e-6


def print_order(console: Console, order: Order, *, with_hosts: bool = True) -> None:
    """Print the costs of an order and, if `with_hosts`, its hosts in rank order."""
    console.print(Text(f"{what_for(order)} order of {hosts_text(order)}", style="bold"))
    if len(order.hosts) == 1:
        return
    console.print(Text(_what(order), style="dim"))
    console.print(Text(_how(order), style="dim"))
    console.print()
    if order.bandwidth is not None:
        console.print(bandwidth_table(order.bandwidth))
    else:
        console.print(_costs(order, console.width))
    console.print()
    console.print(facts.table(_facts(order, with_hosts=with_hosts)))


def what_for(order: Order) -> str:
    """Return the name of the algorithm or mesh that an order is for."""
    mesh = "" if order.mesh is None else f" {order.mesh.text}"
    return printable(f"{order.algorithm}{mesh}")


def hosts_text(order: Order) -> str:
    """Return the numbers of hosts and ranks of an order, and of hosts left out."""
    hosts = len(order.hosts)
    text = format_count(hosts, "host")
    if order.unused:
        text = f"{hosts} of {format_count(hosts + len(order.unused), 'host')}"
    return text if order.ranks == hosts else f"{text}, {format_count(order.ranks, 'rank')}"


def _what(order: Order) -> str:
    """Return the description of the costs in the table below."""
    if order.bandwidth is not None:
        return WHAT
    if order.mesh is not None:
        cost = (
            "latencies by share of traffic, not a time"
            if order.is_score
            else "time of an iteration"
        )
        return f"{order.cost_name}: {cost}: {order.mesh.traffic}"
    if order.cost.size_bytes is None:
        return "score: a sum of latencies, not a time; for times, plink probe --all first"
    return (
        f"cost: the time predicted for {format_size(order.cost.size_bytes)} where flows share links"
    )


def _how(order: Order) -> str:
    solver = order.solver
    parts = [printable(solver.name), f"seed {solver.seed}"]
    if solver.steps:
        parts.append(format_count(solver.steps, "step"))
    ended_by = printable(solver.ended_by)
    if order.filled_pairs and solver.ended_by in _OPTIMAL:
        ended_by += " of distances as filled in"
    parts += [f"{order.seconds:.2f} s", f"ended by {ended_by}"]
    return " · ".join(parts)


def _costs(order: Order, width: int) -> Table:
    """Return the cost table: sums, shares of a random order, and per hop.

    `width` in columns decides how much of that.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    table.add_column("", no_wrap=True)
    most = 2 if width < _WIDE else 4 if order.is_ring_of_latencies else 3
    titles = (order.cost_name, "of random", "of given", "a hop")[:most]
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    rows = (
        ("given order", order.cost.listed_us, ""),
        ("random (median)", order.cost.random_us, ""),
        ("plink's order", order.cost.cost_us, "bold"),
        ("lower bound", order.cost.lower_bound_us, "dim"),
    )
    for label, cost_us, style in rows:
        cells = (
            rtt_text(cost_us),
            _share(cost_us, order.cost.random_us),
            _share(cost_us, order.cost.listed_us),
            rtt_text(cost_us / len(order.hosts)),
        )
        if label == "lower bound" and not has_bound(order):
            cells = ("none known", "", "", "")
        table.add_row(label, *cells[: len(titles)], style=style)
    return table


def has_bound(order: Order) -> bool:
    """Return whether the lower bound is above 0."""
    return order.cost.lower_bound_us > 0.0 or order.most_us == 0.0


def unproven_reason(order: Order) -> str | None:
    """Return why no bound is proven for the order; None if one is."""
    if not order.filled_pairs or (order.most_us is not None and has_bound(order)):
        return None
    verb = "was" if order.filled_pairs == 1 else "were"
    return f"not proven: {format_count(order.filled_pairs, 'pair')} {verb} not measured"


def range_facts(order: Order) -> list[str]:
    """Return facts on the range of the order's cost; empty if it is one number."""
    if order.cost.range_us is None:
        return []
    low_us, high_us = order.cost.range_us.low_us, order.cost.range_us.high_us
    most = "with no limit" if high_us is None else "by the shortest way over others"
    return [range_text(low_us, high_us), f"pairs without a measurement at nothing, and {most}"]


def no_cheaper(order: Order) -> str:
    """Return a sentence that no cheaper order exists, for a bound equal to the cost."""
    if order.cost.range_us is None:
        return "no order is cheaper"
    return f"no order costs less than {rtt_text(order.cost.lower_bound_us)}"


def savings_text(order: Order) -> str:
    """Return the largest share of the cost that the bound allows to save."""
    most = share_text(order.gap)
    share = f"less than {most[2:]}" if most.startswith("<") else f"at most {most}"
    if order.cost.range_us is None or order.most_us is None:
        return share
    return f"{share} of {rtt_text(order.most_us)}"


def _share(cost_us: float, other_us: float) -> str:
    return share_text(cost_us / other_us) if other_us else ""


def _proof(order: Order) -> list[facts.Fact]:
    if order.proof is None:
        return []
    engine, outcome = printable(order.proof.engine), printable(order.proof.outcome)
    return [("proof", [f"{engine}: {outcome} after {order.proof.seconds:.1f} s"])]


def _facts(order: Order, *, with_hosts: bool) -> list[facts.Fact]:
    hosts = len(order.hosts) + len(order.unused)
    pairs = hosts * (hosts - 1) // 2
    optimal = f"none: {no_cheaper(order)}"
    gap = f"{savings_text(order)} could still be saved" if order.gap else optimal
    gap = unproven_reason(order) or (gap if has_bound(order) else "not known")
    if order.bandwidth is not None:
        gap = bandwidth_gap(order.bandwidth)
    filled = (
        f"{order.filled_pairs:,} of {format_count(pairs, 'pair')}" if order.filled_pairs else "none"
    )
    rows: list[facts.Fact] = [
        ("gap", [gap]),
        *_proof(order),
        ("confirmed", [confirmation(order)]),
        ("filled", [filled]),
    ]
    if order.random_orders < RANDOM_ORDERS:
        median = f"the median of {order.random_orders:,}: the time sufficed for no more"
        rows.insert(0, ("random", [median]))
    if order.cost.range_us is not None:
        rows.insert(0, ("range", range_facts(order)))
    if order.unmeasured_hosts:
        rows.append(("no data", [printable(", ".join(order.unmeasured_hosts))]))
    if with_hosts:
        rows.append(("hosts", [_names(order.hosts)]))
    if order.unused:
        rows.append(("left out", [_names(order.unused)]))
    return rows


def _names(hosts: Sequence[Host]) -> str:
    names = [printable(host.name) for host in hosts]
    more = [f"and {len(names) - _SHOWN_HOSTS:,} more"] if len(names) > _SHOWN_HOSTS else []
    return " ".join([*names[:_SHOWN_HOSTS], *more])


def bandwidth_table(bandwidth: BandwidthCost) -> Table:
    """Return the table of bottlenecks: listed, random, plink's, and the bound.

    Beside it is the time that a Gbit takes, summed as the algorithm's latencies are.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for title in ("", "bottleneck", "of random", "1 Gbit in all"):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    rows = (
        ("given order", bandwidth.listed_gbit_s, bandwidth.listed_s_per_gbit, ""),
        (
            "random (median)",
            bandwidth.random_gbit_s,
            bandwidth.random_s_per_gbit,
            "",
        ),
        ("plink's order", bandwidth.bottleneck_gbit_s, bandwidth.sum_s_per_gbit, "bold"),
        ("bound", bandwidth.bound_gbit_s, bandwidth.bound_s_per_gbit, "dim"),
    )
    for label, gbit_s, s_per_gbit, style in rows:
        table.add_row(
            label,
            "none known" if gbit_s is None else bandwidth_text(gbit_s),
            "" if gbit_s is None else share_text(gbit_s / bandwidth.random_gbit_s),
            "" if s_per_gbit is None else rtt_text(s_per_gbit * 1e6),
            style=style,
        )
    return table


def bandwidth_gap(bandwidth: BandwidthCost) -> str:
    """Return how much wider another order's bottleneck could be at most."""
    bound = bandwidth.bound_gbit_s
    if bound is None:
        return "not known"
    if bound <= bandwidth.bottleneck_gbit_s * (1.0 + _EQUAL):
        return "none: no order has a wider bottleneck"
    more = bound / bandwidth.bottleneck_gbit_s - 1.0
    return f"the bottleneck could be at most {share_text(more)} wider"
