"""Printing of a table of simulated times for `plink simulate`."""

from __future__ import annotations

from rich.console import Console

from plink.base.size import format_size
from plink.base.text import format_count, seconds_text
from plink.show.tables import UNKNOWN, Column, known_text
from plink.show.terminal.paper import print_line, print_table
from plink.show.terminal.predictions import ranks_text
from plink.simulate.simulation import Row, Simulation, Times
from plink.simulate.tuned import Tuned
from plink.simulate.workloads import TRACE


def _time_text(times: Times | None) -> str:
    if times is None:
        return UNKNOWN
    return "too long" if times.simulated_s is None else seconds_text(times.simulated_s)


def _share_of_model(row: Row) -> str:
    """Format the ratio of simulated to predicted time, for the first order that has both."""
    for times in (row.order, row.given, row.random):
        if times is not None and times.simulated_s is not None and times.predicted_s:
            return f"{times.simulated_s / times.predicted_s:.2f}"
    return UNKNOWN


_COLUMNS: tuple[Column[Row], ...] = (
    Column("algorithm", lambda row: row.algorithm, is_text=True),
    Column("order", lambda row: _time_text(row.order)),
    Column("given", lambda row: _time_text(row.given)),
    Column("random", lambda row: _time_text(row.random)),
    Column("gain", lambda row: known_text(row.gain, "{:.2f} x".format)),
    Column("of model", _share_of_model),
    Column("took", lambda row: f"{row.seconds:.1f} s"),
)
_TUNED_COLUMNS: tuple[Column[Tuned], ...] = (
    Column("before", lambda tuned: seconds_text(tuned.before_s)),
    Column("changed", lambda tuned: seconds_text(tuned.changed_s)),
    Column("tuned", lambda tuned: seconds_text(tuned.tuned_s)),
    Column("fresh plan", lambda tuned: seconds_text(tuned.fresh_s)),
    Column("recovered", lambda tuned: seconds_text(tuned.recovered_s)),
    Column("gain", lambda tuned: f"{tuned.changed_s / tuned.tuned_s:.2f} x"),
    Column("of fresh", lambda tuned: f"{tuned.tuned_s / tuned.fresh_s:.2f}"),
)


def print_simulation(console: Console, simulation: Simulation) -> None:
    """Print the simulated times of each algorithm, or the simulated tuner's actions."""
    what = format_size(simulation.size_bytes)
    if any(row.algorithm == TRACE for row in simulation.rows):
        what = "a trace"
    where = ranks_text(simulation.hosts, simulation.ranks)
    print_line(console, f"{simulation.source}: {what} on {where}", "bold")
    if (tuned := simulation.tuned) is not None:
        legend = "simulated by SimGrid: what an iteration takes, and the tuner's plans"
        print_line(console, legend, "dim")
        console.print()
        print_table(console, _TUNED_COLUMNS, [tuned])
        console.print()
        for plan in tuned.plans:
            print_line(console, f"window {plan.window + 1}: {plan.action}: {plan.reason}")
        if not tuned.plans:
            print_line(console, "no new plans")
        return
    legend = "simulated by SimGrid; of model is the time over what plink predicts"
    if simulation.random_orders and any(row.random is not None for row in simulation.rows):
        legend += f"; random is the median of {format_count(simulation.random_orders, 'order')}"
    print_line(console, legend, "dim")
    console.print()
    print_table(console, _COLUMNS, simulation.rows)
    if simulation.refused:
        console.print()
    for refused in simulation.refused:
        print_line(console, refused.reason, "dim")
