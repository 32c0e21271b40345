"""The table that a person reads."""

from __future__ import annotations

import math
from collections import Counter

from rich.console import Group
from rich.table import Table
from rich.text import Text

from plink.bench.result import BenchResult, Row
from plink.bench.size import format_size
from plink.view.text import counted, printable, rtt_text


def render(result: BenchResult) -> Group:
    """The rows as a table, with what ran above it and the correlation below."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("order", overflow="fold")
    for title in ("median", "fastest", "slowest", "vs given", "vs random", "predicted"):
        table.add_column(title, justify="right", no_wrap=True)
    best_s = min(row.median_s for row in result.rows)
    for row in result.rows:
        table.add_row(*_cells(row), style="green" if row.median_s == best_s else "")
    return Group(Text(_heading(result)), Text(), table, Text(), Text(_closing(result)))


def _cells(row: Row) -> list[str]:
    return [
        printable(row.order),
        _seconds(row.median_s),
        _seconds(row.min_s),
        _seconds(row.max_s),
        _speedup(row.speedup_over_given),
        _speedup(row.speedup_over_random),
        rtt_text(row.predicted_us),
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
    version = " ".join(next(iter(setting.facts.versions.items()), ()))
    correlation = "not defined" if result.spearman is None else f"{result.spearman:.2f}"
    most = max(len(row.samples_s) for row in result.rows)
    # Fewer than were asked for, where something ended the bench early.
    rounds = counted(math.ceil(most / setting.workload.repetitions), "round")
    ran = f"{counted(most, 'repetition')} an order in {rounds}, seed {setting.seed}"
    return "\n".join(
        [
            f"Spearman rank correlation of predicted and measured: {correlation}",
            f"{ran}, TCP {printable(control)}, {printable(version)}",
            "A repetition takes as long as its slowest rank; above 1x is faster",
        ]
    )


def _seconds(seconds: float) -> str:
    return rtt_text(seconds * 1e6)


def _speedup(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"
