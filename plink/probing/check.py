"""Measuring a few pairs of a cluster file again, to see whether it still describes its network."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plink.drift.judge import (
    Judgement,
    common_factor,
    judge,
    nearer_to_file,
    noise_ceilings,
)
from plink.drift.sample import Pair, both_ways_us, more_partners, pairs_to_check
from plink.errors import PlinkError
from plink.files.cluster import Cluster
from plink.files.measurement import Failure, Matrix
from plink.files.rtt import RttMeasurement
from plink.probing.collectors.base import Run
from plink.probing.collectors.rtt import RttCollector
from plink.probing.request import ProbeRequest
from plink.probing.resume import moved_hosts
from plink.probing.run import TooFewReachedError, tool_options
from plink.probing.tools import TOOLS
from plink.progress import Progress
from probes.reach import Reached, reach
from probes.tournament import disjoint_rounds

# What seems to have changed is measured again so often, and counts only if it stays so.
_CONFIRMATIONS = 2
# Hosts that seem to have changed get so many times the partners before they are named.
_MORE_PARTNERS = 3
# Pairs that did not change are measured again too, for the common factor: about so many.
_CONTROLS = 32


@dataclass(frozen=True)
class CheckResult:
    """What measuring again has shown.

    Args:
        hosts: how many were reached.
        judgement: of the readings; its indices are the file's.
        moved: hosts whose traffic address is not the file's: name to the file's and the new one.
        unreachable: hosts of the file that were not reached, and why.
        failures: hosts and pairs that were reached but could not be measured, and why.
        seconds: how long the probing itself took.
    """

    hosts: int
    judgement: Judgement
    moved: Mapping[str, tuple[str, str]]
    unreachable: Mapping[str, str]
    failures: Sequence[Failure]
    seconds: float

    @property
    def is_changed(self) -> bool:
        """Whether the file no longer describes the network."""
        return self.judgement.is_changed or bool(self.moved)

    @property
    def is_whole(self) -> bool:
        """Whether all that was to be measured again was."""
        return not self.unreachable and not self.failures


def check(
    cluster: Cluster,
    rtt: RttMeasurement,
    request: ProbeRequest,
    *,
    partners: int,
    progress: Progress,
) -> CheckResult:
    """Measure some pairs again, those that seem changed twice, and judge.

    Args:
        cluster: what is checked.
        rtt: the round-trip times in it.
        request: how to measure; its hosts are the cluster's, its seed decides which pairs.
        partners: of every host, how many are measured again.

    Raises:
        HostListError, OptionError: the request cannot be carried out as it stands.
        PlinkError: fewer than two hosts can be reached, or no pair can be compared.
    """
    progress.stage("connecting", len(request.hosts))
    with reach(
        request.hosts,
        request.ssh,
        network=request.network,
        interface=request.interface,
        on_done=progress.step,
    ) as reached:
        if len(reached.hosts) < 2:
            raise TooFewReachedError(reached.failures)
        again = _Again(cluster, request, reached, progress)
        judgement = _judge(again, rtt, partners, request.seed)
    return CheckResult(
        hosts=len(reached.hosts),
        judgement=judgement,
        moved=again.moved,
        unreachable={error.host: str(error) for error in reached.failures},
        failures=again.failures,
        seconds=again.seconds,
    )


def _judge(again: _Again, rtt: RttMeasurement, partners: int, seed: int) -> Judgement:
    times_us = both_ways_us(again.among_reached(rtt.readings_us))
    pairs = pairs_to_check(times_us, partners, seed)
    if not pairs:
        raise PlinkError("the file has no reading between the hosts that can be reached")
    ceilings = noise_ceilings(rtt)
    first_us = again.measure(pairs)
    found = judge(rtt.readings_us, first_us, ceilings)
    if not found.pairs:
        reasons = sorted({failure.reason for failure in again.failures})
        raise PlinkError(f"no pair could be measured again: {reasons[0] if reasons else 'unknown'}")
    # Each run has its own common factor: the hosts may be busy in one and idle in the next.
    common, steady_us = found.common_factor, first_us / found.common_factor
    for _ in range(_CONFIRMATIONS):
        if not found.changed:
            break
        controls = found.unchanged[:: max(1, len(found.unchanged) // _CONTROLS)]
        more = more_partners(times_us, _suspects(found), pairs, _MORE_PARTNERS * partners, seed)
        pairs = sorted({*pairs, *more})
        again_us = again.measure(sorted({*found.changed, *controls, *more}))
        factor = common_factor(rtt.readings_us, again_us, controls) or common
        steady_us = nearer_to_file(rtt.readings_us, steady_us, again_us / factor)
        found = judge(rtt.readings_us, steady_us, ceilings)
    return replace(found, common_factor=common)


def _suspects(found: Judgement) -> list[int]:
    """The hosts that seem to have changed, or else all that have a pair that changed."""
    named = {host for change in found.changes for host in change.hosts}
    return sorted(named or {host for pair in found.changed for host in pair})


class _Again:
    """Measures pairs of a cluster's hosts that were reached."""

    def __init__(
        self, cluster: Cluster, request: ProbeRequest, reached: Reached, progress: Progress
    ) -> None:
        self._request = request
        self._reached = reached
        self._progress = progress
        self._cluster = Cluster(cluster.hosts)
        place = {name: index for index, name in enumerate(cluster.names)}
        # Of each reached host, its index in the file.
        self._places = [place[host.name] for host in reached.hosts]
        present = [
            replace(cluster.hosts[index], address=host.address)
            for index, host in zip(self._places, reached.hosts, strict=True)
        ]
        now = {host.name: host.address for host in present}
        self.moved = {
            name: (before, now[name]) for name, before in moved_hosts(present, cluster).items()
        }
        self.failures: list[Failure] = []
        self.seconds = 0.0

    def among_reached(self, matrix: Matrix) -> Matrix:
        """The matrix with NaN wherever a host is concerned that was not reached."""
        there = np.zeros(len(matrix), dtype=np.bool_)
        there[self._places] = True
        return np.where(there[:, None] & there[None, :], matrix, np.nan)

    def measure(self, pairs: Sequence[Pair]) -> Matrix:
        """Both directions of these pairs, (N, N) in µs, NaN elsewhere and where one failed."""
        request = self._request
        options = tool_options(request, self._reached.hosts)
        collector = RttCollector(
            self._cluster, self._places, request.percentiles, on_settled=self._progress.step
        )
        index = {place: i for i, place in enumerate(self._places)}
        # Both lists have the hosts in the file's order, so that the lower index stays in front.
        rounds = disjoint_rounds((index[a], index[b]) for a, b in pairs)
        wanted = collector.missing(rounds)
        self._progress.stage("probing", len(wanted))
        began = time.monotonic()
        TOOLS[request.tool].measure(self._reached.hosts, wanted, rounds, options, collector)
        self.seconds += time.monotonic() - began
        self.failures += collector.failures
        _, measurement = collector.result(Run(request.tool, {}, "", 0.0, ()))
        return measurement.readings_us
