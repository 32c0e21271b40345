"""The state of jobs as Prometheus metrics, made when they are asked for.

Imports prometheus_client, which is an extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from plink.autotune.protocol.status import Floats, JobStatus
from plink.autotune.tuner.interface import Action

Family = CounterMetricFamily | GaugeMetricFamily
Value = Callable[[JobStatus], float]

_GAUGES: Sequence[tuple[str, str, Value]] = (
    ("ranks", "Ranks of the job", lambda job: job.ranks),
    ("ranks_connected", "Ranks that report", lambda job: job.ranks_there),
    ("plan", "Number of the newest plan", lambda job: job.plan),
    ("plan_in_force", "Number of the plan of the last window", lambda job: job.plan_in_force),
    (
        "iteration_seconds",
        "Median iteration of the last window",
        lambda job: job.iteration_s or 0.0,
    ),
    ("iteration_bytes", "Bytes reduced in an iteration", lambda job: job.reduced_bytes),
    (
        "throughput_bytes_per_second",
        "Bytes reduced by the iteration's median",
        lambda job: job.throughput_bytes_s,
    ),
    (
        "reprobe_hosts",
        "Hosts that are to be probed again",
        lambda job: len(job.reprobe_hosts),
    ),
)
_COUNTERS: Sequence[tuple[str, str, Value]] = (
    ("windows", "Windows that all ranks reported", lambda job: job.windows),
    (
        "windows_incomplete",
        "Windows that a rank did not report",
        lambda job: job.windows_incomplete,
    ),
    ("windows_unread", "Windows without iterations", lambda job: job.windows_unread),
    ("windows_unlogged", "Windows that could not be logged", lambda job: job.windows_unlogged),
)


class Connections(Protocol):
    """The part of `plink.autotune.daemon.server.Server` that is used here."""

    dropped: int
    mute: int

    @property
    def waiting(self) -> int:
        """How many have not proven the secret yet."""


class JobCollector(Collector):
    """Collects the metrics of all jobs of a daemon.

    Args:
        jobs: their state, which may change meanwhile.
        door: counts the daemon's connections.
    """

    def __init__(self, jobs: Sequence[JobStatus], door: Connections) -> None:
        self._jobs = jobs
        self._door = door

    def collect(self) -> Iterator[Family]:
        """Yield all metrics, as they are now."""
        for name, text, value in _GAUGES:
            gauge = GaugeMetricFamily(f"plink_autotune_{name}", text, labels=["job"])
            for job in self._jobs:
                gauge.add_metric([job.name], value(job))
            yield gauge
        for name, text, value in _COUNTERS:
            counter = CounterMetricFamily(f"plink_autotune_{name}", text, labels=["job"])
            for job in self._jobs:
                counter.add_metric([job.name], value(job))
            yield counter
        yield self._decisions()
        yield from self._of_hosts()
        yield CounterMetricFamily(
            "plink_autotune_connections_dropped",
            "Connections that were dropped: not a rank or viewer of a job",
            value=self._door.dropped,
        )
        yield CounterMetricFamily(
            "plink_autotune_connections_mute",
            "Connections that were dropped before they had said who they are",
            value=self._door.mute,
        )
        yield GaugeMetricFamily(
            "plink_autotune_connections_waiting",
            "Connections that have not proven the secret yet",
            value=self._door.waiting,
        )

    def _decisions(self) -> Family:
        counter = CounterMetricFamily(
            "plink_autotune_decisions", "Decisions of the tuner", labels=["job", "action"]
        )
        for job in self._jobs:
            for action in Action:
                counter.add_metric([job.name, action.name.lower()], job.decisions[action.value])
        return counter

    def _of_hosts(self) -> Iterator[Family]:
        of_jobs = [(job, _host_values(job)) for job in self._jobs]
        for name, text in (
            ("host_sent_bytes", "Bytes that a host sent to others in an iteration"),
            ("host_busy_seconds", "Longest that a host's flow had something to send"),
            ("host_retransmissions", "Segments sent again in the last window"),
            ("host_rtt_seconds", "Longest round trip to another host"),
            ("host_rate_bytes_per_second", "Fastest delivery on a connection of the host"),
            ("host_waited_seconds", "Longest without room at a receiver in the last window"),
        ):
            gauge = GaugeMetricFamily(f"plink_autotune_{name}", text, labels=["job", "host"])
            for job, values in of_jobs:
                for host, value in zip(job.hosts, values.get(name, ()), strict=False):
                    gauge.add_metric([job.name, host], float(value))
            yield gauge


def _host_values(job: JobStatus) -> Mapping[str, Floats]:
    """Return the figures of hosts, (H,) each, by name; nothing before the first window."""
    if job.iteration_s is None:
        return {}
    return {
        "host_sent_bytes": job.sent_bytes,
        "host_busy_seconds": job.busy_s,
        "host_retransmissions": job.retransmissions,
        "host_rtt_seconds": job.rtt_s,
        "host_rate_bytes_per_second": job.rate_bytes_s,
        "host_waited_seconds": job.waited_s,
    }
