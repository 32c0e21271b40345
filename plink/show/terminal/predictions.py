"""Tables of collective algorithms, of predicted costs, and of a library's fitted costs."""

from __future__ import annotations

from rich.console import Console

from plink.base.size import format_size
from plink.base.text import bytes_text, format_count, range_text, rtt_text, seconds_text, share_text
from plink.formats.clients import ClientFit, Estimate
from plink.model.gaps import Range
from plink.optimize.plans.forecasting import CollectiveRow, PlanForecast
from plink.optimize.prediction import RANDOM_ORDERS, Forecast, OrderCost, PredictionRow
from plink.plans.names import BARRIER
from plink.show.tables import UNKNOWN, Column, drop_unknown, known_text
from plink.show.terminal.paper import paper, print_line, print_table
from plink.solvers.collectives.registry import ALGORITHMS, OTHERS

_OTHER = {"contention": "latency", "latency": "contention"}


def print_algorithms() -> None:
    """Print the name and meaning of every collective algorithm."""
    columns: list[Column[tuple[str, str]]] = [
        Column("", lambda row: row[0], is_text=True),
        Column("", lambda row: row[1], is_text=True),
    ]
    rows = [(name, algorithm.about) for name, algorithm in {**ALGORITHMS, **OTHERS}.items()]
    print_table(paper(None).console, columns, rows)


def ranks_text(hosts: int, ranks: int) -> str:
    """Return the numbers of hosts and ranks as text, one number if they are equal."""
    text = format_count(hosts, "host")
    return text if ranks == hosts else f"{text}, {format_count(ranks, 'rank')}"


def print_forecast(console: Console, forecast: Forecast, objective: str | None) -> None:
    """Print the table of predictions, and which algorithms do not run.

    Costs are compared by the objective; None stands for contention where that is known.
    """
    chosen = objective or ("contention" if forecast.has_times else "latency")
    costs = {"contention": "times under contention", "latency": "sums of latencies"}[chosen]
    _print_title(console, forecast, f"on {ranks_text(forecast.hosts, forecast.ranks)}")
    print_line(console, f"predicted {costs}; random is the median of {RANDOM_ORDERS} orders", "dim")
    console.print()
    print_table(console, _forecast_columns(forecast, chosen), forecast.rows)
    reasons = [
        f"{row.algorithm}: {row.expected.refused}"
        for row in forecast.rows
        if row.expected is not None and row.expected.refused is not None
    ]
    reasons += [refused.reason for refused in forecast.refused]
    if reasons:
        console.print()
    for reason in reasons:
        print_line(console, reason, "dim")


def _print_title(console: Console, forecast: Forecast | PlanForecast, where: str) -> None:
    size = format_size(forecast.size_bytes)
    print_line(console, f"{forecast.source}: {size} {where}", "bold")


def _forecast_columns(forecast: Forecast, chosen: str) -> list[Column[PredictionRow]]:
    """Return the columns of a table of predictions, without costs that no row has."""
    other = _OTHER[chosen]

    def own_cost(row: PredictionRow) -> OrderCost:
        return row.given if row.order is None else row.order

    def share_of_random(row: PredictionRow) -> str:
        cost_us, random_us = (_pick(cost, chosen)[0] for cost in (own_cost(row), row.random))
        return share_text(cost_us / random_us) if cost_us is not None and random_us else UNKNOWN

    def format_range(row: PredictionRow) -> str:
        limits_us = _pick(own_cost(row), chosen)[1]
        return UNKNOWN if limits_us is None else range_text(*limits_us)

    columns: list[Column[PredictionRow]] = [
        Column("algorithm", lambda row: row.algorithm, is_text=True),
        *drop_unknown(
            [
                Column("order", lambda row: _cost_text(row.order, chosen)),
                Column("range", format_range),
            ],
            forecast.rows,
        ),
        Column("given", lambda row: _cost_text(row.given, chosen)),
        Column("random", lambda row: _cost_text(row.random, chosen)),
        Column("of random", share_of_random),
    ]
    optional: list[Column[PredictionRow]] = [
        Column(other, lambda row: _cost_text(own_cost(row), other)),
        *_EXPECTED_COLUMNS,
    ]
    return columns + drop_unknown(optional, forecast.rows)


def _expected_text(row: PredictionRow | CollectiveRow) -> str:
    seconds = None if row.expected is None else row.expected.seconds
    return known_text(seconds, seconds_text)


def _interval_text(row: PredictionRow | CollectiveRow) -> str:
    expected = row.expected
    if expected is None or expected.low_s is None or expected.high_s is None:
        return UNKNOWN
    return range_text(expected.low_s * 1e6, expected.high_s * 1e6)


_EXPECTED_COLUMNS = (Column("expected", _expected_text), Column("90 %", _interval_text))


def _pick(cost: OrderCost, objective: str) -> tuple[float | None, Range | None]:
    """Return a cost in µs and its range, by latency or by time; None for what is not known."""
    if objective == "latency":
        return cost.latency_us, cost.latency_range_us
    time_us = None if cost.time_s is None else cost.time_s * 1e6
    if cost.time_range_s is None:
        return time_us, None
    low_s, high_s = cost.time_range_s
    return time_us, (low_s * 1e6, None if high_s is None else high_s * 1e6)


def _cost_text(cost: OrderCost | None, objective: str) -> str:
    return known_text(None if cost is None else _pick(cost, objective)[0], rtt_text)


def print_plan_forecast(console: Console, forecast: PlanForecast) -> None:
    """Print the table of predicted times of collectives that follow a plan's trees."""
    where = f"along {forecast.kind} on {ranks_text(forecast.hosts, forecast.ranks)}"
    _print_title(console, forecast, where)
    console.print()

    def share_of_bound(row: CollectiveRow) -> str:
        # What links carry is no limit for a barrier.
        has_bound = row.bound_s > 0.0 and row.collective != BARRIER
        return f"{row.time_s / row.bound_s:.2f} x" if has_bound else UNKNOWN

    columns: list[Column[CollectiveRow]] = [
        Column("collective", lambda row: row.collective, is_text=True),
        Column("predicted", lambda row: seconds_text(row.time_s)),
        Column("of the bound", share_of_bound),
        Column("between groups", lambda row: bytes_text(row.cross_group_bytes)),
        Column("on the wire", lambda row: bytes_text(row.wire_bytes)),
        Column("rounds", lambda row: str(row.rounds)),
    ]
    optional: list[Column[CollectiveRow]] = [*_EXPECTED_COLUMNS]
    print_table(console, columns + drop_unknown(optional, forecast.rows), forecast.rows)
    for row in forecast.rows:
        if row.expected is not None and row.expected.refused is not None:
            print_line(console, f"{row.collective}: {row.expected.refused}", "dim")


def print_fit(console: Console, fit: ClientFit) -> None:
    """Print the table of a communication library's fitted costs with their 90 % ranges."""
    versions = ", ".join(f"{name} {text}" for name, text in (fit.versions or {}).items())
    print_line(console, f"{fit.client}: {versions or 'described'}", "bold")
    costs: list[tuple[str, Estimate | None, str]] = [
        ("before a message begins", fit.overhead_us, " µs"),
        ("before one above 64 KiB, beside that", fit.rendezvous_us, " µs"),
        ("adding 1 GB", fit.reduction_s_per_gb, " s"),
        ("of a link's rate, flows get", fit.flow_share, ""),
        ("exchanges one way after the other", fit.serialised, ""),
        ("links let pass at once", fit.burst_bytes, " bytes"),
        ("a rank keeps a core that it shares", fit.turn_us, " µs"),
        ("processor of a rank for 1 GB", fit.processor_s_per_gb, " s"),
    ]
    rows = [(what, estimate, unit) for what, estimate, unit in costs if estimate is not None]
    columns: list[Column[tuple[str, Estimate, str]]] = [
        Column("", lambda row: row[0], is_text=True),
        Column("found", lambda row: f"{row[1].value:.3g}{row[2]}"),
        Column("90 %", lambda row: f"{row[1].low:.3g} to {row[1].high:.3g}{row[2]}"),
    ]
    print_table(console, columns, rows)
    spreads = (
        f"{100.0 * each.spread:.0f} % at {format_size(each.size_bytes)}" for each in fit.spreads
    )
    print_line(console, f"times are off by {', '.join(spreads)} (standard deviation)", "dim")
    if fit.shared_cores is not None:
        cores = format_count(fit.shared_cores, "core")
        print_line(console, f"all hosts are one machine of {cores}", "dim")
