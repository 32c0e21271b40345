"""Text output of groups of hosts."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from plink.base.next_command import next_command
from plink.base.text import (
    bandwidth_text,
    format_count,
    printable,
    probability_text,
    rtt_text,
    share_text,
)
from plink.files import document
from plink.files.cluster import Cluster
from plink.files.groups import Grouping, GroupQuality
from plink.files.hosts import Group
from plink.files.structs import encode
from plink.model.network import Capacity
from plink.optimize.groups.certainty import more_passes
from plink.optimize.groups.truth import Judgement
from plink.show.terminal.facts import align_columns
from plink.solvers.groups.grouping import estimate_messages
from plink.solvers.groups.levels import LIKELY, SURE

_UNKNOWN = "-"
SHOWN = 8
# The indent of lines that go on, and what a name needs at the least.
_INDENT = 4
_LEAST_ROOM = 16
GROUP_HEADER = ("group", "hosts", "within", "to next", "sure", "uplink", "members")


def group_lines(
    cluster: Cluster, capacity: Capacity | None = None, width: int | None = None
) -> list[str]:
    """Return the lines of a cluster's group table, heading first, and remarks.

    Args:
        cluster: with its groups.
        capacity: what links carry.
        width: columns in which longer lines are wrapped, under where their text began; None for
            none.
    """
    if not cluster.groups:
        return []
    rows = group_rows(cluster, capacity)
    lines = align_columns([GROUP_HEADER, *rows], left=(0, len(GROUP_HEADER) - 1))
    members = lines[0].rindex(GROUP_HEADER[-1])
    found = [part for line in lines for part in hanging(line, width, members)]
    if cluster.grouping is not None:
        said = grouping_lines(cluster, cluster.grouping) + method_lines(cluster, cluster.grouping)
        found += [part for line in said for part in hanging(line, width, _INDENT)]
    return found


def hanging(line: str, width: int | None, indent: int) -> list[str]:
    """Return a line wrapped between words, with continuation lines indented.

    Args:
        line: one without line breaks.
        width: in columns; None to leave it as it is.
        indent: in columns; less where it would leave no room.
    """
    if width is None or len(line) <= width:
        return [line]
    indent = indent if width - indent >= _LEAST_ROOM else _INDENT
    return textwrap.wrap(
        line,
        max(width, indent + 1),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def group_rows(cluster: Cluster, capacity: Capacity | None) -> list[tuple[str, ...]]:
    """Return a row for each group, under `GROUP_HEADER`."""
    grouping = cluster.grouping
    quality = {} if grouping is None else {item.group: item for item in grouping.quality}
    uplinks = {}
    if capacity is not None:
        uplinks = {
            uplink.group: _least(uplink.send_gbit_s, uplink.receive_gbit_s)
            for uplink in capacity.uplinks
        }
    return [
        _row(group, quality.get(group.name), uplinks.get(group.name)) for group in cluster.groups
    ]


def grouping_lines(cluster: Cluster, grouping: Grouping) -> list[str]:
    """Return sentences on the groups' certainty, misfits and how to learn more."""
    lines = []
    if grouping.probability is not None:
        lines.append(_belief(grouping.probability, grouping.rival, has_groups=bool(cluster.groups)))
    if len(grouping.levels) > 1:
        counts = " > ".join(format_count(len(level), "group") for level in grouping.levels)
        lines.append(f"levels: {counts}")
    if grouping.doubtful:
        lines.append(f"may belong elsewhere: {_doubtful(grouping)}")
    if grouping.alone:
        alone = [f"{printable(host)}{_nearest(grouping, host)}" for host in grouping.alone[:SHOWN]]
        lines.append(f"fit nowhere: {', '.join(alone)}{_more(grouping.alone)}")
    if grouping.unmeasured:
        lines.append(f"not measured enough: {_names(grouping.unmeasured)}")
    advice = more_passes(cluster)
    if advice is not None:
        file, passes = document.argument(cluster.source), str(advice.passes)
        again = next_command("probe", "--resume", file, "--passes", passes, way=cluster.way)
        lines.append(
            f"to become sure: {advice.further} more passes, about {max(1.0, advice.seconds):.0f} s "
            f"of probing: {again}"
        )
    return lines


def method_lines(cluster: Cluster, grouping: Grouping) -> list[str]:
    """Return sentences on the grouping method and on how plans use the groups."""
    if not cluster.groups:
        return []
    distances = (
        "distances smoothed by placing hosts as points"
        if grouping.matrix == "embedding"
        else "the distances as measured"
    )
    lines = [f"method: {printable(grouping.method)}, on {distances}"]
    if grouping.confirmed is not None:
        lines.append(
            "found again: the groups that each half of the readings shows by itself agree to "
            f"{share_text(max(0.0, grouping.confirmed))} (adjusted mutual information)"
        )
    sizes = [len(group.hosts) for group in cluster.groups]
    others, least = estimate_messages(sum(sizes), len(sizes)), 2 * sum(sizes) ** 0.5
    lines.append(
        f"in a plan of two levels the host that sums up a share of the data exchanges it with "
        f"{others:.1f} others; the best number of groups would make that {least:.1f}"
    )
    return lines


def _belief(chance: float, rival: str | None, *, has_groups: bool) -> str:
    instead = "" if not rival else f"; the best explanation without groups: {printable(rival)}"
    if chance >= SURE:
        return f"groups: sure ({probability_text(chance)}){instead}"
    if chance >= LIKELY:
        return f"groups: likely, not sure ({probability_text(chance)}){instead}"
    if has_groups:
        return f"groups: not sure, as a whole right to {probability_text(chance)}{instead}"
    return f"groups: not likely ({probability_text(chance)}){instead}"


def _doubtful(grouping: Grouping) -> str:
    shown = ", ".join(
        f"{printable(each.host)} (sure to {probability_text(each.probability)}"
        f"{_nearest(grouping, each.host, '; ')})"
        for each in grouping.doubtful[:SHOWN]
    )
    return shown + _more(grouping.doubtful)


def _nearest(grouping: Grouping, host: str, before: str = "") -> str:
    """Return the two groups nearest to a host, in brackets unless text precedes them."""
    nearest = {each.host: each.groups for each in grouping.nearest}
    groups = " or ".join(printable(group) for group in nearest.get(host, ()))
    if not groups:
        return ""
    return f"{before}best in {groups}" if before else f" (nearest to {groups})"


def _more(hosts: Sequence[object]) -> str:
    return f" and {len(hosts) - SHOWN:,} more" if len(hosts) > SHOWN else ""


def judgement_lines(judgement: Judgement) -> list[str]:
    """Return sentences on how well the groups agree with the truth."""
    lines = [f"truth: {format_count(judgement.hosts, 'host')}, {judgement.triplets:,} triplets"]
    if judgement.raw is not None:
        embedded = "" if judgement.embedded is None else f", embedded {judgement.embedded:.2%}"
        lines.append(f"PAIA: raw {judgement.raw:.2%}{embedded}".replace("%", " %"))
    for level in judgement.levels:
        best = "" if level.of_levels is None else f", best level {level.of_levels:.3f}"
        lines.append(
            f"level {level.name} ({format_count(level.groups, 'group')}): adjusted mutual "
            f"information {level.of_groups:.3f}{best}, adjusted Rand index {level.rand:.3f}"
        )
    if judgement.compared is not None:
        lines += _elsewhere_lines(judgement)
    return lines


def _elsewhere_lines(judgement: Judgement) -> list[str]:
    """Return the hosts that the truth puts elsewhere, at the best agreeing level."""
    found = judgement.elsewhere
    agree = judgement.hosts - len(found)
    lines = [
        f"level {judgement.compared}: {agree} of {format_count(judgement.hosts, 'host')} agree"
    ]
    for each in found[:SHOWN]:
        other = "none of its groups" if each.found_with is None else printable(each.found_with)
        lines.append(
            f"    {printable(each.host)} stands in {printable(each.stands)}, "
            f"and was found with the hosts of {other}"
        )
    if len(found) > SHOWN:
        lines.append(f"    and {len(found) - SHOWN} more (--json names all)")
    return lines


def groups_to_json(
    cluster: Cluster, capacity: Capacity, judgement: Judgement | None
) -> dict[str, Any]:
    """Return the groups as `plink group --json` prints them."""
    data: dict[str, Any] = {
        "groups": encode(cluster.groups),
        "grouping": None if cluster.grouping is None else encode(cluster.grouping),
        "capacity": {
            "hosts": [
                {"name": name, "send_gbit_s": _number(send), "receive_gbit_s": _number(receive)}
                for name, send, receive in zip(
                    cluster.names, capacity.send_gbit_s, capacity.receive_gbit_s, strict=True
                )
            ],
            "uplinks": [vars(uplink) for uplink in capacity.uplinks],
            "assumptions": list(capacity.assumptions),
        },
    }
    if judgement is not None:
        levels = [vars(level) for level in judgement.levels]
        elsewhere = [vars(each) for each in judgement.elsewhere]
        data["truth"] = {**vars(judgement), "levels": levels, "elsewhere": elsewhere}
    return data


def _row(
    group: Group, quality: GroupQuality | None, uplink_gbit_s: float | None
) -> tuple[str, ...]:
    quality = quality or GroupQuality(group.name)
    return (
        printable(group.name),
        str(len(group.hosts)),
        _distance(quality.within_us, quality.within_gbit_s),
        _distance(quality.between_us, quality.between_gbit_s),
        _UNKNOWN if quality.probability is None else probability_text(quality.probability),
        _UNKNOWN if uplink_gbit_s is None else bandwidth_text(uplink_gbit_s),
        _names(group.hosts),
    )


def _distance(rtt_us: float | None, gbit_s: float | None) -> str:
    if gbit_s is not None:
        return bandwidth_text(gbit_s)
    return _UNKNOWN if rtt_us is None else rtt_text(rtt_us)


def _names(hosts: Sequence[str]) -> str:
    return printable(" ".join(hosts[:SHOWN])) + _more(hosts)


def _least(*rates: float | None) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return min(known) if known else None


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
