"""Findings about hosts whose clocks are off."""

from __future__ import annotations

import numpy as np

from plink.base.text import rtt_text
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind

# Below a tenth of a second clocks disturb no timeout, and logs can still be compared.
_LEAST_S = 0.1
_LEAST_HOSTS = 3
_READ = 0.999
_COST = 1.02


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host whose clock differs beyond the uncertainty of asking."""
    offsets = {
        host: (each.clock_offset_s, each.clock_error_s or 0.0)
        for host, each in evidence.conditions.items()
        if each.clock_offset_s is not None
    }
    if len(offsets) < _LEAST_HOSTS:
        return []
    usual_s = float(np.median([offset for offset, _ in offsets.values()]))
    usual_error_s = float(np.median([error for _, error in offsets.values()]))
    return [
        Finding(
            FindingKind.CLOCK,
            [host],
            f"the clock of {host} is {_seconds(abs(offset - usual_s))} "
            f"{'ahead of' if offset > usual_s else 'behind'} those of the other hosts "
            f"(± {_seconds(error + usual_error_s)})",
            _READ,
            _COST,
            [
                "let it keep time by NTP or PTP: chronyc tracking, or timedatectl",
                "times in logs of this host, and certificates and leases on it, are off as much",
            ],
        )
        for host, (offset, error) in offsets.items()
        if abs(offset - usual_s) > _LEAST_S + error + usual_error_s
    ]


def _seconds(seconds: float) -> str:
    return rtt_text(seconds * 1e6) if seconds < 999.0 else f"{seconds:,.0f} s"
