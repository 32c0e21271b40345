"""Findings about hosts whose processors are busy with other work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from plink.doctor.certainty import probability, spread
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.probes.condition import HostCondition

_LEAST_HOSTS = 3
# Of what a program gets elsewhere, and of the log of that: what differs from host to host at least.
_LITTLE = 0.6
_LEAST_SPREAD = 0.2
# Of all processors' time, while nothing is measured.
_BUSY, _IDLE = 0.8, 0.5
_STOLEN = 0.1
# Of the periods in which a program wants all of a processor.
_THROTTLED = 0.3
_READ = 0.98
_MOST_SHARE = 0.3


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host that gets less of its processors than the others."""
    said = evidence.conditions
    if len(said) < _LEAST_HOSTS:
        return []
    found = {each.hosts[0]: each for each in _find_busy_hosts(evidence)}
    for each in (
        *_find_stolen_time(evidence),
        *_find_starved_hosts(evidence),
        *_find_throttled_hosts(evidence),
    ):
        found[each.hosts[0]] = each
    return list(found.values()) if len(found) <= max(1, int(_MOST_SHARE * len(said))) else []


def _find_starved_hosts(evidence: Evidence) -> list[Finding]:
    shares = _known_values(evidence, lambda each: each.processor_share)
    if len(shares) < _LEAST_HOSTS:
        return []
    logs = np.log(np.maximum(1e-3, np.array(list(shares.values()))))
    usual, noise = float(np.exp(np.median(logs))), spread(logs, _LEAST_SPREAD)
    return [
        Finding(
            FindingKind.BUSY,
            [host],
            f"a program that wants all of a processor gets {100.0 * share:.0f} % of it on {host}, "
            f"and {100.0 * usual:.0f} % on the other hosts (median)",
            probability(float(np.log(usual) - log) / noise, len(shares)),
            min(10.0, usual / share),
            [
                f"look what runs on {host}: top, systemd-cgtop; another job, a runaway process",
                "look for a limit of the container or the job: cpu.max, nr_throttled in cpu.stat",
            ],
        )
        for (host, share), log in zip(shares.items(), logs, strict=True)
        if share < _LITTLE * usual
    ]


def _find_throttled_hosts(evidence: Evidence) -> list[Finding]:
    shares = _known_values(evidence, lambda each: each.throttled_share)
    gets = _known_values(evidence, lambda each: each.processor_share)
    if sum(share > _THROTTLED for share in shares.values()) > _MOST_SHARE * len(
        evidence.conditions
    ):
        return []
    return [
        Finding(
            FindingKind.BUSY,
            [host],
            f"a limit stops programs on {host} in {100.0 * share:.0f} % of its periods: one that "
            f"wants all of a processor gets {100.0 * gets.get(host, 0.0):.0f} % of it",
            _READ,
            min(10.0, 1.0 / max(gets.get(host, 1.0), 0.1)),
            [
                "raise the limit of the container or the job: cpu.max, the pod's limits.cpu",
                f"look what else runs on {host} under the same limit: systemd-cgtop",
            ],
        )
        for host, share in shares.items()
        if share > _THROTTLED
    ]


def _find_busy_hosts(evidence: Evidence) -> list[Finding]:
    return _find_above(
        evidence,
        lambda each: each.busy_share,
        (_BUSY, _IDLE),
        "the processors of {host} are {share:.0f} % busy while nothing is measured, those of the "
        "other hosts {usual:.0f} % (median)",
    )


def _find_stolen_time(evidence: Evidence) -> list[Finding]:
    return _find_above(
        evidence,
        lambda each: each.steal_share,
        (_STOLEN, _STOLEN / 2.0),
        "the machine below {host} takes {share:.0f} % of its processors' time (steal), of the "
        "other hosts' {usual:.0f} % (median)",
    )


def _find_above(
    evidence: Evidence,
    share_of: Callable[[HostCondition], float | None],
    limits: tuple[float, float],
    says: str,
) -> list[Finding]:
    """Return the hosts above the first limit, if the others are below the second."""
    shares = _known_values(evidence, share_of)
    usual = float(np.median(list(shares.values()))) if shares else 1.0
    return [
        Finding(
            FindingKind.BUSY,
            [host],
            says.format(host=host, share=100.0 * share, usual=100.0 * usual),
            _READ,
            1.0 / max(0.1, 1.0 - share),
            [
                f"look what runs on {host}: top, systemd-cgtop",
                (
                    "a virtual machine beside a busy one: ask for another, "
                    "or for processors of its own"
                ),
            ],
        )
        for host, share in shares.items()
        if share > limits[0] and usual < limits[1]
    ]


def _known_values(
    evidence: Evidence, value_of: Callable[[HostCondition], float | None]
) -> dict[str, float]:
    values = {host: value_of(each) for host, each in evidence.conditions.items()}
    return {host: value for host, value in values.items() if value is not None}
