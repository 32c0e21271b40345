"""`plink.diagnose` and `plink doctor`: what slows a cluster or a job down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import keyword_function
from plink.base.text import format_count
from plink.doctor import diagnosis
from plink.doctor.coverage import list_coverage
from plink.doctor.evidence import Evidence
from plink.doctor.finding import DoctorOutput
from plink.formats.comparison import Comparison
from plink.measure.requests import DiagnosisRequest
from plink.verbs.cluster import MeasuredCluster, checked_cluster
from plink.verbs.common import CallbackProgress, build_warner, copy_as, translate_errors

with lazy_imports():
    from plink.verbs import live_diagnosis as live_diagnosis_verb
    from plink.verbs import probe as probe_verb


class Diagnosis(DoctorOutput, frozen=True):
    """Findings about a cluster or a job, and the inputs that they are based on.

    The members of `plink.doctor.finding.DoctorOutput`: `findings`, the weightiest first, each with
    `says`, `hosts`, `certainty`, `evidence` and `advice`; `looked_at`, `not_looked_at` and
    `not_asked`.

    Attributes:
        cluster: with all that was learnt; None for a comparison
    """

    IN_MEMORY: ClassVar = frozenset({"cluster"})
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
        evidence = Evidence(MeasuredCluster([]), comparison=subject, comparison_before=before)
        return judge_evidence(evidence)
    cluster = checked_cluster(subject, "diagnose")
    earlier = None if before is None else checked_cluster(before, "diagnose")
    if not request.live:
        return judge_evidence(Evidence(cluster, before=earlier), cluster=cluster)
    found, missed, asked_at = live_diagnosis_verb.examine(
        cluster,
        request,
        probe_verb.build_way(request),
        source="the cluster",
        progress=CallbackProgress(request.progress),
    )
    cluster = copy_as(MeasuredCluster, found)
    return judge_evidence(Evidence(cluster, before=earlier, asked_at=asked_at), missed, cluster)


def judge_evidence(
    evidence: Evidence, missed: Sequence[str] = (), cluster: MeasuredCluster | None = None
) -> Diagnosis:
    """Return the findings from evidence; `missed` says what could not be measured for it."""
    seen = list_coverage(evidence)
    findings = diagnosis.diagnose(evidence)
    return Diagnosis(findings, seen.present, seen.missing, tuple(missed), cluster)


diagnose = keyword_function(
    "diagnose",
    find_faults,
    DiagnosisRequest,
    build_warner(lambda found: found.not_asked),
    within=translate_errors,
)
