"""Diagnosis of a cluster: findings of all kinds, merged where one explains another, and ranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plink.base.replacing import replace
from plink.doctor import conditions, earlier, far_hosts, links, losses, queues
from plink.doctor.evidence import Evidence
from plink.doctor.finding import LEAST_PROBABILITY, Finding, FindingKind

FINDERS: Sequence[Callable[[Evidence], list[Finding]]] = (
    links.find_wrong_results,
    links.find_slow_hosts,
    links.find_slow_pairs,
    far_hosts.find,
    losses.find,
    queues.find,
    links.find_slow_uplinks,
    conditions.find_odd_settings,
    conditions.find_errors,
    conditions.find_busy_hosts,
    conditions.find_traffic,
    conditions.find_clocks,
    earlier.find_changes,
    earlier.find_slower_iterations,
    earlier.find_slower_bench,
)

# What a cause makes its hosts show as well.
_SLOW_LINK = {FindingKind.SLOW_HOST, FindingKind.SLOW_ONE_WAY, FindingKind.SLOW_PAIR}
_OF_HOST = {
    FindingKind.NIC_SPEED: {*_SLOW_LINK, FindingKind.LOSS},
    FindingKind.MTU: _SLOW_LINK,
    FindingKind.BUSY: {*_SLOW_LINK, FindingKind.LOSS, FindingKind.FAR_HOST, FindingKind.FARTHER},
    FindingKind.OTHER_TRAFFIC: {*_SLOW_LINK, FindingKind.LOSS},
    FindingKind.LOSS: _SLOW_LINK,
    FindingKind.SLOW_HOST: {FindingKind.SLOW_ONE_WAY, FindingKind.SLOW_PAIR, FindingKind.LOSS},
    FindingKind.SLOW_ONE_WAY: {FindingKind.SLOW_PAIR, FindingKind.LOSS},
    FindingKind.FAR_HOST: {FindingKind.FARTHER},
}
_OF_GROUP = {
    FindingKind.CONGESTED: {
        FindingKind.UPLINK_ONE_WAY,
        FindingKind.HALF_DUPLEX,
        FindingKind.SLOW_UPLINK,
        FindingKind.FARTHER,
        FindingKind.CONGESTED,
        FindingKind.LOSS,
        FindingKind.SLOW_PAIR,
        FindingKind.FAR_HOST,
    },
    FindingKind.HALF_DUPLEX: {
        FindingKind.UPLINK_ONE_WAY,
        FindingKind.SLOW_UPLINK,
        FindingKind.CONGESTED,
        FindingKind.SLOW_PAIR,
    },
    FindingKind.UPLINK_ONE_WAY: {FindingKind.SLOW_UPLINK, FindingKind.SLOW_PAIR},
    FindingKind.SLOW_UPLINK: {FindingKind.SLOW_PAIR},
}
# An ill link of one host is an ill part of its group's exchange.
_SPREADS = {
    FindingKind.SLOW_HOST,
    FindingKind.SLOW_ONE_WAY,
    FindingKind.NIC_SPEED,
    FindingKind.LOSS,
    FindingKind.BUSY,
}
_SPREADS_TO = {FindingKind.UPLINK_ONE_WAY, FindingKind.HALF_DUPLEX, FindingKind.SLOW_UPLINK}
# A host's links are so large a part of its group's that this alone shows.
_LARGE_PART = 1.0 / 3.0


def diagnose(evidence: Evidence) -> list[Finding]:
    """Return the findings with a probability of at least 0.7, by expected slowdown, worst first."""
    found = [
        each for find in FINDERS for each in find(evidence) if each.probability >= LEAST_PROBABILITY
    ]
    return sorted(_merge_explained(found), key=lambda each: (-each.weight, each.says))


def _merge_explained(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings that no other explains; explained ones become their evidence."""
    kept: list[Finding] = []
    explained: list[Finding] = []
    for each in found:
        is_explained = any(_explains(other, each) for other in found if other is not each)
        (explained if is_explained else kept).append(each)
    for each in explained:
        place = next((p for p, cause in enumerate(kept) if _explains(cause, each)), None)
        if place is not None:
            cause = kept[place]
            evidence = [*cause.evidence, each.says, *each.evidence]
            kept[place] = replace(cause, cost=max(cause.cost, each.cost), evidence=evidence)
    return kept


def _explains(cause: Finding, finding: Finding) -> bool:
    hosts, ill = set(cause.hosts), set(finding.hosts)
    if cause.group is None and cause.kind is not FindingKind.CONGESTED:
        if finding.group is None:
            return finding.kind in _OF_HOST.get(cause.kind, set()) and bool(hosts & ill)
        is_part = bool(hosts & ill) and len(hosts & ill) >= _LARGE_PART * len(ill)
        return cause.kind in _SPREADS and finding.kind in _SPREADS_TO and is_part
    if finding.kind not in _OF_GROUP.get(cause.kind, set()):
        return False
    if finding.group is not None:
        # The other end of what a full uplink carries is a group, too.
        return finding.group != cause.group or finding.kind is not cause.kind
    return bool(hosts & ill)
