"""Tables of collective algorithms and of their predicted costs."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from plink.base.size import format_size
from plink.base.text import format_count, printable, range_text, rtt_text, share_text
from plink.model.gaps import Range
from plink.optimize.expected import Expected
from plink.optimize.prediction import RANDOM_ORDERS, Forecast, OrderCost, PredictionRow
from plink.show.terminal.facts import align_columns
from plink.show.terminal.paper import paper, print_table
from plink.solvers.collectives.registry import ALGORITHMS, OTHERS

_OTHER = {"contention": "latency", "latency": "contention"}


def print_algorithms() -> None:
    """Print one line per algorithm; lines are folded only on a terminal."""
    console = paper(None).console
    known = {**ALGORITHMS, **OTHERS}
    if not console.is_terminal:
        rows = [(name, algorithm.about) for name, algorithm in known.items()]
        for line in align_columns(rows, left=(0, 1)):
            console.print(Text(line), soft_wrap=True)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column("name", no_wrap=True, style="bold")
    table.add_column("about")
    for name, algorithm in known.items():
        table.add_row(name, algorithm.about)
    console.print(table)


def print_forecast(console: Console, found: Forecast, objective: str | None) -> None:
    """Print the table of predictions, and which algorithms do not run.

    Args:
        console: where.
        found: what is predicted.
        objective: which cost to compare; None for contention where it is known.
    """
    chosen = objective or ("contention" if found.has_times else "latency")
    console.print(Text(_heading(found), style="bold"))
    console.print(Text(_cost_note(chosen), style="dim"))
    console.print()
    print_table(console, _table(found, chosen))
    unsure = [(row.algorithm, row.expected.refused) for row in found.rows if row.expected]
    reasons = [f"{name}: {reason}" for name, reason in unsure if reason is not None]
    if found.refused or reasons:
        console.print()
    for reason in [*reasons, *(each.reason for each in found.refused)]:
        console.print(Text(printable(reason), style="dim"))


def _heading(found: Forecast) -> str:
    hosts = format_count(found.hosts, "host")
    ranks = "" if found.ranks == found.hosts else f", {format_count(found.ranks, 'rank')}"
    return f"{printable(found.source)}: {format_size(found.size_bytes)} on {hosts}{ranks}"


def _cost_note(chosen: str) -> str:
    costs = {"contention": "times under contention", "latency": "sums of latencies"}[chosen]
    return f"predicted {costs}; random is the median of {RANDOM_ORDERS} orders"


def _table(found: Forecast, chosen: str) -> Table:
    has_order = any(row.order is not None for row in found.rows)
    other = _OTHER[chosen]
    has_other = any(_cost(row.given, other) is not None for row in found.rows)
    has_expected = any(row.expected is not None for row in found.rows)
    has_range = any(_range(_best(row), chosen) is not None for row in found.rows)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    table.add_column("algorithm", overflow="fold")
    titles = [
        *(["order", "given"] if has_order else ["given"]),
        *("random", "of random"),
        *([other] if has_other else []),
    ]
    if has_range:
        titles.insert(1, "range")
    if has_expected:
        titles += ["expected", "90 %"]
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)
    for row in found.rows:
        costs = [row.order] if row.order is not None else []
        cells = [_format_cost(cost, chosen) for cost in (*costs, row.given, row.random)]
        if has_range:
            cells.insert(1, _range_shown(_best(row), chosen))
        cells.append(_share(row, chosen))
        if has_other:
            cells.append(_format_cost(_best(row), other))
        if has_expected:
            cells += expected_cells(row.expected)
        table.add_row(row.algorithm, *cells)
    return table


def expected_cells(expected: Expected | None) -> list[str]:
    """Return a fitted client's predicted time and its interval as cells."""
    if expected is None or expected.seconds is None:
        return ["-", "-"]
    interval = range_text((expected.low_s or 0.0) * 1e6, (expected.high_s or 0.0) * 1e6)
    return [rtt_text(expected.seconds * 1e6), interval]


def _best(row: PredictionRow) -> OrderCost:
    """Return the cost of the order, or of the listed one without an order."""
    return row.given if row.order is None else row.order


def _share(row: PredictionRow, chosen: str) -> str:
    """Return the cost as a share of a random order's."""
    cost, random = _cost(_best(row), chosen), _cost(row.random, chosen)
    return share_text(cost / random) if cost is not None and random else "-"


def _cost(cost: OrderCost, form: str) -> float | None:
    """Return the cost in µs as text."""
    if form == "latency":
        return cost.latency_us
    return None if cost.time_s is None else cost.time_s * 1e6


def _range(cost: OrderCost, form: str) -> Range | None:
    """Return the range in µs as text."""
    if form == "latency" or cost.time_range_s is None:
        return cost.latency_range_us if form == "latency" else None
    low_s, high_s = cost.time_range_s
    return low_s * 1e6, None if high_s is None else high_s * 1e6


def _range_shown(cost: OrderCost, form: str) -> str:
    found = _range(cost, form)
    return "-" if found is None else range_text(*found)


def _format_cost(cost: OrderCost, form: str) -> str:
    value_us = _cost(cost, form)
    return "-" if value_us is None else rtt_text(value_us)
