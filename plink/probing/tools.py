"""The measuring tools by name, behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plink.probing.collectors.bandwidth import BandwidthCollector
from plink.probing.collectors.base import Collector
from plink.probing.collectors.rtt import RttCollector
from probes.echo import coordinator as echo
from probes.echo.protocol import EchoOptions
from probes.fping import tool as fping
from probes.iperf3 import tool as iperf3
from probes.iperf3.commands import TransferOptions
from probes.reach import ReachedHost
from probes.samples import BandwidthReading, Rounds, RttReading, Sink, Wanted


@dataclass(frozen=True)
class ToolOptions:
    """How to measure. Every tool takes what concerns it.

    Args:
        count: probes per direction of a pair.
        percentiles: what to report of the samples; the first stands for a pair.
        timeout_s: how long a host may be silent before it is given up.
        concurrency: pairs in flight.
        port: the UDP port of the echo agents, the TCP port of iperf3; 0 for any.
        duration_s: whole seconds of a test with iperf3.
        streams: TCP connections of such a test.
        direction: `each` direction of a pair by itself, or `both` at once.
        congestion: the senders' congestion control, None for the hosts' own.
        ssh_concurrency: hosts worked on at once over SSH.
        remote_cache: where programs are put on the hosts, or None for the user's cache.
    """

    count: int
    percentiles: Sequence[float]
    timeout_s: float
    concurrency: int
    port: int = 0
    duration_s: int = 1
    streams: int = 1
    direction: str = "each"
    congestion: str | None = None
    ssh_concurrency: int = 16
    remote_cache: str | None = None


# Measures the wanted directed pairs of the rounds into a sink.
Measure = Callable[[Sequence[ReachedHost], Wanted, Rounds, ToolOptions, Any], None]


@dataclass(frozen=True)
class Tool:
    """A measuring tool.

    Args:
        collector: what gathers its readings, and so what quantity it measures.
        measure: carries it out.
        options: names of the `ToolOptions` that a cluster file records.
        describe: a few words on how it measures with these options.
    """

    collector: type[Collector[Any]]
    measure: Measure
    options: Sequence[str]
    describe: Callable[[ToolOptions], str]


def _measure_with_echo(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: Sink[RttReading],
) -> None:
    echo.measure(
        hosts,
        wanted,
        rounds,
        EchoOptions(options.count, options.percentiles, options.timeout_s, options.port),
        sink,
        concurrency=options.concurrency,
        ssh_concurrency=options.ssh_concurrency,
        cache_folder=options.remote_cache,
    )


def _measure_with_fping(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: Sink[RttReading],
) -> None:
    fping.measure(
        hosts,
        wanted,
        rounds,
        fping.FpingOptions(options.count, options.percentiles, options.timeout_s),
        sink,
        concurrency=options.concurrency,
        ssh_concurrency=options.ssh_concurrency,
    )


def _measure_with_iperf3(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: Sink[BandwidthReading],
) -> None:
    iperf3.measure(
        hosts,
        wanted,
        rounds,
        iperf3.Iperf3Options(transfer_options(options), options.direction == "both", options.port),
        sink,
        concurrency=options.concurrency,
        ssh_concurrency=options.ssh_concurrency,
    )


def transfer_options(options: ToolOptions) -> TransferOptions:
    """What all tests with iperf3 have in common."""
    return TransferOptions(
        options.duration_s, options.streams, options.timeout_s, options.congestion
    )


_RTT_OPTIONS = ("count", "timeout_s", "concurrency")

TOOLS: dict[str, Tool] = {
    "echo": Tool(
        RttCollector, _measure_with_echo, _RTT_OPTIONS, lambda options: f"echo x {options.count}"
    ),
    "fping": Tool(
        RttCollector, _measure_with_fping, _RTT_OPTIONS, lambda options: f"fping x {options.count}"
    ),
    "iperf3": Tool(
        BandwidthCollector,
        _measure_with_iperf3,
        ("duration_s", "streams", "direction", "congestion", "timeout_s", "concurrency"),
        lambda options: f"iperf3 for {options.duration_s} s",
    ),
}
