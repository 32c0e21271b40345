"""The measuring tools by name, behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from plink.probing.collectors.bandwidth import BandwidthCollector
from plink.probing.collectors.base import Collector
from plink.probing.collectors.routes import RouteCollector
from plink.probing.collectors.rtt import RttCollector
from plink.probing.limits import DEFAULT_MAX_HOPS, DEFAULT_REMOTE_PYTHON
from probes.dpdk import tool as dpdk
from probes.dpdk.nics import Nic
from probes.echo import coordinator as echo
from probes.echo.protocol import EchoOptions
from probes.fping import tool as fping
from probes.iperf3 import tool as iperf3
from probes.iperf3.commands import TransferOptions
from probes.reach import ReachedHost
from probes.samples import (
    BandwidthReading,
    RemarkableSink,
    Rounds,
    RouteReading,
    RttReading,
    Sink,
    Wanted,
)
from probes.trace import tool as trace


@dataclass(frozen=True)
class ToolOptions:
    """How to measure. Every tool takes what concerns it.

    Args:
        count: probes per direction of a pair at most.
        precision_percent: how precisely a pair's percentile is to be known, so that fewer probes
            are enough; 0 to send them all.
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
        adaptive: whether fewer pairs may be in flight where they disturb each other.
        nics: those that hosts give to DPDK altogether.
        max_hops: how many hops away a host may be.
        remote_python: the Python on the hosts that has what a tool needs there.
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
    precision_percent: float = 0.0
    adaptive: bool = False
    nics: Sequence[Nic] = ()
    max_hops: int = DEFAULT_MAX_HOPS
    remote_python: str = DEFAULT_REMOTE_PYTHON


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
        cores_per_pair: how many cores a pair takes where hosts share a machine; 0 where pairs do
            not disturb each other.
    """

    collector: type[Collector[Any]]
    measure: Measure
    options: Sequence[str]
    describe: Callable[[ToolOptions], str]
    cores_per_pair: int = 1


def _echo_options(options: ToolOptions) -> EchoOptions:
    return EchoOptions(
        options.count,
        options.percentiles,
        options.timeout_s,
        options.port,
        options.precision_percent,
    )


def _describe_echo(tool: str, options: ToolOptions) -> str:
    return f"{tool} x {options.count}" + (" at most" if options.precision_percent else "")


def _measure_with_echo(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: RemarkableSink[RttReading],
) -> None:
    echo.measure(
        hosts,
        wanted,
        rounds,
        _echo_options(options),
        sink,
        concurrency=options.concurrency,
        adaptive=options.adaptive,
        ssh_concurrency=options.ssh_concurrency,
        cache_folder=options.remote_cache,
    )


def _measure_with_dpdk(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: RemarkableSink[RttReading],
) -> None:
    dpdk.measure(
        hosts,
        wanted,
        rounds,
        _echo_options(options),
        sink,
        concurrency=options.concurrency,
        adaptive=options.adaptive,
        ssh_concurrency=options.ssh_concurrency,
        cache_folder=options.remote_cache,
        nics=options.nics,
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


def _measure_with_trace(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: ToolOptions,
    sink: Sink[RouteReading],
) -> None:
    trace.measure(
        hosts,
        wanted,
        rounds,
        trace.TraceOptions(
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
_ECHO_OPTIONS = (*_RTT_OPTIONS, "precision_percent")

TOOLS: dict[str, Tool] = {
    "echo": Tool(
        RttCollector,
        _measure_with_echo,
        _ECHO_OPTIONS,
        partial(_describe_echo, "echo"),
    ),
    "dpdk": Tool(
        RttCollector,
        _measure_with_dpdk,
        _ECHO_OPTIONS,
        partial(_describe_echo, "dpdk"),
        dpdk.CORES_PER_PAIR,
    ),
    "fping": Tool(
        RttCollector, _measure_with_fping, _RTT_OPTIONS, lambda options: f"fping x {options.count}"
    ),
    "trace": Tool(
        RouteCollector,
        _measure_with_trace,
        ("count", "timeout_s", "concurrency", "max_hops"),
        lambda options: f"trace x {options.count}",
        cores_per_pair=0,
    ),
    "iperf3": Tool(
        BandwidthCollector,
        _measure_with_iperf3,
        ("duration_s", "streams", "direction", "congestion", "timeout_s", "concurrency"),
        lambda options: f"iperf3 for {options.duration_s} s",
    ),
}
