"""Table of a simulation's results."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from plink.base.size import format_size
from plink.base.text import format_count, printable, rtt_text
from plink.show.terminal.paper import print_table
from plink.simulate.simulation import Row, Simulation, Times
from plink.simulate.things import TRACE
from plink.simulate.tuned import Tuned

_US = 1e6


def print_simulation(console: Console, found: Simulation) -> None:
    """Print a line per algorithm, or the tuner's actions."""
    console.print(Text(_heading(found), style="bold"))
    if found.tuned is not None:
        _print_tuned(console, found.tuned)
        return
    said = "simulated by SimGrid; of model is the time over what plink predicts"
    if found.random_orders and any(row.random is not None for row in found.rows):
        said += f"; random is the median of {format_count(found.random_orders, 'order')}"
    console.print(Text(said, style="dim"))
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    table.add_column("algorithm", overflow="fold")
    for title in ("order", "given", "random", "gain", "of model", "took"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in found.rows:
        table.add_row(
            row.algorithm,
            *(_time(times) for times in (row.order, row.given, row.random)),
            "-" if row.gain is None else f"{row.gain:.2f} x",
            _of_model(row),
            f"{row.seconds:.1f} s",
        )
    print_table(console, table)
    if found.refused:
        console.print()
    for refused in found.refused:
        console.print(Text(printable(refused.reason), style="dim"))


def _print_tuned(console: Console, found: Tuned) -> None:
    said = "simulated by SimGrid: what an iteration takes, and the tuner's plans"
    console.print(Text(said, style="dim"))
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for title in ("before", "changed", "tuned", "fresh plan", "recovered", "gain", "of fresh"):
        table.add_column(title, justify="right", no_wrap=True)
    times = (found.before_s, found.changed_s, found.tuned_s, found.fresh_s, found.recovered_s)
    table.add_row(
        *(rtt_text(time_s * _US) for time_s in times),
        f"{found.changed_s / found.tuned_s:.2f} x",
        f"{found.tuned_s / found.fresh_s:.2f}",
    )
    console.print(table)
    console.print()
    for plan in found.plans:
        console.print(Text(printable(f"window {plan.window + 1}: {plan.action}: {plan.reason}")))
    if not found.plans:
        console.print(Text("no new plans"))


def _heading(found: Simulation) -> str:
    hosts = format_count(found.hosts, "host")
    ranks = "" if found.ranks == found.hosts else f", {format_count(found.ranks, 'rank')}"
    if any(row.algorithm == TRACE for row in found.rows):
        return f"{printable(found.source)}: a trace on {hosts}{ranks}"
    return f"{printable(found.source)}: {format_size(found.size_bytes)} on {hosts}{ranks}"


def _time(times: Times | None) -> str:
    if times is None:
        return "-"
    return "too long" if times.simulated_s is None else rtt_text(times.simulated_s * _US)


def _of_model(row: Row) -> str:
    """Return the ratio of simulated to predicted time, for the first order that has both."""
    for times in (row.order, row.given, row.random):
        if times is not None and times.simulated_s is not None and times.predicted_s:
            return f"{times.simulated_s / times.predicted_s:.2f}"
    return "-"
