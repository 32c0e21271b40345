"""Findings about uplinks that are slow in one direction, or with both directions at once.

How much an uplink carries is no fault: racks are oversubscribed as they were built. That it carries
less up than down, or half as much of each when both are used, is.
"""

from __future__ import annotations

import math

from plink.base.text import bandwidth_text
from plink.doctor.certainty import probability
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.formats.groups import Uplink

_ONE_WAY = 0.75
# Of the sum of what is sent and what is received, each alone.
_HALF = 0.75
# Of the log of a rate: exchanges of many transfers differ less than those of one.
_SPREAD = 0.05
# Where so many uplinks seem not to carry both ways at once, what measures is the limit.
_MOST_SHARE = 0.4
_TWO = 2


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each uplink that is slow one way or not both ways at once."""
    measured = evidence.cluster.uplinks
    if measured is None:
        return []
    uplinks = [each for each in measured.uplinks if each.is_whole]
    found = [each for uplink in uplinks if (each := _one_way(evidence, uplink)) is not None]
    halves = [
        each for uplink in uplinks if (each := _find_half_duplex(evidence, uplink)) is not None
    ]
    most = len(uplinks) if len(uplinks) <= _TWO else max(1, int(_MOST_SHARE * len(uplinks)))
    return _merge_findings(evidence, found) + (
        _merge_findings(evidence, halves) if len(halves) <= most else []
    )


def _one_way(evidence: Evidence, uplink: Uplink) -> Finding | None:
    sends, receives = uplink.send_gbit_s or 0.0, uplink.receive_gbit_s or 0.0
    if not sends or not receives:
        return None
    is_sending = sends < receives
    if uplink.send_is_lower_bound if is_sending else uplink.receive_is_lower_bound:
        return None
    low, high = sorted((sends, receives))
    if low >= _ONE_WAY * high:
        return None
    verb, back = ("send", "receive") if is_sending else ("receive", "send")
    return Finding(
        FindingKind.UPLINK_ONE_WAY,
        _members(evidence, uplink.group),
        f"all hosts of {uplink.group} together {verb} {bandwidth_text(low)} "
        f"{'to' if is_sending else 'from'} other groups at most, "
        f"and {back} {bandwidth_text(high)}",
        probability(math.log(high / low) / _SPREAD, 2 * len(evidence.cluster.groups)),
        high / low,
        [
            (
                "look at the members of the switch's uplink bundle (LACP): one may be down, "
                "or carry nothing that way"
            ),
            "look for shaping or a policer in that direction, and for traffic of others",
        ],
        uplink.group,
    )


def _find_half_duplex(evidence: Evidence, uplink: Uplink) -> Finding | None:
    both, alone = uplink.both_gbit_s, (uplink.send_gbit_s or 0.0) + (uplink.receive_gbit_s or 0.0)
    if both is None or not both or both >= _HALF * alone:
        return None
    return Finding(
        FindingKind.HALF_DUPLEX,
        _members(evidence, uplink.group),
        f"the hosts of {uplink.group} send {bandwidth_text(uplink.send_gbit_s or 0.0)} to other "
        f"groups and receive {bandwidth_text(uplink.receive_gbit_s or 0.0)}, each alone, "
        f"but {bandwidth_text(both)} in all when both at once",
        probability(math.log(alone / both) / _SPREAD, len(evidence.cluster.groups)),
        alone / both,
        [
            "look for a mismatch of duplex: both ends have to negotiate, or be set alike",
            "look for what both directions share: a virtual link, a busy software router",
        ],
        uplink.group,
    )


def _members(evidence: Evidence, group: str) -> list[str]:
    return next(list(each.hosts) for each in evidence.cluster.groups if each.name == group)


def _merge_findings(evidence: Evidence, found: list[Finding]) -> list[Finding]:
    """Merge findings about one slow path that both of its groups observe."""
    if len(evidence.cluster.groups) != _TWO or len(found) < _TWO:
        return found
    first, second = found[:_TWO]
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
