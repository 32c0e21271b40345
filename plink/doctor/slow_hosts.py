"""Findings about hosts whose links are slower than the others', one way or both ways."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from plink.base.text import bandwidth_text
from plink.doctor.certainty import probability, spread
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind

# A link is slow below this share of what is usual.
_SLOW = 0.75
_LEAST_HOSTS = 3
# Of the log of a rate: what a transfer of a second differs from another at least.
_LEAST_SPREAD = 0.06
# Links of one speed each: where so many others are as slow, that is how the machines were rented.
_MOST_SHARE = 0.3

_RATES_MBIT = (10, 100, 1000, 2500, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000)


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host whose link is slower than the others'."""
    sends = {link.host: link.send_gbit_s for link in evidence.links if link.send_gbit_s}
    receives = {link.host: link.receive_gbit_s for link in evidence.links if link.receive_gbit_s}
    slow_out, slow_in = _find_slow(sends), _find_slow(receives)
    # Of one slow transfer nobody knows whose doing it was: neither end was measured with others.
    ends = [
        (by, to)
        for by in slow_out
        for to in slow_in
        if by not in slow_in and to not in slow_out and _is_same(sends[by], receives[to])
    ]
    slow_out = {host: sure for host, sure in slow_out.items() if host not in {by for by, _ in ends}}
    slow_in = {host: sure for host, sure in slow_in.items() if host not in {to for _, to in ends}}
    found = []
    for host in dict.fromkeys([*slow_out, *slow_in]):
        if host in slow_out and host in slow_in:
            found.append(_build_finding(host, sends, receives, slow_out[host], slow_in[host]))
        else:
            is_out = host in slow_out
            found.append(
                _one_way(host, sends, receives, (slow_out if is_out else slow_in)[host], is_out)
            )
    return found


def _find_slow(rates: Mapping[str, float]) -> dict[str, float]:
    """Return the hosts with a slow link, each with the probability that it is not chance."""
    if len(rates) < _LEAST_HOSTS:
        return {}
    logs = np.log(np.array(list(rates.values())))
    below = float(np.median(logs)) - logs
    noise = spread(logs, _LEAST_SPREAD)
    slow = {
        host: probability(float(each) / noise, len(rates))
        for host, each in zip(rates, below, strict=True)
        if each > -math.log(_SLOW)
    }
    return slow if len(slow) <= max(1, int(_MOST_SHARE * len(rates))) else {}


def _build_finding(
    host: str,
    sends: Mapping[str, float],
    receives: Mapping[str, float],
    out_probability: float,
    in_probability: float,
) -> Finding:
    usual = _usual([*_others(sends, host), *_others(receives, host)])
    least = min(sends[host], receives[host])
    says = (
        f"{host} sends {bandwidth_text(sends[host])} and receives "
        f"{bandwidth_text(receives[host])}, where the other hosts do {bandwidth_text(usual)}"
    )
    speed = _guess_negotiated_speed(least, usual)
    guess = (
        [f"its link seems to run at {speed}: compare ethtool's speed with the others'"]
        if speed
        else []
    )
    return Finding(
        FindingKind.SLOW_HOST,
        [host],
        says,
        1.0 - (1.0 - out_probability) * (1.0 - in_probability),
        usual / least,
        [*guess, "look at its cable, its switch port, and limits of its instance type"],
    )


def _one_way(
    host: str,
    sends: Mapping[str, float],
    receives: Mapping[str, float],
    sure: float,
    is_out: bool,
) -> Finding:
    slow, other = (sends, receives) if is_out else (receives, sends)
    verb, back = ("sends", "receives") if is_out else ("receives", "sends")
    usual = _usual(_others(slow, host))
    says = (
        f"{host} {verb} {bandwidth_text(slow[host])}, "
        f"where the other hosts do {bandwidth_text(usual)}"
    )
    if host in other:
        says += f"; it {back} {bandwidth_text(other[host])}"
    return Finding(
        FindingKind.SLOW_ONE_WAY,
        [host],
        says,
        sure,
        usual / slow[host],
        [
            f"look for a limit on what it {verb}: shaping, a policer, a firewall, a broken lane",
            "look for drops and errors at its switch port in that direction",
        ],
    )


def _is_same(gbit_s: float, other_gbit_s: float) -> bool:
    return math.isclose(gbit_s, other_gbit_s, rel_tol=1e-9)


def _others(rates: Mapping[str, float], host: str) -> list[float]:
    return [rate for name, rate in rates.items() if name != host]


def _usual(rates: Sequence[float]) -> float:
    return float(np.median(rates))


def _guess_negotiated_speed(gbit_s: float, usual_gbit_s: float) -> str | None:
    """Return the Ethernet speed that a slow link seems to have negotiated, or None."""
    for mbit in _RATES_MBIT:
        if 0.85 * mbit <= 1000.0 * gbit_s <= mbit and 1000.0 * usual_gbit_s > 1.3 * mbit:
            return bandwidth_text(mbit / 1000.0)
    return None
