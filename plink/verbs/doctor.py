"""`plink.diagnose`: what slows a cluster or a job down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from plink.base.arguments import number
from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.progress import OnProgress
from plink.base.text import format_count
from plink.doctor import diagnosis
from plink.doctor.coverage import list_coverage
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding
from plink.files.comparison import Comparison
from plink.probes.options import SshOptions
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.objects import copy_as
from plink.verbs.progress import CallbackProgress
from plink.verbs.warning import warn

with lazy_imports():
    from plink.measure import listed
    from plink.verbs import errors as errors_verb
    from plink.verbs import live_diagnosis as live_diagnosis_verb
    from plink.verbs import probe as probe_verb


_SOURCE = "the cluster"
_TRANSFERS_S = 60.0


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Findings about a cluster or a job, and which inputs they are based on.

    Args:
        findings: the weightiest first, none where nothing is wrong; each has `says`, `hosts`,
            `certainty`, `evidence` and `advice` (`plink.doctor.finding.Finding`).
        looked_at: what there was to look at, a clause each: with its date, or "measured now".
        not_looked_at: what there was not, whose health is not known.
        not_asked: hosts that could not be asked, and measurements that failed, a sentence each.
        cluster: with all that was learnt; None for a comparison.
    """

    findings: Sequence[Finding]
    looked_at: Sequence[str]
    not_looked_at: Sequence[str]
    not_asked: Sequence[str] = ()
    cluster: MeasuredCluster | None = None

    def __repr__(self) -> str:
        count = format_count(len(self.findings), "finding") if self.findings else "nothing found"
        says = "".join(f"; {each.says} ({each.certainty})" for each in self.findings)
        return f"<plink.Diagnosis: {count}{says}>"


def diagnose(
    subject: MeasuredCluster | Comparison,
    *,
    before: MeasuredCluster | Comparison | None = None,
    live: bool = False,
    transfers_s: float = _TRANSFERS_S,
    timeout_s: float = 2.0,
    ssh: SshOptions | None = None,
    via: str | None = None,
    progress: OnProgress | None = None,
) -> Diagnosis:
    """Find what slows a cluster or a job down: where, by what evidence, how surely, what to try.

    Args:
        subject: a cluster, or a comparison of orders that `plink bench` wrote.
        before: the same hosts, or the same comparison, when all was well.
        live: ask the hosts of the cluster for settings, counters, clocks and load, and measure
            round trips, hosts' links and uplinks anew.
        transfers_s: with `live`: seconds after which no transfer is begun; 0 for none.
        timeout_s: with `live`: seconds of silence after which a host is given up.
        ssh: with `live`: how hosts are reached; None for the user's own SSH configuration.
        via: with `live`: a command that leads into a host, in place of SSH, as in
            `kubectl exec -i {host} --`; None for SSH.
        progress: with `live`: called at every step, by any thread.

    Raises:
        WrongUseError: an argument that cannot be, or `before` is of another kind than the subject.
        PlinkError: with `live`, fewer than two hosts can be reached.
    """
    number("transfers_s", transfers_s, 0.0, 3600.0)
    number("timeout_s", timeout_s, 0.05, 600.0)
    if isinstance(subject, Comparison):
        if live:
            raise WrongUseError("a comparison names no hosts to measure", "give a cluster")
        if before is not None and not isinstance(before, Comparison):
            raise WrongUseError("before is not a comparison, as the first argument is")
        return _diagnosis(
            Evidence(MeasuredCluster([]), comparison=subject, comparison_before=before)
        )
    cluster = checked_cluster(subject, "diagnose")
    earlier = None if before is None else checked_cluster(before, "diagnose")
    missed: list[str] = []
    asked_at = None
    if live:
        asked_at = datetime.now(timezone.utc).replace(microsecond=0)
        with errors_verb.plinks_errors():
            found, missed = live_diagnosis_verb.examine(
                cluster,
                listed.apply_recorded_way(probe_verb.build_way(ssh, via), cluster.way, _SOURCE),
                CallbackProgress(progress),
                source=_SOURCE,
                transfers_s=transfers_s,
                timeout_s=timeout_s,
            )
        cluster = copy_as(MeasuredCluster, found)
        for text in missed:
            warn(text)
    return _diagnosis(Evidence(cluster, before=earlier, asked_at=asked_at), missed, cluster)


def _diagnosis(
    evidence: Evidence, missed: Sequence[str] = (), cluster: MeasuredCluster | None = None
) -> Diagnosis:
    seen = list_coverage(evidence)
    return Diagnosis(
        diagnosis.diagnose(evidence), seen.present, seen.missing, tuple(missed), cluster
    )
