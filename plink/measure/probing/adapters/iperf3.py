"""The iperf3 tool."""

from __future__ import annotations

from collections.abc import Sequence

from plink.measure.probing.adapters.base import Tool, ToolOptions
from plink.measure.probing.collectors.bandwidth import BandwidthCollector
from probes.iperf3 import tool
from probes.iperf3.commands import TransferOptions
from probes.reach import ReachedHost
from probes.samples import BandwidthReading, Rounds, Sink, Wanted


def _measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: Sink[BandwidthReading],
) -> None:
    transfer = TransferOptions(
        options.duration_s,
        options.streams,
        options.timeout_s,
        options.congestion,
        options.left_s,
    )
    tool.measure(
        hosts,
        wanted,
        rounds,
        tool.Iperf3Options(transfer, options.direction == "both", options.port),
        sink,
        concurrency=options.concurrency,
        ssh_concurrency=options.ssh_concurrency,
    )


TOOL = Tool(
    BandwidthCollector,
    _measure,
    ("duration_s", "streams", "direction", "congestion", "timeout_s", "concurrency"),
    lambda options: f"iperf3 for {options.duration_s} s",
)
