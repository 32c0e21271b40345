"""Findings about changes since an earlier file: longer paths, slower links and uplinks."""

from __future__ import annotations

import math

import numpy as np

from plink.base.text import bandwidth_text, format_count, format_names
from plink.doctor.blame import Cause, causes
from plink.doctor.certainty import Floats, probability, spread
from plink.doctor.evidence import Evidence, list_links, round_trips
from plink.doctor.finding import Finding, FindingKind
from plink.formats.cluster import Cluster
from plink.formats.groups import HostLink, Uplink
from plink.formats.matrices import Matrix, move_hosts

# Beyond what is common to all: of the log of a round trip, and of a rate.
_LONGER = 0.25
_LESS = -math.log(0.75)
_RTT_SPREAD, _RATE_SPREAD = 0.06, 0.07
_LEAST_RATES = 3
_ADVICE = ("ask what was changed since the earlier file was measured: cabling, routes, instances",)


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host, group or pair that is worse; none without an earlier file."""
    before = evidence.before
    if before is None:
        return []
    return [*_longer(evidence, before), *_hosts(evidence, before), *_uplinks(evidence, before)]


def _longer(evidence: Evidence, before: Cluster) -> list[Finding]:
    if evidence.cluster.rtt is None or before.rtt is None:
        return []
    places = {name: index for index, name in enumerate(before.names)}
    old = move_hosts(round_trips(before), [places.get(name) for name in evidence.names], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Matrix = np.log(round_trips(evidence.cluster) / old)
    known = np.triu(np.isfinite(logs), 1)
    if not known.any():
        return []
    common = float(np.median(logs[known]))
    noise = spread(logs[known], _RTT_SPREAD)
    longer = known & (logs - common > max(_LONGER, 3.0 * noise))
    return [
        _build_farther_finding(cause, logs - common, noise, int(known.sum()))
        for cause in causes(evidence, longer, known)
    ]


def _build_farther_finding(cause: Cause, beyond: Matrix, noise: float, looked_at: int) -> Finding:
    factor = float(np.exp(np.median(beyond[cause.pairs])))
    if cause.group is not None:
        who = f"round trips between {cause.group} and other groups"
    elif len(cause.hosts) == 1:
        who = f"round trips of {cause.hosts[0]}"
    else:
        who = f"round trips between {format_names(cause.hosts)}"
    sure = probability(math.log(factor) / noise * math.sqrt(min(9, cause.explained)), looked_at)
    return Finding(
        FindingKind.FARTHER,
        list(cause.hosts),
        f"{who} take {factor:.2f} times as long as in the earlier file "
        f"({cause.explained} of {format_count(cause.known, 'pair')})",
        sure,
        factor,
        [*_ADVICE, "compare routes now and then: plink probe with the tool trace"],
        cause.group,
    )


def _hosts(evidence: Evidence, before: Cluster) -> list[Finding]:
    now = {link.host: link for link in evidence.links}
    then = {link.host: link for link in list_links(before)}
    found = []
    for verb in ("send", "receive"):
        pairs = {
            host: (_rate(then[host], verb), _rate(now[host], verb)) for host in now if host in then
        }
        for host, (old, new, sure) in _find_lower_rates(pairs).items():
            found.append(
                Finding(
                    FindingKind.SLOW_ONE_WAY,
                    [host],
                    f"{host} {verb}s {bandwidth_text(new)}, "
                    f"in the earlier file {bandwidth_text(old)}",
                    sure,
                    old / new,
                    _ADVICE,
                )
            )
    return found


def _uplinks(evidence: Evidence, before: Cluster) -> list[Finding]:
    if evidence.cluster.uplinks is None or before.uplinks is None:
        return []
    members = {each.name: set(each.hosts) for each in before.groups}
    # Groups are called by number, which another run may deal otherwise.
    same = {
        each.name: name
        for each in evidence.cluster.groups
        for name, hosts in members.items()
        if hosts == set(each.hosts)
    }
    then = {each.group: each for each in before.uplinks.uplinks}
    found = []
    for verb in ("send", "receive"):
        pairs = {
            each.group: (_rate(then[same[each.group]], verb), _rate(each, verb))
            for each in evidence.cluster.uplinks.uplinks
            if same.get(each.group) in then
        }
        for group, (old, new, sure) in _find_lower_rates(pairs, least=1).items():
            hosts = next(list(each.hosts) for each in evidence.cluster.groups if each.name == group)
            found.append(
                Finding(
                    FindingKind.SLOW_UPLINK,
                    hosts,
                    f"the hosts of {group} together {verb} {bandwidth_text(new)}, "
                    f"in the earlier file {bandwidth_text(old)}",
                    sure,
                    old / new,
                    [*_ADVICE, "look at the members of the switch's uplink bundle (LACP)"],
                    group,
                )
            )
    return found


def _rate(link: HostLink | Uplink, verb: str) -> float | None:
    return link.send_gbit_s if verb == "send" else link.receive_gbit_s


def _find_lower_rates(
    pairs: dict[str, tuple[float | None, float | None]], least: int = _LEAST_RATES
) -> dict[str, tuple[float, float, float]]:
    """Return rates that fell more than the common change: before, now, probability."""
    known = {name: (old, new) for name, (old, new) in pairs.items() if old and new}
    if len(known) < least:
        return {}
    logs: Floats = np.array([math.log(old / new) for old, new in known.values()])
    # All slower by as much is another finding: who is alone is compared with no change.
    common = float(np.median(logs)) if len(known) >= _LEAST_RATES else 0.0
    noise = spread(logs, _RATE_SPREAD)
    return {
        name: (old, new, probability(float(log - common) / noise, len(known)))
        for (name, (old, new)), log in zip(known.items(), logs, strict=True)
        if log - common > _LESS
    }
