"""List of an order's ranks, with a bar for each measured hop to the next host."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.cells import cell_len
from rich.style import Style
from rich.table import Table
from rich.text import Text

from plink.base.text import bandwidth_text, rtt_text
from plink.files.order import Order
from plink.show.terminal.paper import Paper
from plink.show.terminal.scale import colour, scale_for

_BAR_WIDTH = 16
_MAX_NAME_WIDTH = 24
_MAX_RANKS_WIDTH = 20
_GUTTER = 4
# More hosts than this stand in several columns where the page is wide enough.
_LINES = 24


def print_ranks(paper: Paper, order: Order) -> None:
    """Print rank, host and hop of every host in rank order."""
    ranks = rank_labels(order)
    bars = _bars(order.cost.hops_us, paper.shades)
    for place in order.filled_hops:
        bars[place] = Text("not measured", style="dim")
    name_width = min(_MAX_NAME_WIDTH, max(cell_len(name) for name in order.names))
    hops = _hops(order)
    hop_width = max(7, *map(len, hops))
    ranks_width = min(_MAX_RANKS_WIDTH, max(4, *map(len, ranks)))
    widths = (ranks_width, max(4, name_width), hop_width, _BAR_WIDTH)
    fitting = (paper.console.width + _GUTTER) // (sum(widths) + len(widths) - 1 + _GUTTER)
    columns = max(1, min(fitting, math.ceil(len(ranks) / _LINES)))
    lines = math.ceil(len(ranks) / columns)
    page = Table.grid(padding=(0, _GUTTER, 0, 0))
    parts = []
    for start in range(0, len(ranks), lines):
        part = _part(widths)
        for place in range(start, min(start + lines, len(ranks))):
            hop = Text(hops[place])
            part.add_row(Text(ranks[place]), Text(order.names[place]), hop, bars[place])
        parts.append(part)
    parts[-1].add_row("→", Text(order.names[0], style="dim"))
    page.add_row(*parts)
    paper.console.print()
    paper.console.print(page)


def _hops(order: Order) -> list[str]:
    """Return the distance or bandwidth from every host to the next, as text."""
    if order.bandwidth is not None:
        return [bandwidth_text(hop) for hop in order.bandwidth.hops_gbit_s]
    return [rtt_text(hop) for hop in order.cost.hops_us]


def rank_labels(order: Order) -> list[str]:
    """Return the ranks of every host: `0`, `0-7` for eight, `0,4` if they are not adjacent."""
    runs: dict[str, list[str]] = {name: [] for name in order.names}
    rank = 0
    for host in order.runs:
        last = rank + host.slots - 1
        runs[host.name].append(str(rank) if last == rank else f"{rank}-{last}")
        rank = last + 1
    return [",".join(found) for found in runs.values()]


def _part(widths: tuple[int, int, int, int]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="cyan")
    rank, name, hop, bar = widths
    table.add_column("rank", justify="right", width=rank, style="dim", no_wrap=True)
    table.add_column("host", width=name, no_wrap=True)
    table.add_column("to next", justify="right", width=hop, no_wrap=True)
    table.add_column("", width=bar, no_wrap=True)
    return table


def _bars(hops_us: Sequence[float], shades: str | None) -> list[Text]:
    """Return a proportional bar per hop; no hop above zero is invisible."""
    hops = np.array(hops_us)
    largest = float(hops.max())
    positions = scale_for(hops).positions(hops)
    bars = []
    for hop, position in zip(hops, positions, strict=True):
        length = math.ceil(_BAR_WIDTH * hop / largest) if hop > 0.0 else 0
        if shades is None:
            bars.append(Text("█" * length, Style(color=colour(float(position)))))
        else:
            bars.append(Text(shades[0] * length))
    return bars
