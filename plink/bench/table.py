"""The table that a person reads."""

from __future__ import annotations

from collections import Counter

from rich.console import Group
from rich.table import Table
from rich.text import Text

from plink.bench.result import BenchResult, Row
from plink.bench.size import format_size


def render(result: BenchResult) -> Group:
    """The rows as a table, with what ran above it and the correlation below."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("order")
    for title in ("median", "fastest to slowest", "bus Mbit/s", "vs given", "vs random"):
        table.add_column(title, justify="right")
    table.add_column("predicted", justify="right")
    best_s = min(row.median_s for row in result.rows)
    for row in result.rows:
        table.add_row(*_cells(row), style="green" if row.median_s == best_s else "")
    return Group(
        Text(_heading(result)), Text(), table, Text(), Text(_closing(result), overflow="fold")
    )


def _cells(row: Row) -> list[str]:
    return [
        row.order,
        _seconds(row.median_s),
        f"{_seconds(row.min_s)} to {_seconds(row.max_s)}",
        f"{row.bus_mbit:.0f}",
        _speedup(row.speedup_over_given),
        _speedup(row.speedup_over_random),
        f"{row.predicted_us:.0f} µs",
    ]


def _heading(result: BenchResult) -> str:
    setting = result.setting
    size = format_size(setting.workload.size_bytes)
    hosts = len(setting.congestion_control)
    return f"{setting.client} {setting.workload.algorithm} allreduce of {size} on {hosts} hosts"


def _closing(result: BenchResult) -> str:
    setting = result.setting
    counts = Counter(setting.congestion_control.values())
    control = ", ".join(name for name, _ in counts.most_common())
    correlation = "not defined" if result.spearman is None else f"{result.spearman:.2f}"
    launches = max(len(row.samples_s) for row in result.rows)
    return (
        f"Spearman rank correlation of predicted and measured: {correlation}\n"
        f"Up to {launches} repetitions an order over {setting.rounds} rounds, "
        f"TCP {control}, seed {setting.seed}\n"
        "A repetition takes as long as its slowest rank; a speedup above 1 is faster"
    )


def _seconds(seconds: float) -> str:
    if seconds >= 0.1:
        return f"{seconds:.3f} s"
    return f"{seconds * 1e3:.2f} ms"


def _speedup(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"
