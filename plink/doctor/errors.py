"""Findings about NICs that count damaged packets far more than others."""

from __future__ import annotations

import numpy as np

from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.probes.condition import HostCondition

_COUNTERS = {
    "rx_crc_errors": "CRC errors",
    "rx_errors": "receive errors",
    "tx_errors": "send errors",
}
# Of packets: a healthy cable loses less than one bit in 10^12 (IEEE 802.3), some 10^-8 of them.
_LEAST_SHARE = 1e-6
_LEAST_COUNT = 10
_LEAST_HOSTS = 3
# They may be of long ago: counters run since the host started.
_PROBABILITY = 0.9
_COST = 1.5


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host whose NIC counts far more errors than most."""
    said = evidence.conditions
    if len(said) < _LEAST_HOSTS:
        return []
    found: dict[str, Finding] = {}
    for counter, words in _COUNTERS.items():
        shares = {host: _share(each, counter) for host, each in said.items()}
        usual = float(np.median(list(shares.values())))
        for host, share in shares.items():
            count = said[host].counters.get(counter, 0)
            if count >= _LEAST_COUNT and share > max(_LEAST_SHARE, 10.0 * usual):
                found.setdefault(host, _finding(host, count, words, share))
    return list(found.values())


def _share(each: HostCondition, counter: str) -> float:
    packets = each.counters.get(f"{counter[:2]}_packets", 0)
    return each.counters.get(counter, 0) / max(packets, 1)


def _finding(host: str, count: int, words: str, share: float) -> Finding:
    return Finding(
        FindingKind.LOSS,
        [host],
        f"the NIC of {host} has counted {count:,} {words} since it started, "
        f"{1e6 * share:.3g} in a million packets; those of most other hosts next to none",
        _PROBABILITY,
        _COST,
        [
            "look whether the count still grows: ip -s link, ethtool -S INTERFACE",
            "clean or change the cable or transceiver, and try another switch port",
        ],
    )
