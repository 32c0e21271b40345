"""The fping tool."""

from __future__ import annotations

from collections.abc import Sequence

from plink.measure.probing.adapters.base import Tool, ToolOptions
from plink.measure.probing.collectors.rtt import RttCollector
from probes.fping import tool
from probes.reach import ReachedHost
from probes.samples import Rounds, RttReading, Sink, Wanted


def _measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: Sink[RttReading],
) -> None:
    tool.measure(
        hosts,
        wanted,
        rounds,
        tool.FpingOptions(options.count, options.percentiles, options.timeout_s),
        sink,
        concurrency=options.concurrency,
        ssh_concurrency=options.ssh_concurrency,
        more=options.more,
    )


TOOL = Tool(
    RttCollector,
    _measure,
    ("count", "passes", "precision_percent", "timeout_s", "concurrency"),
    lambda options: f"fping x {options.count}",
)
