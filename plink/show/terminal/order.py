"""Printing of an order for `plink show` and `plink order`: costs, quality and hops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.style import Style
from rich.table import Table
from rich.text import Text

from plink.base.text import bandwidth_text, rtt_text, seconds_text, share_text
from plink.formats.order import BandwidthCost, Order
from plink.show import orders as facts
from plink.show.scale import colour, scale_for
from plink.show.tables import Column
from plink.show.terminal.paper import Paper, print_facts, print_line, print_table

# Columns that the whole table of costs takes.
_WIDE = 58
_STYLES = {facts.OURS: "bold", facts.BOUND: "dim", "bound": "dim"}

_BAR_WIDTH = 16
_MAX_NAME_WIDTH = 24
_MAX_RANKS_WIDTH = 20
_GUTTER = 4
_RANK_COLUMNS: tuple[tuple[str, JustifyMethod], ...] = (
    ("rank", "right"),
    ("host", "left"),
    ("to next", "right"),
    ("", "left"),
)
# More hosts than this stand in several columns where the page is wide enough.
_LINES = 24


def print_order(console: Console, order: Order, *, with_hosts: bool = True) -> None:
    """Print the costs of an order and, if `with_hosts`, its hosts in rank order."""
    print_line(console, f"{facts.purpose_text(order)} order of {facts.hosts_text(order)}", "bold")
    if len(order.hosts) == 1:
        return
    print_line(console, facts.cost_legend(order), "dim")
    print_line(console, facts.search_text(order), "dim")
    console.print()
    if order.bandwidth is not None:
        _print_bandwidths(console, order.bandwidth)
    else:
        _print_costs(console, order)
    print_facts(console, facts.order_facts(order, with_hosts=with_hosts))


def _print_costs(console: Console, order: Order) -> None:
    """Print the cost table, with as many columns as the console has room for."""
    hosts, cost = len(order.hosts), order.cost

    def share(cost_us: float | None, other_us: float) -> str:
        return "" if cost_us is None or not other_us else share_text(cost_us / other_us)

    columns: list[Column[tuple[str, float | None]]] = [
        Column("", lambda row: row[0], is_text=True),
        Column(order.cost_name, lambda row: "none known" if row[1] is None else rtt_text(row[1])),
        Column("of random", lambda row: share(row[1], cost.random_us)),
        Column("of given", lambda row: share(row[1], cost.listed_us)),
        Column("a hop", lambda row: "" if row[1] is None else rtt_text(row[1] / hosts)),
    ]
    most = 3 if console.width < _WIDE else 5 if order.is_ring_of_latencies else 4
    print_table(console, columns[:most], facts.costs_us(order), lambda row: _STYLES.get(row[0], ""))


def _print_bandwidths(console: Console, bandwidth: BandwidthCost) -> None:
    """Print the bottlenecks of orders, and the times that a Gbit takes over their hops, summed."""
    rows: list[tuple[str, float | None, float | None]] = [
        (facts.GIVEN, bandwidth.listed_gbit_s, bandwidth.listed_s_per_gbit),
        (facts.RANDOM, bandwidth.random_gbit_s, bandwidth.random_s_per_gbit),
        (facts.OURS, bandwidth.bottleneck_gbit_s, bandwidth.sum_s_per_gbit),
        ("bound", bandwidth.bound_gbit_s, bandwidth.bound_s_per_gbit),
    ]
    random = bandwidth.random_gbit_s
    columns: list[Column[tuple[str, float | None, float | None]]] = [
        Column("", lambda row: row[0], is_text=True),
        Column(
            "bottleneck", lambda row: "none known" if row[1] is None else bandwidth_text(row[1])
        ),
        Column("of random", lambda row: "" if row[1] is None else share_text(row[1] / random)),
        Column("1 Gbit in all", lambda row: "" if row[2] is None else seconds_text(row[2])),
    ]
    print_table(console, columns, rows, lambda row: _STYLES.get(row[0], ""))


def print_ranks(paper: Paper, order: Order) -> None:
    """Print rank, host and hop of every host in rank order, with a bar for each measured hop."""
    ranks = facts.rank_labels(order)
    bars = _bars(order.cost.hops_us, paper.shades)
    for place in order.filled_hops:
        bars[place] = Text("not measured", style="dim")
    if order.bandwidth is not None:
        hops = [bandwidth_text(hop) for hop in order.bandwidth.hops_gbit_s]
    else:
        hops = [rtt_text(hop) for hop in order.cost.hops_us]
    widths = (
        min(_MAX_RANKS_WIDTH, max(4, *map(len, ranks))),
        min(_MAX_NAME_WIDTH, max(4, *map(cell_len, order.names))),
        max(7, *map(len, hops)),
        _BAR_WIDTH,
    )
    fitting = (paper.console.width + _GUTTER) // (sum(widths) + len(widths) - 1 + _GUTTER)
    columns = max(1, min(fitting, math.ceil(len(ranks) / _LINES)))
    lines = math.ceil(len(ranks) / columns)
    page = Table.grid(padding=(0, _GUTTER, 0, 0))
    parts = []
    for start in range(0, len(ranks), lines):
        part = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="cyan")
        for (name, justify), width in zip(_RANK_COLUMNS, widths, strict=True):
            style = "dim" if name == "rank" else None
            part.add_column(name, justify=justify, width=width, style=style, no_wrap=True)
        for place in range(start, min(start + lines, len(ranks))):
            hop = Text(hops[place])
            part.add_row(Text(ranks[place]), Text(order.names[place]), hop, bars[place])
        parts.append(part)
    parts[-1].add_row("→", Text(order.names[0], style="dim"))
    page.add_row(*parts)
    paper.console.print()
    paper.console.print(page)


def _bars(hops_us: Sequence[float], shades: str | None) -> list[Text]:
    """Return a bar of characters for each hop of an order, proportional to its latency."""
    hops = np.array(hops_us)
    positions = scale_for(hops).positions(hops)
    largest = float(hops.max()) or 1.0
    bars = []
    for hop, position in zip(hops, positions, strict=True):
        length = math.ceil(_BAR_WIDTH * hop / largest)
        if shades is None:
            bars.append(Text("█" * length, Style(color=colour(float(position)))))
        else:
            bars.append(Text(shades[0] * length))
    return bars
