"""The echo tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plink.measure.probing.adapters.base import Tool, ToolOptions
from plink.measure.probing.collectors.rtt import RttCollector
from probes.echo import coordinator
from probes.echo.protocol import EchoOptions
from probes.reach import ReachedHost
from probes.samples import RemarkableSink, Rounds, RttReading, Wanted

RECORDED = ("count", "passes", "precision_percent", "timeout_s", "concurrency")


def measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: RemarkableSink[RttReading],
    *,
    conduct: Callable[..., None] = coordinator.measure,
) -> None:
    """Measure with echo agents; `conduct` takes the arguments of `coordinator.measure`."""
    agent_options = EchoOptions(
        options.count,
        options.percentiles,
        options.timeout_s,
        options.port,
    )
    conduct(
        hosts,
        wanted,
        rounds,
        agent_options,
        sink,
        concurrency=options.concurrency,
        adaptive=options.adaptive,
        ssh_concurrency=options.ssh_concurrency,
        cache_folder=options.remote_cache,
        more=options.more,
    )


TOOL = Tool(RttCollector, measure, RECORDED, lambda options: f"echo x {options.count}")
