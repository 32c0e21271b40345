"""Table of collectives' predicted times along a plan."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from plink.base.size import format_size
from plink.base.text import bytes_text, format_count, printable, rtt_text
from plink.optimize.plans.forecasting import PlanForecast
from plink.plans.names import BARRIER
from plink.show.terminal.algorithms import expected_cells

_TITLES = ("predicted", "of the bound", "between groups", "on the wire", "rounds")


def print_plan_forecast(console: Console, found: PlanForecast) -> None:
    """Print a line per collective."""
    ranks = "" if found.ranks == found.hosts else f", {format_count(found.ranks, 'rank')}"
    what = f"{format_size(found.size_bytes)} along {found.kind}"
    heading = f"{found.source}: {what} on {format_count(found.hosts, 'host')}{ranks}"
    console.print(Text(printable(heading), style="bold"))
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    table.add_column("collective", no_wrap=True)
    for title in _TITLES:
        table.add_column(title, justify="right", no_wrap=True)
    has_expected = any(row.expected is not None for row in found.rows)
    for title in ("expected", "90 %") if has_expected else ():
        table.add_column(title, justify="right", no_wrap=True)
    for row in found.rows:
        # What links carry is no limit for a barrier.
        has_bound = row.bound_s > 0.0 and row.collective != BARRIER
        table.add_row(
            row.collective,
            rtt_text(row.time_s * 1e6),
            f"{row.time_s / row.bound_s:.2f} x" if has_bound else "-",
            bytes_text(row.cross_group_bytes),
            bytes_text(row.wire_bytes),
            str(row.rounds),
            *(expected_cells(row.expected) if has_expected else ()),
        )
    console.print(table)
    for row in found.rows:
        if row.expected is not None and row.expected.refused is not None:
            console.print(Text(f"{row.collective}: {row.expected.refused}", style="dim"))
