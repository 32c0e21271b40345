"""The tables that a person reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from plink.base.size import format_size
from plink.base.text import bytes_text, counted, printable, rtt_text
from plink.files.comparison import Comparison, LinkBytes, Row

# Of less data, CPU seconds for a gigabyte say nothing.
_LEAST_CPU_BYTES = 1_000_000

_TITLES = ("median", "fastest", "slowest", "bus", "limit", "predicted", "CPU")
_WIDTHS = (7, 7, 7, 5, 5, 9, 5)
_LINK_TITLES = ("host link", "plan", "uplink", "plan")


def render(result: Comparison) -> Group:
    """A table a size, one of the bytes per link, and what the columns are."""
    rows = result.rows
    sizes = list(dict.fromkeys(row.size_bytes for row in rows))
    width = max(len(label_of(row)) for row in rows)
    parts: list[RenderableType] = [Text(_heading(result)), Text()]
    for number, size_bytes in enumerate(sizes):
        of_size = [row for row in rows if row.size_bytes == size_bytes]
        parts += [Text(_size_heading(of_size[0]), style="bold")]
        parts += [_times(of_size, width, has_header=number == 0), Text()]
    counted_rows = [row for row in rows if row.links is not None]
    if counted_rows:
        parts += [_bytes(counted_rows, width), Text()]
    return Group(*parts, Text(_closing(result)))


def label_of(row: Row) -> str:
    """What ran, in the fewest words: `engine auto (2lha)`, `gloo ring, given`."""
    kind = f" ({row.plan})" if row.plan not in (None, row.algorithm) else ""
    order = f", {row.order}" if row.order else ""
    return printable(f"{row.client} {row.algorithm}{kind}{order}")


def _times(rows: Sequence[Row], width: int, *, has_header: bool) -> Table:
    table = Table(
        box=None,
        pad_edge=False,
        header_style="bold",
        padding=(0, 2, 0, 0),
        show_header=has_header,
    )
    table.add_column("", overflow="fold", min_width=min(width, 16), max_width=width)
    for title, least in zip(_TITLES, _WIDTHS, strict=True):
        table.add_column(title, justify="right", no_wrap=True, min_width=least)
    best_s = min(row.median_s for row in rows)
    for row in rows:
        table.add_row(label_of(row), *_cells(row), style="green" if row.median_s == best_s else "")
    return table


def _cells(row: Row) -> list[str]:
    share = row.share_of_limit
    has_cpu = row.cpu_s_per_gb is not None and row.size_bytes >= _LEAST_CPU_BYTES
    return [
        _seconds(row.median_s),
        _seconds(row.min_s),
        _seconds(row.max_s),
        f"{row.bus_mbit:.2f}" if row.bus_mbit < 10.0 else f"{row.bus_mbit:.0f}",
        "-" if share is None else "< 1 %" if share < 0.01 else f"{100.0 * share:.0f} %",
        _seconds(row.predicted_s),
        f"{row.cpu_s_per_gb:.2f}" if has_cpu else "-",
    ]


def _bytes(rows: Sequence[Row], width: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("bytes", overflow="fold", min_width=min(width, 16))
    table.add_column("size", justify="right", no_wrap=True)
    for title in _LINK_TITLES:
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        if row.links is not None:
            size = format_size(row.size_bytes)
            table.add_row(
                label_of(row), size, *_busiest(row.links.hosts), *_busiest(row.links.groups)
            )
    return table


def _busiest(links: Sequence[LinkBytes]) -> tuple[str, str]:
    """The most that any of some links carries in a direction: counted, and by the plan."""
    if not links:
        return "-", "-"
    found = max(max(link.sent_bytes, link.received_bytes) for link in links)
    planned = max(max(link.plan_sent_bytes, link.plan_received_bytes) for link in links)
    return bytes_text(found), bytes_text(planned)


def _heading(result: Comparison) -> str:
    rows = result.rows
    hosts, ranks = len(result.setting.congestion_control), len(rows[0].hosts)
    many = "" if ranks == hosts else f", {ranks} ranks"
    clients = ", ".join(dict.fromkeys(row.client for row in rows))
    return f"allreduce by {clients} on {hosts} hosts{many}"


def _size_heading(row: Row) -> str:
    size = format_size(row.size_bytes)
    if row.limit_s is None:
        return size
    links = "hosts' links" if row.limit_by == "hosts" else "uplinks"
    return f"{size}, at least {_seconds(row.limit_s)} by {links}"


def _closing(result: Comparison) -> str:
    setting = result.setting
    counts = Counter(setting.congestion_control.values())
    control = ", ".join(name for name, _ in counts.most_common())
    compared = max(1, result.rounds_done)
    repetitions = counted(compared * setting.repetitions, "repetition")
    versions = dict(
        version
        for facts in setting.clients.values()
        for version in list(facts.versions.items())[:1]
    )
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    ran = f"{repetitions} each in {counted(compared, 'round')}, seed {setting.seed}"
    return "\n".join(
        [
            f"{ran}, TCP {printable(control)}; {printable(named)}",
            "A repetition takes as long as its slowest rank. Bus: Mbit/s. Limit: the least",
            "time that links allow, over the median. CPU: seconds for a GB and rank. Links:",
            "the busiest one.",
            *_unfinished(result),
        ]
    )


def _unfinished(result: Comparison) -> list[str]:
    if result.stopped is None:
        return []
    asked = counted(result.setting.rounds, "round")
    done = result.rounds_done
    compared = f"so much is compared: {counted(done, 'round')}" if done else "the first is compared"
    return [f"Stopped early, asked for were {asked}; {compared}"]


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else rtt_text(seconds * 1e6)
