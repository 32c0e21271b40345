"""Findings about hosts with other traffic while nothing is measured."""

from __future__ import annotations

import numpy as np

from plink.base.text import bandwidth_text
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind

# Of what a host's link carries.
_LEAST_SHARE = 0.1
_LEAST_HOSTS = 3
_MOST_SHARE = 0.3
_READ = 0.97


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host with other traffic, if most hosts' links are idle."""
    carries = {
        link.host: max(link.send_gbit_s or 0.0, link.receive_gbit_s or 0.0)
        for link in evidence.links
    }
    used: dict[str, tuple[float, float]] = {}
    for host, each in evidence.conditions.items():
        if each.tx_bytes_s is not None and each.rx_bytes_s is not None:
            used[host] = (each.tx_bytes_s * 8e-9, each.rx_bytes_s * 8e-9)
    if len(used) < _LEAST_HOSTS or not carries:
        return []
    usual = float(np.median([rate for rate in carries.values() if rate] or [np.inf]))
    busy = {
        host: rates
        for host, rates in used.items()
        if max(rates) > _LEAST_SHARE * max(carries.get(host, 0.0), usual)
    }
    if len(busy) > max(1, int(_MOST_SHARE * len(used))):
        return []
    return [
        Finding(
            FindingKind.OTHER_TRAFFIC,
            [host],
            f"{host} sends {bandwidth_text(sends)} and receives {bandwidth_text(receives)} while "
            "nothing is measured, and most other hosts next to nothing",
            _READ,
            1.0
            / max(0.1, 1.0 - min(0.9, max(sends, receives) / max(carries.get(host, 0.0), usual))),
            ["find who does: ss -tnp, nethogs; a backup, a copy of data, or another job"],
        )
        for host, (sends, receives) in busy.items()
    ]
