"""`plink.diagnose` and `plink doctor`: what slows a cluster or a job down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import keyword_function
from plink.base.text import format_count
from plink.doctor import diagnosis
from plink.doctor.coverage import list_coverage
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding
from plink.formats.comparison import Comparison
from plink.measure.requests import DiagnosisRequest
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.common import CallbackProgress, build_warner, copy_as, translate_errors

with lazy_imports():
    from plink.verbs import live_diagnosis as live_diagnosis_verb
    from plink.verbs import probe as probe_verb


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Findings about a cluster or a job, and the inputs that they are based on.

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


def find_faults(subject: MeasuredCluster | Comparison, request: DiagnosisRequest) -> Diagnosis:
    """Diagnose what slows a cluster or a job down: where, how sure, by what evidence, what to try.

    Args:
        subject: a cluster, or a comparison of orders that `plink bench` wrote.
        request: what is asked for.

    Raises:
        WrongUseError: an argument is not allowed, or `before` is of another kind than the subject.
        PlinkError: with `live`, fewer than two hosts can be reached.
    """
    before = request.before
    if isinstance(subject, Comparison):
        if request.live:
            raise WrongUseError("a comparison names no hosts to measure", "give a cluster")
        if before is not None and not isinstance(before, Comparison):
            raise WrongUseError("before must be a comparison, as the first argument is")
        return _diagnosis(
            Evidence(MeasuredCluster([]), comparison=subject, comparison_before=before)
        )
    cluster = checked_cluster(subject, "diagnose")
    earlier = None if before is None else checked_cluster(before, "diagnose")
    missed: list[str] = []
    asked_at = None
    if request.live:
        found, missed, asked_at = live_diagnosis_verb.examine(
            cluster,
            request,
            probe_verb.build_way(request),
            source="the cluster",
            progress=CallbackProgress(request.progress),
        )
        cluster = copy_as(MeasuredCluster, found)
    return _diagnosis(Evidence(cluster, before=earlier, asked_at=asked_at), missed, cluster)


def _diagnosis(
    evidence: Evidence, missed: Sequence[str] = (), cluster: MeasuredCluster | None = None
) -> Diagnosis:
    seen = list_coverage(evidence)
    return Diagnosis(
        diagnosis.diagnose(evidence), seen.present, seen.missing, tuple(missed), cluster
    )


diagnose = keyword_function(
    "diagnose",
    find_faults,
    DiagnosisRequest,
    build_warner(lambda found: found.not_asked),
    within=translate_errors,
)
