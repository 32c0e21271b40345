"""The dpdk tool."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from plink.measure.probing.adapters import echo
from plink.measure.probing.adapters.base import Tool, ToolOptions
from plink.measure.probing.collectors.rtt import RttCollector
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
    conduct = partial(tool.measure, nics=options.nics)
    echo.measure(hosts, wanted, rounds, options, sink, conduct=conduct)


TOOL = Tool(
    RttCollector,
    _measure,
    echo.RECORDED,
    lambda options: f"dpdk x {options.count}",
    tool.CORES_PER_PAIR,
)
