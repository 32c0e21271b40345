"""Measuring what concerns some hosts of a cluster again, with the tools that measured it first."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np

from plink.autotune.reprobing import merging
from plink.autotune.reprobing.replanning import Regrouped, regroup_cluster
from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.groups import UplinkMeasurement
from plink.formats.measurements import BandwidthMeasurement, Failure, RttMeasurement
from plink.measure.listed import to_listed_host
from plink.measure.probing.request import (
    ProbeRequest,
    connect_hosts,
    resume_options,
    resume_tool,
)
from plink.measure.probing.run import ProbeResult, measure_pairs
from plink.measure.probing.tools import TOOLS, UplinkOptions
from plink.measure.probing.uplinks import UplinkResult, measure_uplinks
from plink.probes.errors import ProbesError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.iperf3.tool import OUT_OF_TIME
from plink.probes.reach import Reached, Way

_BANDWIDTH_TOOL = "iperf3"

SecondsLeft = Callable[[], float]
"""For how many seconds training stays paused; 0 where it is not, or no longer."""
Quiesce = Callable[[], AbstractContextManager[SecondsLeft]]
"""Makes a context in which training is paused, for as long as the function that it gives says."""


@dataclass(frozen=True)
class Measured:
    """Result of measuring again.

    Args:
        found: the cluster as it is now, and what that changes.
        reached: names of the hosts that were asked for and reached.
        unreachable: sentences on those that were not.
        failures: directed pairs that could not be measured.
        without: sentences on what links carry where that could not be measured at all.
        has_rates: whether there was time to measure what links carry, if it was measured before.
        paused_s: for how many seconds training was to be paused when measuring began.
        is_paused: whether it still was in the end.
        seconds: how long measuring took.
    """

    found: Regrouped
    reached: Sequence[str]
    unreachable: Sequence[str]
    failures: Sequence[Failure]
    without: Sequence[str]
    has_rates: bool
    paused_s: float
    is_paused: bool
    seconds: float


class _Silent:
    """Progress that is shown to nobody."""

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""

    def step(self) -> None:
        """Do a step."""

    def say(self, text: str) -> None:
        """Report a message."""


def measure_again(
    cluster: Cluster, source: str, hosts: Collection[str], way: Way, quiesce: Quiesce
) -> Measured:
    """Measure these hosts' round-trip times to all others, and what else the cluster knows of them.

    Args:
        cluster: what is known; without round-trip times of plink's tools all pairs are measured.
        source: its file, for errors.
        hosts: names of those concerned.
        way: how hosts are reached.
        quiesce: entered when hosts are reached, left when all is measured.

    Raises:
        PlinkError, ProbesError: none of the hosts concerned can be reached, or measured.
    """
    listed = [to_listed_host(host, source) for host in cluster.hosts]
    run = _Remeasurement(cluster, source, set(hosts), listed, way)
    with connect_hosts(run.request(cluster.rtt), _Silent()) as reached:
        present = [host.name for host in reached.hosts if host.name in run.concerned]
        unreachable = [f"{error.host}: {error}" for error in reached.failures]
        if not present:
            raise PlinkError(f"none of the hosts concerned can be reached: {unreachable[0]}")
        with quiesce() as left_s:
            began_s, paused_s = time.monotonic(), left_s()
            found = run.measure(reached, left_s)
            is_paused, seconds = left_s() > 0.0, time.monotonic() - began_s
    return Measured(
        found,
        present,
        unreachable,
        run.failures,
        run.without,
        run.is_in_time,
        paused_s,
        is_paused,
        seconds,
    )


class _Remeasurement:
    """Measurements that are repeated this time, and those that failed."""

    def __init__(
        self,
        cluster: Cluster,
        source: str,
        concerned: set[str],
        listed: Sequence[ListedHost],
        way: Way,
    ) -> None:
        self.concerned = concerned
        self.failures: list[Failure] = []
        self.without: list[str] = []
        self.is_in_time = True
        self._cluster, self._source = cluster, source
        self._listed, self._way = listed, way
        self._places = [i for i, name in enumerate(cluster.names) if name in concerned]

    def measure(self, reached: Reached, left_s: SecondsLeft) -> Regrouped:
        """Round-trip times, groups, and what links carry where that was measured before.

        A transfer beside those of a training says nothing: none is begun for which too little time
        is left, and one that ended too late does not count.
        """
        found = self._measure_rtt(reached, left_s)
        cluster = found.cluster
        bandwidth, uplinks = cluster.bandwidth, self._cluster.uplinks
        if bandwidth is not None and bandwidth.tool == _BANDWIDTH_TOOL and self._has_time(left_s):
            with self._kept_otherwise("bandwidth"):
                cluster = self._measure_bandwidth(cluster, bandwidth, reached, left_s)
        if uplinks is not None and len(cluster.groups) > 1 and self._has_time(left_s):
            with self._kept_otherwise("uplinks"):
                cluster = self._measure_uplinks(cluster, uplinks, reached, left_s)
        return replace(found, cluster=cluster)

    @contextlib.contextmanager
    def _kept_otherwise(self, what: str) -> Iterator[None]:
        """Keep the old readings if measuring fails: round-trip times and groups are still good."""
        try:
            yield
        except (PlinkError, ProbesError) as error:
            self.without.append(f"{what} could not be measured again: {error}")

    def _has_time(self, left_s: SecondsLeft) -> bool:
        if left_s() <= 0.0:
            self.is_in_time = False
        return self.is_in_time

    def _without_late(self, failures: Sequence[Failure]) -> Sequence[Failure]:
        """Return the failures with another reason than lack of time, which is said once for all."""
        others = [each for each in failures if OUT_OF_TIME not in each.reason]
        self.is_in_time = self.is_in_time and len(others) == len(failures)
        return others

    def request(
        self, before: RttMeasurement | BandwidthMeasurement | None, earlier: Cluster | None = None
    ) -> ProbeRequest:
        """Build a request for the same measurement as before."""
        if before is None or before.tool not in TOOLS:
            return ProbeRequest(self._listed, way=self._way, earlier=earlier)
        return ProbeRequest(
            self._listed,
            self._cluster.made_from,
            way=self._way,
            earlier=earlier,
            **vars(resume_options(self._cluster, self._source, before.tool, {})),
        )

    def _measure_rtt(self, reached: Reached, left_s: SecondsLeft) -> Regrouped:
        """Measure round-trip times, and once more if hosts seem to have moved.

        Other work may make a host's round trips longer for the seconds that measuring takes. Once
        is enough where too little of the pause would be left for measuring what links carry.
        """
        before = self._cluster.rtt
        if before is None or before.tool not in TOOLS:
            after = self._probe(self.request(None, replace(self._cluster, rtt=None)), reached)
            return regroup_cluster(self._cluster, after, None)
        known = merging.controls(before, self._places)
        size = len(self._cluster.hosts)
        pairs = merging.with_pairs(merging.pairs_of(self._places, size), known)
        blank = replace(self._cluster, rtt=merging.without_rtt(before, pairs))
        began_left_s = left_s()
        after = self._probe(self.request(before, blank), reached)
        if after.rtt is None:
            raise PlinkError("no round-trip time could be measured")
        rtt, measured_us = merging.merge_rtt(before, after.rtt, pairs, known)
        if np.isnan(measured_us).all():
            raise PlinkError("no pair of hosts could be measured")
        found = regroup_cluster(self._cluster, replace(after, rtt=rtt), measured_us)
        has_rates = self._cluster.bandwidth is not None or self._cluster.uplinks is not None
        if not found.moved or (has_rates and 2.0 * left_s() < began_left_s):
            return found
        try:
            again = self._probe(self.request(before, blank), reached)
        except (PlinkError, ProbesError):
            return found
        if again.rtt is None:
            return found
        least = merging.least_rtt(before, after.rtt, again.rtt)
        names = self._cluster.names
        unread = {(names[i], names[j]) for i, j in np.argwhere(np.isnan(least.readings_us))}
        failures = {(each.source, each.destination): each for each in self.failures}
        self.failures = [each for pair, each in failures.items() if pair in unread]
        rtt, measured_us = merging.merge_rtt(before, least, pairs, known)
        return regroup_cluster(self._cluster, replace(again, rtt=rtt), measured_us)

    def _measure_bandwidth(
        self, cluster: Cluster, before: BandwidthMeasurement, reached: Reached, left_s: SecondsLeft
    ) -> Cluster:
        pairs = merging.transfers_of(self._places, len(cluster.hosts))
        blank = replace(cluster, bandwidth=merging.without_bandwidth(before, pairs))
        request = replace(self.request(before, blank), left_s=left_s)
        after = self._probe(request, reached)
        if after.bandwidth is None or np.isnan(after.bandwidth.gbit_s[pairs]).all():
            return cluster
        found = merging.merged_bandwidth(before, after.bandwidth, self._places, pairs)
        found = replace(found, failures=self._without_late(found.failures))
        return replace(after, bandwidth=found)

    def _measure_uplinks(
        self, cluster: Cluster, before: UplinkMeasurement, reached: Reached, left_s: SecondsLeft
    ) -> Cluster:
        request = replace(
            self.request(None, merging.without_uplinks(cluster, self.concerned)),
            options=resume_tool(
                UplinkOptions, {"groups": cluster.groups}, before.options, self._source
            ),
            left_s=left_s,
        )
        found: list[UplinkResult] = []
        measure_uplinks(request, reached, _Silent(), found.append)
        measured = found[0].measurement
        measured = replace(measured, failures=self._without_late(measured.failures))
        after = replace(found[0].cluster, uplinks=measured)
        return merging.merged_uplinks(self._cluster, after)

    def _probe(self, request: ProbeRequest, reached: Reached) -> Cluster:
        found: list[Cluster] = []

        def keep(result: ProbeResult) -> None:
            found.append(result.cluster)
            self.failures += self._without_late(result.measurement.failures)

        measure_pairs(request, reached, _Silent(), keep)
        if found[0].names != self._cluster.names:
            raise PlinkError("the hosts are no longer those of the cluster file")
        return replace(found[0], unreachable=self._cluster.unreachable)
