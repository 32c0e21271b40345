"""Findings about pairs with damaged data: `#wrong` of nccl-tests above 0."""

from __future__ import annotations

from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.formats.measurements import WRONG_RESULTS

# There is no speed at which wrong results are worth having.
_COST = 1e6
_ADVICE = (
    "look for errors of memory and of the link (nvidia-smi -q, ethtool -S, dmesg) at both ends",
    "run the benchmark on each of the two hosts alone, then with another library version",
)


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each pair whose data arrived damaged, with the first failure."""
    parts = [
        part for part in (evidence.cluster.bandwidth, evidence.cluster.rtt) if part is not None
    ]
    found: dict[frozenset[str], Finding] = {}
    for part in parts:
        for failure in part.failures:
            if failure.kind != WRONG_RESULTS or failure.destination is None:
                continue
            hosts = (failure.source, failure.destination)
            says = f"what {hosts[0]} and {hosts[1]} exchange arrives damaged ({failure.reason})"
            finding = Finding(FindingKind.WRONG_RESULTS, hosts, says, 1.0, _COST, _ADVICE)
            found.setdefault(frozenset(hosts), finding)
    return list(found.values())
