"""The measuring tools by name, behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plink.probing.collectors.base import Collector
from plink.probing.collectors.rtt import RttCollector
from probes.echo import coordinator as echo
from probes.echo.protocol import EchoOptions
from probes.fping import tool as fping
from probes.reach import ReachedHost
from probes.samples import RemarkableSink, Rounds, RttReading, Sink, Wanted


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
        port: the UDP port of the echo agents; 0 for any.
        ssh_concurrency: hosts worked on at once over SSH.
        remote_cache: where programs are put on the hosts, or None for the user's cache.
        adaptive: whether fewer pairs may be in flight where they disturb each other.
    """

    count: int
    percentiles: Sequence[float]
    timeout_s: float
    concurrency: int
    port: int = 0
    ssh_concurrency: int = 16
    remote_cache: str | None = None
    precision_percent: float = 0.0
    adaptive: bool = False


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
    sink: RemarkableSink[RttReading],
) -> None:
    echo.measure(
        hosts,
        wanted,
        rounds,
        EchoOptions(
            options.count,
            options.percentiles,
            options.timeout_s,
            options.port,
            options.precision_percent,
        ),
        sink,
        concurrency=options.concurrency,
        adaptive=options.adaptive,
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


_RTT_OPTIONS = ("count", "timeout_s", "concurrency")

TOOLS: dict[str, Tool] = {
    "echo": Tool(
        RttCollector,
        _measure_with_echo,
        (*_RTT_OPTIONS, "precision_percent"),
        lambda options: (
            f"echo x {options.count}" + (" at most" if options.precision_percent else "")
        ),
    ),
    "fping": Tool(
        RttCollector, _measure_with_fping, _RTT_OPTIONS, lambda options: f"fping x {options.count}"
    ),
}
