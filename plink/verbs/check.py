"""`plink.check`: whether a cluster still describes its network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plink.base.arguments import MAX_SEED, number, whole
from plink.base.progress import OnProgress
from plink.base.text import format_count, format_names
from plink.measure.drift.judge import expect
from plink.measure.listed import apply_recorded_way
from plink.measure.probing import check as checking
from plink.measure.probing.limits import CHECK_PARTNERS, CHECK_TRANSFERS_S
from plink.model.estimating import estimate_round_trips
from plink.probes.options import SshOptions
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.errors import plinks_errors
from plink.verbs.objects import copy_as
from plink.verbs.probe import build_way, gaps, tool_options
from plink.verbs.progress import CallbackProgress
from plink.verbs.warning import warn

_SOURCE = "the cluster"


@dataclass(frozen=True, repr=False)
class Verdict(checking.CheckResult):
    """Result of measuring some pairs of a cluster again.

    The members of `plink.measure.probing.check.CheckResult`, of which most are used: `is_changed`,
    `is_whole`, `moved`, `unreachable`, `rates` (of links and uplinks) and `not_checked`.

    Args:
        names: names of the cluster's hosts.
    """

    names: Sequence[str] = ()

    @property
    def changed(self) -> list[list[str]]:
        """Names of hosts that changed together, those with most changed pairs first."""
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


def check(
    cluster: MeasuredCluster,
    *,
    partners: int = CHECK_PARTNERS,
    transfers_s: float = CHECK_TRANSFERS_S,
    seed: int | None = None,
    timeout_s: float = 2.0,
    concurrency: int | None = None,
    ssh: SshOptions | None = None,
    via: str | None = None,
    progress: OnProgress | None = None,
    **options: Any,
) -> Verdict:
    """Measure a small sample of pairs again, and judge whether the cluster is still valid.

    Args:
        cluster: that `probe` made; it is measured as it says that it was.
        partners: how many of every host are measured again.
        transfers_s: seconds that transfers may take, where the cluster has bandwidths or uplinks;
            0 for none.
        seed: decides which; None for others each time.
        timeout_s: seconds of silence after which a host is given up.
        concurrency: pairs in flight; None to choose by what the hosts share.
        ssh: how hosts are reached; None for the user's own SSH configuration.
        via: a command that leads into a host, in place of SSH, as in
            `kubectl exec -i {host} --`; None for SSH.
        progress: called at every step, by any thread.
        options: options of the tool, as `count` and `passes`.

    Raises:
        WrongUseError: an argument that cannot be, or round-trip times of another program.
        PlinkError: fewer than two hosts can be reached, or no pair could be compared.
    """
    known = checked_cluster(cluster, "check")
    whole("partners", partners, 2, 1 << 16)
    whole("seed", seed, 0, MAX_SEED)
    whole("concurrency", concurrency, 1, 1 << 16)
    number("timeout_s", timeout_s, 0.05, 600.0)
    number("transfers_s", transfers_s, 0.0, 3600.0)
    rtt = checking.select_comparable_rtt(known, _SOURCE)
    with plinks_errors():
        request = checking.build_check_request(
            known,
            _SOURCE,
            tool_options(rtt.tool, options),
            seed=seed,
            timeout_s=timeout_s,
            concurrency=concurrency,
            way=apply_recorded_way(build_way(ssh, via), known.way, _SOURCE),
        )
        found = checking.check(
            known,
            expect(rtt, estimate_round_trips(known)),
            request,
            partners=partners,
            transfers_s=transfers_s,
            progress=CallbackProgress(progress),
        )
    for name, reason in found.unreachable.items():
        warn(f"{name}: {reason}")
    for text in gaps([], found.failures):
        warn(text)
    return copy_as(Verdict, found, names=known.names)
