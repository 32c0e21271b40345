"""`plink.check` and `plink check`: whether a cluster still describes its network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.progress import ProgressListener
from plink.base.request import keyword_function
from plink.base.text import format_count, format_names
from plink.measure.drift.judge import build_baseline
from plink.measure.listed import apply_recorded_way
from plink.measure.probing import check as checking
from plink.measure.requests import CheckRequest
from plink.model.estimating import estimate_round_trips
from plink.probes.reach import Way
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.common import CallbackProgress, build_warner, copy_as, translate_errors
from plink.verbs.probe import build_way, gaps


@dataclass(frozen=True, repr=False)
class Verdict(checking.CheckResult):
    """Verdict of `plink.check`: whether a cluster still describes its network.

    The members of `plink.measure.probing.check.CheckResult`, of which most are used: `is_changed`,
    `is_whole`, `moved`, `unreachable`, `rates` (of links and uplinks) and `not_checked`.

    Args:
        names: names of the cluster's hosts.
        seed: seed that measures the same pairs again.
    """

    names: Sequence[str] = ()
    seed: int = 0

    @property
    def changed(self) -> list[list[str]]:
        """Lists of hosts whose round-trip times to all others changed, most changed pairs first."""
        return [[self.names[host] for host in each.hosts] for each in self.judgement.changes]

    def __repr__(self) -> str:
        found = "no longer describes" if self.is_changed else "still describes"
        pairs = f"{len(self.judgement.changed)} of {format_count(self.judgement.pairs, 'pair')} "
        pairs += "changed" if self.is_changed else "differ by chance"
        hosts = "".join(f"; {format_names(together)}" for together in self.changed)
        if self.rates is not None and self.rates.changes:
            links = dict.fromkeys(change.name for change in self.rates.changes)
            hosts += f"; links of {format_names(list(links))}"
        return f"<plink.Verdict: {found} the network, {pairs}{hosts}>"


def measure_again(
    cluster: MeasuredCluster,
    request: CheckRequest,
    *,
    way: Way | None = None,
    source: str = "the cluster",
    progress: ProgressListener | None = None,
) -> Verdict:
    """Measure a sample of a cluster's pairs again, and judge whether the file still holds.

    Args:
        cluster: cluster that `probe` made; it is measured again in the way that it records.
        request: what is asked for.
        way: how hosts are reached; None for what the request says.
        source: what messages call the cluster.
        progress: observer in place of the request's.

    Raises:
        WrongUseError: an argument is not allowed, or another program measured the round-trip times.
        PlinkError: fewer than two hosts can be reached, or no pair could be compared.
    """
    known = checked_cluster(cluster, "check")
    rtt = checking.select_comparable_rtt(known, source)
    request.refuse_unused(rtt.tool, f"and {source} was measured with {rtt.tool}")
    probe_request = checking.build_check_request(
        known,
        source,
        request.tool_options(rtt.tool),
        network=request.ip_network,
        interface=request.interface,
        seed=request.seed,
        timeout_s=request.timeout_s,
        concurrency=request.concurrency,
        way=apply_recorded_way(way or build_way(request), known.way, source),
    )
    found = checking.check(
        known,
        build_baseline(rtt, estimate_round_trips(known)),
        probe_request,
        partners=request.partner_count,
        transfers_s=request.transfers_s,
        progress=progress or CallbackProgress(request.progress),
    )
    return copy_as(Verdict, found, names=known.names, seed=probe_request.seed)


def _list_gaps(verdict: Verdict) -> list[str]:
    unreachable = [f"{name}: {reason}" for name, reason in verdict.unreachable.items()]
    return unreachable + gaps([], verdict.failures)


check = keyword_function(
    "check", measure_again, CheckRequest, build_warner(_list_gaps), within=translate_errors
)
