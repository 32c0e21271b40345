"""The measuring tools by name, behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from probes.echo import coordinator as echo
from probes.echo.protocol import EchoOptions
from probes.fping import tool as fping
from probes.reach import ReachedHost
from probes.samples import Sink, Wanted


@dataclass(frozen=True)
class ToolOptions:
    """How to measure, in terms that every tool understands.

    Args:
        count: probes per direction of a pair.
        percentiles: what to report of the samples.
        timeout_s: how long a host may be silent before it is given up.
        concurrency: pairs in flight.
        port: the UDP port of the echo agents; 0 for any.
        ssh_concurrency: hosts worked on at once over SSH.
        remote_cache: where programs are put on the hosts, or None for the user's cache.
    """

    count: int
    percentiles: Sequence[float]
    timeout_s: float
    concurrency: int
    port: int = 0
    ssh_concurrency: int = 16
    remote_cache: str | None = None


# Measures the wanted directed pairs into a sink.
Tool = Callable[[Sequence[ReachedHost], Wanted, ToolOptions, Sink], None]


def _measure_with_echo(
    hosts: Sequence[ReachedHost], wanted: Wanted, options: ToolOptions, sink: Sink
) -> None:
    echo.measure(
        hosts,
        wanted,
        EchoOptions(options.count, options.percentiles, options.timeout_s, options.port),
        sink,
        concurrency=options.concurrency,
        ssh_concurrency=options.ssh_concurrency,
        cache_folder=options.remote_cache,
    )


def _measure_with_fping(
    hosts: Sequence[ReachedHost], wanted: Wanted, options: ToolOptions, sink: Sink
) -> None:
    fping.measure(
        hosts,
        wanted,
        fping.FpingOptions(options.count, options.percentiles, options.timeout_s),
        sink,
        concurrency=options.concurrency,
        ssh_concurrency=options.ssh_concurrency,
    )


TOOLS: dict[str, Tool] = {"echo": _measure_with_echo, "fping": _measure_with_fping}
