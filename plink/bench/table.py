"""The table that a person reads."""

from __future__ import annotations

from collections import Counter

from rich.console import Group
from rich.table import Table
from rich.text import Text

from plink.base.size import format_size
from plink.base.text import counted, printable, rtt_text
from plink.bench.result import BenchResult, Correlation, Row


def render(result: BenchResult) -> Group:
    """The rows as a table, with what ran above it and the correlation below."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("order", overflow="fold")
    has_times = any(row.predicted_s is not None for row in result.rows)
    titles = ["median", "fastest", "slowest", "vs given", "vs random", "latency"]
    for title in [*titles, "contention"] if has_times else titles:
        table.add_column(title, justify="right", no_wrap=True)
    best_s = min(row.median_s for row in result.rows)
    for row in result.rows:
        cells = _cells(row)
        table.add_row(
            *(cells if has_times else cells[:-1]), style="green" if row.median_s == best_s else ""
        )
    return Group(Text(_heading(result)), Text(), table, Text(), Text(_closing(result)))


def _cells(row: Row) -> list[str]:
    return [
        printable(row.order),
        _seconds(row.median_s),
        _seconds(row.min_s),
        _seconds(row.max_s),
        _speedup(row.speedup_over_given),
        _speedup(row.speedup_over_random),
        "-" if row.predicted_us is None else rtt_text(row.predicted_us),
        "-" if row.predicted_s is None else _seconds(row.predicted_s),
    ]


def _heading(result: BenchResult) -> str:
    setting = result.setting
    size = format_size(setting.workload.size_bytes)
    everyone, ranks = len(setting.congestion_control), len(result.rows[0].hosts)
    used = len(set(result.rows[0].hosts))
    hosts = f"{everyone} hosts" if used == everyone else f"{used} of {everyone} hosts"
    many = "" if ranks == used else f", {ranks} ranks"
    what = f"{setting.client} {setting.workload.algorithm} allreduce of {size}"
    return f"{what} on {hosts}{many}"


def _closing(result: BenchResult) -> str:
    setting = result.setting
    counts = Counter(setting.congestion_control.values())
    control = ", ".join(name for name, _ in counts.most_common())
    version = " ".join(next(iter(setting.facts.versions.items()), ()))
    compared = max(1, result.rounds_done)
    repetitions = counted(compared * setting.workload.repetitions, "repetition")
    ran = f"{repetitions} an order in {counted(compared, 'round')}, seed {setting.seed}"
    return "\n".join(
        [
            "Spearman rank correlation of predicted and measured (95 % interval):",
            f"  by latency {_correlation(result.by_latency)}",
            f"  by contention {_correlation(result.by_contention)}",
            f"{ran}, TCP {printable(control)}, {printable(version)}",
            "A repetition takes as long as its slowest rank; above 1x is faster",
            *_unfinished(result),
        ]
    )


def _correlation(found: Correlation | None) -> str:
    if found is None:
        return "not defined"
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def _unfinished(result: BenchResult) -> list[str]:
    if result.stopped is None:
        return []
    asked = counted(result.setting.rounds, "round")
    if result.rounds_done == 0:
        compared = "compared is what ran of the first"
    else:
        compared = f"compared are the {counted(result.rounds_done, 'whole round')}"
    return [f"Stopped early, {asked} were asked for: {compared}"]


def _seconds(seconds: float) -> str:
    return rtt_text(seconds * 1e6)


def _speedup(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"
