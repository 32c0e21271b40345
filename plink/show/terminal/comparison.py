"""Tables of `plink bench` and of comparison files: of orders, or of clients, plans and sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter

from rich.console import Console

from plink.base.size import format_size
from plink.base.text import bytes_text, format_count, rtt_text, seconds_text
from plink.bench.order_report import Correlation, OrderRow, OrdersBench
from plink.bench.plot import collectives_text, label_text
from plink.formats.comparison import Comparison, ComparisonRow, LinkBytes
from plink.plans.names import ALL_REDUCE, BARRIER
from plink.show.tables import UNKNOWN, Column, drop_unknown, known_text
from plink.show.terminal.paper import print_line, print_table

# For less data, CPU seconds for a gigabyte say nothing.
_LEAST_CPU_BYTES = 1_000_000

_ABOUT_ORDERS = "A repetition takes as long as its slowest rank; above 1x is faster"
_ABOUT_SIZES = (
    "A repetition takes as long as its slowest rank. Bus: Mbit/s. Limit: the least time that links "
    "allow, over the median. CPU: seconds for a GB and rank. Links: the busiest one."
)

_TIMES: tuple[Column[ComparisonRow | OrderRow], ...] = (
    Column("median", lambda row: seconds_text(row.median_s)),
    Column("fastest", lambda row: seconds_text(row.min_s)),
    Column("slowest", lambda row: seconds_text(row.max_s)),
)
_ORDER_COLUMNS: tuple[Column[OrderRow], ...] = (
    Column("order", lambda row: row.order, is_text=True),
    *_TIMES,
    Column("vs given", lambda row: known_text(row.speedup_over_given, "{:.2f}x".format)),
    Column("vs random", lambda row: known_text(row.speedup_over_random, "{:.2f}x".format)),
    Column("latency", lambda row: known_text(row.predicted_us, rtt_text)),
)
_CONTENTION: Column[OrderRow] = Column(
    "contention", lambda row: known_text(row.predicted_s, seconds_text)
)
_SIZE_COLUMNS: tuple[Column[ComparisonRow], ...] = (
    Column("", label_text, is_text=True),
    *_TIMES,
    Column("bus", lambda row: f"{row.bus_mbit:.{2 if row.bus_mbit < 10.0 else 0}f}"),
    Column("limit", lambda row: known_text(row.share_of_limit, _limit_text)),
    Column("predicted", lambda row: known_text(row.predicted_s, seconds_text)),
    Column(
        "CPU",
        lambda row: (
            UNKNOWN
            if row.cpu_s_per_gb is None or row.size_bytes < _LEAST_CPU_BYTES
            else f"{row.cpu_s_per_gb:.2f}"
        ),
    ),
)


def print_comparison(
    console: Console, result: Comparison, orders: OrdersBench | None = None
) -> None:
    """Print a bench's results, with its conditions and the meaning of the columns below."""
    if orders is None:
        clients = ", ".join(dict.fromkeys(row.client for row in result.rows))
        heading = f"{collectives_text(result.rows)} by {clients}"
    else:
        heading = (
            f"{orders.client} {orders.algorithm} allreduce of {format_size(orders.size_bytes)}"
        )
    print_line(console, f"{heading} on {_hosts_text(result)}")
    console.print()
    if orders is None:
        _print_sizes(console, result.rows)
    else:
        _print_orders(console, orders)
    closing = [_conditions_text(result), _ABOUT_SIZES if orders is None else _ABOUT_ORDERS]
    if result.stopped is not None:
        rounds = format_count(result.setting.rounds, "round")
        when = f"in the first of {rounds}: what ran of it is compared"
        if result.rounds_done:
            when = f"after {result.rounds_done} of {rounds}: only whole rounds are compared"
        closing.append(f"Stopped early, {when}")
    if (hub := result.setting.clients.get("hub")) is not None:
        # The caveat without which a server with many ports would look like magic.
        closing += [f"{name}: {value}" for name, value in hub.settings.items()]
    for line in closing:
        print_line(console, line)


def _print_orders(console: Console, orders: OrdersBench) -> None:
    columns = [*_ORDER_COLUMNS, *drop_unknown([_CONTENTION], orders.rows)]
    print_table(console, columns, orders.rows, _mark_best(orders.rows))
    console.print()
    print_line(console, "Spearman rank correlation of predicted and measured (95 % interval):")
    print_line(console, f"  by latency {_correlation_text(orders.spearman.latency)}")
    print_line(console, f"  by contention {_correlation_text(orders.spearman.contention)}")


def _print_sizes(console: Console, rows: Sequence[ComparisonRow]) -> None:
    """Print a table for each collective and size, and one of the bytes on the busiest links."""
    for workload in dict.fromkeys((row.collective, row.size_bytes) for row in rows):
        shown = [row for row in rows if (row.collective, row.size_bytes) == workload]
        # What servers allow is no bound of the others.
        plain = next((row for row in shown if row.client != "hub"), shown[0])
        heading = _workload_text(plain)
        if plain.limit_s is not None:
            links = "hosts' links" if plain.limit_by == "hosts" else "uplinks"
            heading += f", at least {seconds_text(plain.limit_s)} by {links}"
        print_line(console, heading, "bold")
        print_table(console, _SIZE_COLUMNS, shown, _mark_best(shown), rows)
        console.print()
    is_one = len({row.collective for row in rows}) == 1
    busiest = [
        (
            label_text(row),
            format_size(row.size_bytes) if is_one else _workload_text(row),
            *_busiest(row.links.hosts),
            *_busiest(row.links.groups),
        )
        for row in rows
        if row.links is not None
    ]
    headings = ("size" if is_one else "collective", "host link", "plan", "uplink", "plan")
    columns: list[Column[tuple[str, ...]]] = [
        Column("bytes", itemgetter(0), is_text=True),
        *(Column(heading, itemgetter(place)) for place, heading in enumerate(headings, 1)),
    ]
    if busiest:
        print_table(console, columns, busiest)
        console.print()


def _mark_best(
    rows: Sequence[ComparisonRow] | Sequence[OrderRow],
) -> Callable[[ComparisonRow | OrderRow], str]:
    """Return the style of a row: green if its median is the least of all rows."""
    best_s = min(row.median_s for row in rows)
    return lambda row: "green" if row.median_s == best_s else ""


def _workload_text(row: ComparisonRow) -> str:
    """Return the collective and its size: `20 MB` of an all-reduce, `all-gather of 20 MB`."""
    if row.collective == BARRIER:
        return BARRIER
    size = format_size(row.size_bytes)
    return size if row.collective == ALL_REDUCE else f"{row.collective} of {size}"


def _busiest(links: Sequence[LinkBytes]) -> tuple[str, str]:
    """Format the most bytes on any link in one direction: as counted, and as planned."""
    if not links:
        return UNKNOWN, UNKNOWN
    counted = max(max(link.sent_bytes, link.received_bytes) for link in links)
    planned = max(max(link.plan_sent_bytes, link.plan_received_bytes) for link in links)
    return bytes_text(counted), bytes_text(planned)


def _hosts_text(result: Comparison) -> str:
    """Format the number of hosts of a comparison, and of ranks if hosts have several."""
    ranks = result.rows[0].hosts
    everyone, used = len(result.setting.congestion_control), len(set(ranks))
    hosts = f"{everyone} hosts" if used == everyone else f"{used} of {everyone} hosts"
    return hosts if len(ranks) == used else f"{hosts}, {len(ranks)} ranks"


def _conditions_text(result: Comparison) -> str:
    """Format a benchmark's repetitions, seed, congestion control and clients' versions."""
    setting, compared = result.setting, max(1, result.rounds_done)
    control = ", ".join(
        name for name, _ in Counter(setting.congestion_control.values()).most_common()
    )
    first = (list(client.versions.items())[:1] for client in setting.clients.values())
    versions = ", ".join(dict.fromkeys(f"{name} {text}" for part in first for name, text in part))
    repetitions = format_count(compared * setting.repetitions, "repetition")
    ran = f"{repetitions} each in {format_count(compared, 'round')}, seed {setting.seed}"
    return f"{ran}, TCP {control}; {versions}"


def _correlation_text(correlation: Correlation | None) -> str:
    if correlation is None:
        return "not defined"
    if correlation.low is None or correlation.high is None:
        return f"{correlation.value:.2f}"
    return f"{correlation.value:.2f} ({correlation.low:.2f} to {correlation.high:.2f})"


def _limit_text(share: float) -> str:
    return "< 1 %" if share < 0.01 else f"{100.0 * share:.0f} %"
