"""The trace tool."""

from __future__ import annotations

from collections.abc import Sequence

from plink.measure.probing.adapters.base import Tool, ToolOptions
from plink.measure.probing.collectors.routes import RouteCollector
from probes.reach import ReachedHost
from probes.samples import Rounds, RouteReading, Sink, Wanted
from probes.trace import tool


def _measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: Sink[RouteReading],
) -> None:
    tool.measure(
        hosts,
        wanted,
        rounds,
        tool.TraceOptions(
            options.count,
            options.timeout_s,
            options.max_hops,
            options.remote_python,
            options.port,
        ),
        sink,
        concurrency=options.concurrency,
        ssh_concurrency=options.ssh_concurrency,
    )


TOOL = Tool(
    RouteCollector,
    _measure,
    ("count", "timeout_s", "concurrency", "max_hops"),
    lambda options: f"trace x {options.count}",
    cores_per_pair=0,
)
