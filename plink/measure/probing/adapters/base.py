"""What every measuring tool looks like to a probe run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from plink.measure.probing.collectors.base import Collector
from plink.measure.probing.limits import DEFAULT_MAX_HOPS, DEFAULT_REMOTE_PYTHON
from probes.dpdk.nics import Nic
from probes.iperf3.commands import no_limit
from probes.reach import ReachedHost
from probes.samples import More, Rounds, Wanted, no_more


@dataclass(frozen=True)
class ToolOptions:
    """How to measure. Every tool takes what concerns it.

    Args:
        count: probes per direction of a pair, each time it meets.
        passes: how often a pair meets at most.
        precision_percent: a pair whose passes disagree by no more meets twice; 0 for all passes.
        more: the rounds of the next pass, asked once all of those before is measured.
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
        left_s: how many seconds are left for tests with iperf3, asked by any thread.
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
    passes: int = 1
    precision_percent: float = 0.0
    more: More = no_more
    adaptive: bool = False
    nics: Sequence[Nic] = ()
    max_hops: int = DEFAULT_MAX_HOPS
    remote_python: str = DEFAULT_REMOTE_PYTHON
    left_s: Callable[[], float] = no_limit


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
