"""Drift check over the network: measure a few pairs of a cluster file again and judge."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plink.base.errors import PlinkError, WrongUseError
from plink.base.progress import ProgressListener
from plink.base.replacing import replace
from plink.formats.cluster import Cluster, require_rtt
from plink.formats.hosts import Host
from plink.formats.matrices import Matrix
from plink.formats.measurements import Failure, RttMeasurement
from plink.measure.drift.judge import Baseline, DriftJudgement, Mask, Pair, measure_and_judge
from plink.measure.listed import list_again
from plink.measure.probing.check_transfers import RatesResult, check_rates, holds_rates
from plink.measure.probing.collectors import RttCollector, RunRecord
from plink.measure.probing.passes import FurtherRounds, PassOptions
from plink.measure.probing.request import ProbeRequest, connect_hosts, resume_options
from plink.measure.probing.resume import find_moved_hosts
from plink.measure.probing.run import build_job
from plink.measure.probing.tools import CHECK_PASSES, TOOLS
from plink.probes.errors import OptionError
from plink.probes.hosts.address import IPNetwork
from plink.probes.options import RttOptions
from plink.probes.reach import Reached, Way
from plink.probes.rounds import build_disjoint_rounds

# A seed that a person can type.
_SEEDS = 1 << 31


@dataclass(frozen=True)
class CheckResult:
    """Result of measuring some pairs of a cluster file again.

    Args:
        hosts: number of hosts that were reached.
        judgement: judgement of the readings; its indices are the file's.
        moved: hosts whose traffic address is not the file's: name to the file's and the new one.
        unreachable: hosts of the file that were not reached, and why.
        failures: hosts and pairs that were reached but could not be measured, and why.
        seconds: duration of the probing itself.
        rates: what transfers have shown; None where the file holds nothing to compare with.
        not_checked: what else the file holds and was not measured again, a clause each.
    """

    hosts: int
    judgement: DriftJudgement
    moved: Mapping[str, tuple[str, str]]
    unreachable: Mapping[str, str]
    failures: Sequence[Failure]
    seconds: float
    rates: RatesResult | None = None
    not_checked: Sequence[str] = ()

    @property
    def is_changed(self) -> bool:
        """Whether the file no longer describes the network."""
        rates_changed = self.rates is not None and self.rates.is_changed
        return self.judgement.is_changed or bool(self.moved) or rates_changed

    @property
    def is_whole(self) -> bool:
        """Whether every pair that was to be measured again was measured."""
        return not self.unreachable and not self.failures


def select_comparable_rtt(cluster: Cluster, source: str) -> RttMeasurement:
    """Return the round-trip times of a cluster if plink can measure them again.

    Raises:
        WrongUseError: there are none, or no tool of plink's measured them.
    """
    rtt = require_rtt(cluster, source)
    if rtt.tool not in TOOLS:
        raise WrongUseError(
            f"{source}: plink did not measure its round-trip times (tool: {rtt.tool})",
            "only measurements of plink probe can be checked",
        )
    return rtt


def build_check_request(
    cluster: Cluster,
    source: str,
    given: Mapping[str, Any],
    *,
    network: IPNetwork | None = None,
    interface: str | None = None,
    seed: int | None = None,
    timeout_s: float,
    concurrency: int | None = None,
    way: Way,
) -> ProbeRequest:
    """Return the request to measure a cluster again, with the file's settings unless overridden.

    Args:
        cluster: with round-trip times that are comparable (`select_comparable_rtt`).
        seed: None for one by chance.

    Raises:
        WrongUseError: it was measured otherwise.
    """
    tool = select_comparable_rtt(cluster, source).tool
    known = {"passes": CHECK_PASSES, **given}
    how = resume_options(cluster, source, tool, known, network=network, interface=interface)
    return ProbeRequest(
        list_again(Cluster(cluster.hosts), source),
        options=how.options,
        timeout_s=timeout_s,
        seed=secrets.randbelow(_SEEDS) if seed is None else seed,
        concurrency=concurrency,
        network=how.network,
        interface=how.interface,
        way=way,
    )


def check(
    cluster: Cluster,
    file: Baseline,
    request: ProbeRequest,
    *,
    partners: int,
    transfers_s: float,
    progress: ProgressListener,
) -> CheckResult:
    """Connect to a cluster's hosts, measure some pairs again and judge what changed.

    Where the file holds bandwidths or uplinks, some transfers follow.

    Args:
        file: what its unchanged pairs are expected to take.
        request: how to measure; its hosts are the cluster's, its seed decides which pairs.
        partners: number of partners with which each host is measured again.
        transfers_s: seconds that transfers may take; 0 for none.

    Raises:
        HostListError, OptionError: the request cannot be carried out as it stands.
        PlinkError: fewer than two hosts can be reached, or no pair can be compared.
    """
    with connect_hosts(request, progress) as reached:
        result = check_reached(
            cluster, file, request, reached, partners=partners, progress=progress
        )
        if not holds_rates(cluster):
            return result
        rates = check_rates(
            cluster,
            reached,
            limit_s=transfers_s,
            silence_s=request.timeout_s,
            seed=request.seed,
            progress=progress,
        )
    return replace(
        result,
        failures=[*result.failures, *rates.failures],
        rates=rates,
        not_checked=[*rates.not_checked, *result.not_checked],
    )


def check_reached(
    cluster: Cluster,
    file: Baseline,
    request: ProbeRequest,
    reached: Reached,
    *,
    partners: int,
    progress: ProgressListener,
) -> CheckResult:
    """Measure some pairs of connected hosts again and judge what changed.

    Raises:
        PlinkError: no pair can be compared.
    """
    again = _RepeatedRoundTrips(cluster, request, reached, progress)
    judgement = measure_and_judge(
        file, again.are_reached, again.measure, partners=partners, seed=request.seed
    )
    if judgement is None:
        raise PlinkError("the file has no reading between the hosts that can be reached")
    if not judgement.pairs:
        reasons = sorted({failure.reason for failure in again.failures})
        raise PlinkError(f"no pair could be measured again: {reasons[0] if reasons else 'unknown'}")
    return CheckResult(
        hosts=len(reached.hosts),
        judgement=judgement,
        moved=again.moved,
        unreachable={error.host: str(error) for error in reached.failures},
        failures=again.failures,
        seconds=again.seconds,
        not_checked=_list_unchecked(cluster),
    )


def _list_unchecked(cluster: Cluster) -> list[str]:
    """Return the measurements in the file that no check covers."""
    unchecked = []
    if cluster.bandwidth is not None and cluster.bandwidth.tool not in TOOLS:
        unchecked.append(
            f"bandwidths, which plink did not measure (tool: {cluster.bandwidth.tool})"
        )
    if cluster.routes is not None:
        unchecked.append("routes")
    return unchecked


class _RepeatedRoundTrips:
    """Repeated measurement of pairs between a cluster's reached hosts."""

    def __init__(
        self, cluster: Cluster, request: ProbeRequest, reached: Reached, progress: ProgressListener
    ) -> None:
        self._request = request
        self._reached = reached
        self._progress = progress
        self._cluster = Cluster(cluster.hosts)
        # The index in the file of each reached host.
        places = {name: index for index, name in enumerate(cluster.names)}
        self._places = [places[host.name] for host in reached.hosts]
        present = [Host(host.name, host.address) for host in reached.hosts]
        now = {host.name: host.address for host in present}
        self.moved = {
            name: (before, now[name]) for name, before in find_moved_hosts(present, cluster).items()
        }
        self.failures: list[Failure] = []
        self.seconds = 0.0

    @property
    def are_reached(self) -> Mask:
        """Mask of the pairs whose hosts were both reached, shape (N, N)."""
        there = np.isin(np.arange(len(self._cluster.hosts)), self._places)
        both: Mask = there[:, None] & there[None, :]
        return both

    def measure(self, pairs: Sequence[Pair]) -> Matrix:
        """Measure both directions of pairs; return (N, N) in µs, NaN elsewhere and on failure."""
        request, tool = self._request, TOOLS[self._request.tool]
        options = request.options
        if not isinstance(options, RttOptions) or tool.measure is None:
            raise OptionError(f"{tool.name} does not measure round-trip times")
        collector = RttCollector(
            self._cluster, self._places, options.percentiles, on_settled=self._progress.step
        )
        index = {place: i for i, place in enumerate(self._places)}
        # Both lists have the hosts in the file's order, so that the lower index stays in front.
        rounds = build_disjoint_rounds((index[a], index[b]) for a, b in pairs)
        wanted = collector.missing(rounds)
        self._progress.stage("probing", len(wanted))
        visits = FurtherRounds(
            collector,
            self._places,
            rounds,
            wanted,
            PassOptions(options.passes, options.precision_percent, seed=request.seed),
            on_pass=lambda number, total: self._progress.stage(f"pass {number}", total),
        )
        began = time.monotonic()
        tool.measure(build_job(request, self._reached.hosts, wanted, rounds, visits), collector)
        self.seconds += time.monotonic() - began
        self.failures += collector.failures
        _, measurement = collector.result(RunRecord(request.tool, {}, "", 0.0, ()))
        return measurement.readings_us
