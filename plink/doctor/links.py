"""Findings from measured rates: slow hosts, slow pairs and slow uplinks; and damaged data.

How much an uplink carries is no fault: racks are oversubscribed as they were built. That it carries
less up than down, or half as much of each when both are used, is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from plink.base.text import bandwidth_text
from plink.doctor.certainty import Floats, probability, spread
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.formats.groups import Uplink
from plink.formats.matrices import Matrix, median_rows
from plink.formats.measurements import WRONG_RESULTS

# A link is slow below this share of what is usual.
_SLOW = 0.75
_LEAST_HOSTS = 3
# Of the log of a rate: what a transfer of a second differs from another at least.
_LEAST_SPREAD = 0.06
# Links of one speed each: where so many others are as slow, that is how the machines were rented.
_MOST_SHARE = 0.3
_RATES_MBIT = (10, 100, 1000, 2500, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000)

# The same of a pair's rate, beside those of its hosts with others.
_SLOW_PAIR, _PAIR_SPREAD = 0.6, 0.08
_LEAST_COMPARED = 3
_MOST_PAIRS, _MOST_PAIRS_SHARE = 8, 0.1

_ONE_WAY = 0.75
# Of the sum of what is sent and what is received, each alone.
_HALF = 0.75
# Of the log of a rate: exchanges of many transfers differ less than those of one.
_UPLINK_SPREAD = 0.05
# Where so many uplinks seem not to carry both ways at once, what measures is the limit.
_MOST_UPLINKS = 0.4

# There is no speed at which wrong results are worth having.
_WRONG_COST = 1e6


def find_slow_hosts(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host whose link sends or receives slower than the others'."""
    sends = {link.host: link.send_gbit_s for link in evidence.links if link.send_gbit_s}
    receives = {link.host: link.receive_gbit_s for link in evidence.links if link.receive_gbit_s}
    slow_out, slow_in = _find_slow(sends), _find_slow(receives)
    # Of one slow transfer nobody knows whose doing it was: neither end was measured with others.
    ends = [
        (by, to)
        for by in slow_out
        for to in slow_in
        if by not in slow_in
        and to not in slow_out
        and math.isclose(sends[by], receives[to], rel_tol=1e-9)
    ]
    for by, to in ends:
        slow_out.pop(by, None)
        slow_in.pop(to, None)
    found = []
    for host in dict.fromkeys([*slow_out, *slow_in]):
        if host not in slow_in:
            found.append(_build_one_way(host, sends, receives, slow_out[host], "sends"))
        elif host not in slow_out:
            found.append(_build_one_way(host, receives, sends, slow_in[host], "receives"))
        else:
            found.append(_build_both_ways(host, sends, receives, slow_out[host], slow_in[host]))
    return found


def _find_slow(rates: Mapping[str, float]) -> dict[str, float]:
    """Return the hosts below 3/4 of the median rate, if few, and how surely that is no chance."""
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


def _find_usual(host: str, *rates: Mapping[str, float]) -> float:
    """Return the median rate of the other hosts, in Gbit/s."""
    return float(np.median([rate for side in rates for name, rate in side.items() if name != host]))


def _build_both_ways(
    host: str,
    sends: Mapping[str, float],
    receives: Mapping[str, float],
    out_probability: float,
    in_probability: float,
) -> Finding:
    usual = _find_usual(host, sends, receives)
    least = min(sends[host], receives[host])
    # The Ethernet speed that the link seems to have negotiated.
    speeds = (
        f"its link seems to run at {bandwidth_text(mbit / 1000.0)}: compare ethtool's speed with "
        "the others'"
        for mbit in _RATES_MBIT
        if 0.85 * mbit <= 1000.0 * least <= mbit and 1000.0 * usual > 1.3 * mbit
    )
    return Finding(
        FindingKind.SLOW_HOST,
        [host],
        f"{host} sends {bandwidth_text(sends[host])} and receives "
        f"{bandwidth_text(receives[host])}, where the other hosts do {bandwidth_text(usual)}",
        1.0 - (1.0 - out_probability) * (1.0 - in_probability),
        usual / least,
        [*list(speeds)[:1], "look at its cable, its switch port, and limits of its instance type"],
    )


def _build_one_way(
    host: str, slow: Mapping[str, float], other: Mapping[str, float], sure: float, verb: str
) -> Finding:
    usual = _find_usual(host, slow)
    says = (
        f"{host} {verb} {bandwidth_text(slow[host])}, "
        f"where the other hosts do {bandwidth_text(usual)}"
    )
    if host in other:
        back = "receives" if verb == "sends" else "sends"
        says += f"; it {back} {bandwidth_text(other[host])}"
    advice = (
        f"look for a limit on what it {verb}: shaping, a policer, a firewall, a broken lane",
        "look for drops and errors at its switch port in that direction",
    )
    return Finding(FindingKind.SLOW_ONE_WAY, [host], says, sure, usual / slow[host], advice)


def find_slow_pairs(evidence: Evidence) -> list[Finding]:
    """Return findings on directed pairs below 0.6 of their hosts' usual rates, if they are few."""
    measured = evidence.cluster.bandwidth
    if measured is None:
        return []
    with np.errstate(divide="ignore"):
        logs: Matrix = np.where(measured.gbit_s > 0.0, np.log(measured.gbit_s), np.nan)
    np.fill_diagonal(logs, np.nan)
    usual = _predict_log_rates(evidence, logs)
    below = usual - logs
    known = np.isfinite(below)
    if not known.any():
        return []
    noise = spread(below[known], _PAIR_SPREAD)
    slow = np.argwhere(known & (np.nan_to_num(below) > -math.log(_SLOW_PAIR))).tolist()
    if len(slow) > max(1, int(_MOST_PAIRS_SHARE * known.sum())):
        return []
    found = []
    for i, j in sorted(slow, key=lambda pair: -below[pair[0], pair[1]])[:_MOST_PAIRS]:
        source, target = evidence.names[i], evidence.names[j]
        gbit_s, usual_gbit_s = float(np.exp(logs[i, j])), float(np.exp(usual[i, j]))
        finding = Finding(
            FindingKind.SLOW_PAIR,
            [source, target],
            f"{source} sends {bandwidth_text(gbit_s)} to {target}, though both do "
            f"{bandwidth_text(usual_gbit_s)} with others of the same groups",
            probability(float(below[i, j]) / noise, int(known.sum())),
            usual_gbit_s / gbit_s,
            [
                (
                    "look for what lies on that way alone: one of several equal routes (ECMP) "
                    "that is ill, a policer or firewall between the two"
                ),
                "compare routes: plink probe with the tool trace",
            ],
        )
        found.append(finding)
    return found


def _predict_log_rates(evidence: Evidence, logs: Matrix) -> Matrix:
    """Return the log rate to expect of each pair by its hosts' other pairs, (N, N)."""
    same = evidence.group_by_host[:, None] == evidence.group_by_host[None, :]
    usual = np.full(logs.shape, np.nan)
    for inside in (True, False):
        side = np.where(same == inside, logs, np.nan)
        sent, received = (median_rows(each, _LEAST_COMPARED) for each in (side, side.T))
        pairs: Floats = np.fmin(sent[:, None], received[None, :])
        usual = np.where(np.isfinite(side), pairs, usual)
    return usual


def find_slow_uplinks(evidence: Evidence) -> list[Finding]:
    """Return a finding for each uplink that is slower one way, or when both are loaded."""
    measured = evidence.cluster.uplinks
    if measured is None:
        return []
    uplinks = [each for each in measured.uplinks if each.is_whole]
    slow, halves = (
        [each for uplink in uplinks if (each := find(evidence, uplink)) is not None]
        for find in (_find_one_way, _find_half_duplex)
    )
    most = len(uplinks) if len(uplinks) <= 2 else max(1, int(_MOST_UPLINKS * len(uplinks)))
    return [
        *_merge_ends(evidence, slow),
        *(_merge_ends(evidence, halves) if len(halves) <= most else ()),
    ]


def _find_one_way(evidence: Evidence, uplink: Uplink) -> Finding | None:
    sends, receives = uplink.send_gbit_s or 0.0, uplink.receive_gbit_s or 0.0
    low, high = sorted((sends, receives))
    is_sending = sends < receives
    is_bound = uplink.send_is_lower_bound if is_sending else uplink.receive_is_lower_bound
    if not low or is_bound or low >= _ONE_WAY * high:
        return None
    verb, back = ("send", "receive") if is_sending else ("receive", "send")
    return Finding(
        FindingKind.UPLINK_ONE_WAY,
        evidence.list_hosts(uplink.group),
        f"all hosts of {uplink.group} together {verb} {bandwidth_text(low)} "
        f"{'to' if is_sending else 'from'} other groups at most, and {back} {bandwidth_text(high)}",
        probability(math.log(high / low) / _UPLINK_SPREAD, 2 * len(evidence.cluster.groups)),
        high / low,
        [
            (
                "look at the members of the switch's uplink bundle (LACP): one may be down, or "
                "carry nothing that way"
            ),
            "look for shaping or a policer in that direction, and for traffic of others",
        ],
        uplink.group,
    )


def _find_half_duplex(evidence: Evidence, uplink: Uplink) -> Finding | None:
    sends, receives = uplink.send_gbit_s or 0.0, uplink.receive_gbit_s or 0.0
    together, alone = uplink.both_gbit_s, sends + receives
    if not together or together >= _HALF * alone:
        return None
    return Finding(
        FindingKind.HALF_DUPLEX,
        evidence.list_hosts(uplink.group),
        f"the hosts of {uplink.group} send {bandwidth_text(sends)} to other groups and receive "
        f"{bandwidth_text(receives)}, each alone, but {bandwidth_text(together)} in all when both "
        "at once",
        probability(math.log(alone / together) / _UPLINK_SPREAD, len(evidence.cluster.groups)),
        alone / together,
        [
            "look for a mismatch of duplex: both ends have to negotiate, or be set alike",
            "look for what both directions share: a virtual link, a busy software router",
        ],
        uplink.group,
    )


def _merge_ends(evidence: Evidence, found: list[Finding]) -> list[Finding]:
    """Merge the findings of the only two groups, as both see the same path."""
    if len(evidence.cluster.groups) != 2 or len(found) < 2:
        return found
    first, second = found
    return [
        Finding(
            first.kind,
            [*first.hosts, *second.hosts],
            f"{first.says} (or it is {second.group}'s: of two groups nobody can tell)",
            max(first.probability, second.probability),
            max(first.cost, second.cost),
            first.advice,
            first.group,
        )
    ]


def find_wrong_results(evidence: Evidence) -> list[Finding]:
    """Return a finding for each pair of hosts whose benchmark reported damaged data."""
    advice = (
        "look for errors of memory and of the link (nvidia-smi -q, ethtool -S, dmesg) at both ends",
        "run the benchmark on each of the two hosts alone, then with another library version",
    )
    found: dict[frozenset[str], Finding] = {}
    for part in (evidence.cluster.bandwidth, evidence.cluster.rtt):
        for failure in () if part is None else part.failures:
            if failure.kind != WRONG_RESULTS or failure.destination is None:
                continue
            hosts = (failure.source, failure.destination)
            says = f"what {hosts[0]} and {hosts[1]} exchange arrives damaged ({failure.reason})"
            finding = Finding(FindingKind.WRONG_RESULTS, hosts, says, 1.0, _WRONG_COST, advice)
            found.setdefault(frozenset(hosts), finding)
    return list(found.values())
