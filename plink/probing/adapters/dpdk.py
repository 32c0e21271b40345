"""The dpdk tool."""

from __future__ import annotations

from collections.abc import Sequence

from plink.probing.adapters.base import Tool, ToolOptions
from plink.probing.adapters.echo import RECORDED, echo_options, probes
from plink.probing.collectors.rtt import RttCollector
from probes.dpdk import tool
from probes.reach import ReachedHost
from probes.samples import RemarkableSink, Rounds, RttReading, Wanted


def _measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: RemarkableSink[RttReading],
) -> None:
    tool.measure(
        hosts,
        wanted,
        rounds,
        echo_options(options),
        sink,
        concurrency=options.concurrency,
        adaptive=options.adaptive,
        ssh_concurrency=options.ssh_concurrency,
        cache_folder=options.remote_cache,
        nics=options.nics,
    )


TOOL = Tool(
    RttCollector,
    _measure,
    RECORDED,
    lambda options: f"dpdk {probes(options)}",
    tool.CORES_PER_PAIR,
)
