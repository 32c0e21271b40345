"""The tables that a person reads: of orders, or of clients, plans and sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from plink.base.size import format_size
from plink.base.text import bytes_text, format_count, printable, rtt_text
from plink.bench.order_report import Correlation, OrderFigures, OrderReport
from plink.formats.comparison import Comparison, ComparisonRow, LinkBytes
from plink.plans.names import ALL_REDUCE, BARRIER

# For less data, CPU seconds for a gigabyte say nothing.
_LEAST_CPU_BYTES = 1_000_000

_ORDER_TITLES = ("median", "fastest", "slowest", "vs given", "vs random", "latency", "contention")
_SIZE_TITLES = ("median", "fastest", "slowest", "bus", "limit", "predicted", "CPU")
_SIZE_WIDTHS = (7, 7, 7, 5, 5, 9, 5)
_LINK_TITLES = ("host link", "plan", "uplink", "plan")

_ABOUT_ORDERS = "A repetition takes as long as its slowest rank; above 1x is faster"
_ABOUT_SIZES = """\
A repetition takes as long as its slowest rank. Bus: Mbit/s. Limit: the least
time that links allow, over the median. CPU: seconds for a GB and rank. Links:
the busiest one."""


def render(result: Comparison, orders: OrderReport | None = None) -> Group:
    """Render a bench's results, with its conditions above and the columns' meaning below.

    For a bench of orders a table of these and how well they were predicted; otherwise a table a
    size and one of the bytes per link.
    """
    if orders is None:
        clients = ", ".join(dict.fromkeys(row.client for row in result.rows))
        heading = f"{collectives_of(result.rows)} by {clients}"
        body, about = _of_sizes(result.rows), _ABOUT_SIZES
    else:
        first = result.rows[0]
        heading = f"{first.client} {first.algorithm} allreduce of {format_size(first.size_bytes)}"
        body, about = _of_orders(result.rows, orders), _ABOUT_ORDERS
    closing = [printable(_conditions(result)), about, *map(printable, _early_stop_lines(result))]
    served = result.setting.clients.get("hub")
    if served is not None:
        # The caveat without which a server with many ports would look like magic.
        closing += [printable(f"{name}: {said}") for name, said in served.settings.items()]
    # Names in it are the file's.
    heading = printable(f"{heading} on {_place(result)}")
    return Group(Text(heading), Text(), *body, Text("\n".join(closing)))


def collectives_of(rows: Sequence[ComparisonRow]) -> str:
    """Return the collectives that ran, as text."""
    names = dict.fromkeys(row.collective for row in rows)
    return "allreduce" if list(names) == [ALL_REDUCE] else ", ".join(names)


def what_ran(row: ComparisonRow) -> str:
    """`20 MB` of an all-reduce, `all-gather of 20 MB`, `barrier`."""
    if row.collective == ALL_REDUCE:
        return format_size(row.size_bytes)
    if row.collective == BARRIER:
        return BARRIER
    return f"{row.collective} of {format_size(row.size_bytes)}"


def label_of(row: ComparisonRow) -> str:
    """Name a case in the fewest words: `engine auto (2lha)`, `gloo ring, given`."""
    kind = f" ({row.plan})" if row.plan not in (None, row.algorithm) else ""
    order = f", {row.order}" if row.order else ""
    return printable(f"{row.client} {row.algorithm}{kind}{order}")


def _of_orders(rows: Sequence[ComparisonRow], report: OrderReport) -> list[RenderableType]:
    has_times = any(row.predicted_s is not None for row in rows)
    table = _table("order", _ORDER_TITLES if has_times else _ORDER_TITLES[:-1])
    best_s = min(row.median_s for row in rows)
    for row, order in zip(rows, report.orders, strict=True):
        cells = [*_times(row), *_order_cells(row, order)]
        table.add_row(
            printable(row.order or ""),
            *(cells if has_times else cells[:-1]),
            style="green" if row.median_s == best_s else "",
        )
    correlations = [
        "Spearman rank correlation of predicted and measured (95 % interval):",
        f"  by latency {_correlation(report.by_latency)}",
        f"  by contention {_correlation(report.by_contention)}",
    ]
    return [table, Text(), Text("\n".join(correlations))]


def _of_sizes(rows: Sequence[ComparisonRow]) -> list[RenderableType]:
    width = max(len(label_of(row)) for row in rows)
    parts: list[RenderableType] = []
    workloads: dict[tuple[str, int], list[ComparisonRow]] = {}
    for row in rows:
        workloads.setdefault((row.collective, row.size_bytes), []).append(row)
    for number, of_size in enumerate(workloads.values()):
        table = _table("", _SIZE_TITLES, width, widths=_SIZE_WIDTHS)
        table.show_header = number == 0
        best_s = min(row.median_s for row in of_size)
        for row in of_size:
            style = "green" if row.median_s == best_s else ""
            table.add_row(label_of(row), *_times(row), *_size_cells(row), style=style)
        # What servers allow is no bound of the others.
        plain = [row for row in of_size if row.client != "hub"] or of_size
        parts += [Text(_size_heading(plain[0]), style="bold"), table, Text()]
    if any(row.links is not None for row in rows):
        parts += [_of_links(rows, width), Text()]
    return parts


def _of_links(rows: Sequence[ComparisonRow], width: int) -> Table:
    has_one_collective = len({row.collective for row in rows}) == 1
    title = "size" if has_one_collective else "collective"
    table = _table("bytes", (title, *_LINK_TITLES), width)
    for row in rows:
        if row.links is not None:
            busiest = (*_busiest(row.links.hosts), *_busiest(row.links.groups))
            what = format_size(row.size_bytes) if has_one_collective else what_ran(row)
            table.add_row(label_of(row), what, *busiest)
    return table


def _table(
    first: str, titles: Sequence[str], width: int = 0, *, widths: Sequence[int] | None = None
) -> Table:
    """Return an empty one, whose first column has labels of up to `width` characters."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(first, overflow="fold", min_width=min(width, 16) or None)
    for title, least in zip(titles, widths or [0] * len(titles), strict=True):
        table.add_column(title, justify="right", no_wrap=True, min_width=least or None)
    return table


def _times(row: ComparisonRow) -> list[str]:
    return [_seconds(row.median_s), _seconds(row.min_s), _seconds(row.max_s)]


def _order_cells(row: ComparisonRow, order: OrderFigures) -> list[str]:
    return [
        _speedup(order.speedup_over_given),
        _speedup(order.speedup_over_random),
        "-" if order.predicted_us is None else rtt_text(order.predicted_us),
        _seconds(row.predicted_s),
    ]


def _size_cells(row: ComparisonRow) -> list[str]:
    share = row.share_of_limit
    has_cpu = row.cpu_s_per_gb is not None and row.size_bytes >= _LEAST_CPU_BYTES
    return [
        f"{row.bus_mbit:.2f}" if row.bus_mbit < 10.0 else f"{row.bus_mbit:.0f}",
        "-" if share is None else "< 1 %" if share < 0.01 else f"{100.0 * share:.0f} %",
        _seconds(row.predicted_s),
        f"{row.cpu_s_per_gb:.2f}" if has_cpu else "-",
    ]


def _busiest(links: Sequence[LinkBytes]) -> tuple[str, str]:
    """Return the most that any of some links carries in a direction: counted, and by the plan."""
    if not links:
        return "-", "-"
    found = max(max(link.sent_bytes, link.received_bytes) for link in links)
    planned = max(max(link.plan_sent_bytes, link.plan_received_bytes) for link in links)
    return bytes_text(found), bytes_text(planned)


def _size_heading(row: ComparisonRow) -> str:
    size = what_ran(row)
    if row.limit_s is None:
        return size
    links = "hosts' links" if row.limit_by == "hosts" else "uplinks"
    return f"{size}, at least {_seconds(row.limit_s)} by {links}"


def _place(result: Comparison) -> str:
    """Return how many hosts, and how many ranks where these are not one a host."""
    ranks = result.rows[0].hosts
    everyone, used = len(result.setting.congestion_control), len(set(ranks))
    hosts = f"{everyone} hosts" if used == everyone else f"{used} of {everyone} hosts"
    return hosts if len(ranks) == used else f"{hosts}, {len(ranks)} ranks"


def _conditions(result: Comparison) -> str:
    setting = result.setting
    counts = Counter(setting.congestion_control.values())
    control = ", ".join(name for name, _ in counts.most_common())
    versions = dict(
        version
        for client in setting.clients.values()
        for version in list(client.versions.items())[:1]
    )
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    compared = max(1, result.rounds_done)
    repetitions = format_count(compared * setting.repetitions, "repetition")
    ran = f"{repetitions} each in {format_count(compared, 'round')}, seed {setting.seed}"
    return f"{ran}, TCP {printable(control)}; {printable(named)}"


def _early_stop_lines(result: Comparison) -> list[str]:
    if result.stopped is None:
        return []
    asked, done = format_count(result.setting.rounds, "round"), result.rounds_done
    if not done:
        return [f"Stopped early, in the first of {asked}: what ran of it is compared"]
    return [f"Stopped early, after {done} of {asked}: only whole rounds are compared"]


def _correlation(found: Correlation | None) -> str:
    if found is None:
        return "not defined"
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else rtt_text(seconds * 1e6)


def _speedup(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"
