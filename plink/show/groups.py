"""Groups of hosts as text for people: table, certainty, and agreement with true groups."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import ClassVar

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
from plink.formats import document
from plink.formats.cluster import Cluster
from plink.formats.groups import Grouping
from plink.formats.hosts import Group
from plink.formats.limits import Amount, Text
from plink.formats.structs import Output
from plink.model.network import Capacity, UplinkCapacity
from plink.optimize.groups.certainty import more_passes
from plink.optimize.groups.truth import Judgement
from plink.show.facts import rate_text
from plink.show.tables import Column, join_some, known_text, table_lines
from plink.solvers.groups.grouping import estimate_messages
from plink.solvers.groups.levels import LIKELY, SURE

SHOWN = 8
# The indent of continued lines, and the columns that a name needs at least.
_INDENT = 4
_LEAST_ROOM = 16


def group_columns(cluster: Cluster, capacity: Capacity | None) -> list[Column[Group]]:
    """Return the columns of a table of a cluster's groups; the last one names their hosts."""
    known = {each.group: each for each in cluster.grouping.quality} if cluster.grouping else {}
    uplinks = {uplink.group: uplink for uplink in capacity.uplinks} if capacity else {}

    def distance_text(group: Group, side: str) -> str:
        quality = known.get(group.name)
        gbit_s, rtt_us = (getattr(quality, f"{side}_{unit}", None) for unit in ("gbit_s", "us"))
        if gbit_s is not None:
            return bandwidth_text(gbit_s)
        return known_text(rtt_us, rtt_text)

    def certainty_text(group: Group) -> str:
        return known_text(getattr(known.get(group.name), "probability", None), probability_text)

    def uplink_text(group: Group) -> str:
        uplink = uplinks.get(group.name)
        both = () if uplink is None else (uplink.send_gbit_s, uplink.receive_gbit_s)
        return rate_text(min((rate for rate in both if rate is not None), default=None))

    return [
        Column("group", lambda group: group.name, is_text=True),
        Column("hosts", lambda group: str(len(group.hosts))),
        Column("within", lambda group: distance_text(group, "within")),
        Column("to next", lambda group: distance_text(group, "between")),
        Column("sure", certainty_text),
        Column("uplink", uplink_text),
        Column("members", lambda group: join_some(group.hosts, SHOWN, " "), is_text=True),
    ]


class LinkRates(Output, frozen=True):
    """Send and receive rate of a host's link, as predictions use them.

    Attributes:
        name: name of the host
        send_gbit_s, receive_gbit_s: rates in Gbit/s; null if unknown
    """

    name: Text
    send_gbit_s: Amount | None
    receive_gbit_s: Amount | None


class LinkCapacities(Output, frozen=True):
    """Rates of hosts' links and groups' uplinks, with the assumptions made.

    Attributes:
        hosts: link of each host
        uplinks: uplink of each group
        assumptions: what was assumed
    """

    hosts: Sequence[LinkRates]
    uplinks: Sequence[UplinkCapacity]
    assumptions: Sequence[str]


class GroupsOutput(Output, frozen=True):
    """Groups of near hosts, with how they were found, and rates of hosts' links and uplinks.

    Attributes:
        groups: groups that were found
        grouping: how they were found; null if they were given
        capacity: what links carry
        truth: how groups and distances agree with the truth (`--truth`)
    """

    OPTIONAL: ClassVar = ("truth",)

    groups: Sequence[Group]
    grouping: Grouping | None
    capacity: LinkCapacities
    truth: Judgement | None


def group_lines(
    cluster: Cluster, capacity: Capacity | None = None, width: int | None = None
) -> list[str]:
    """Return the lines of a table of a cluster's groups, heading first, and remarks below.

    Without groups only the remarks, which say why there are none.

    Args:
        cluster: the cluster with its groups.
        capacity: what its links carry; None if that is not known.
        width: columns in which longer lines are wrapped, under where their text began; None for
            no wrapping.
    """
    remarks = [] if cluster.grouping is None else grouping_lines(cluster, cluster.grouping)
    if not cluster.groups:
        return remarks
    columns = group_columns(cluster, capacity)
    lines = table_lines(columns, cluster.groups)
    members = lines[0].rindex(columns[-1].heading)
    if cluster.grouping is not None:
        remarks += method_lines(cluster, cluster.grouping)
    return [
        *(part for line in lines for part in wrap_line(line, width, members)),
        *(part for line in remarks for part in wrap_line(line, width, _INDENT)),
    ]


def wrap_line(line: str, width: int | None, indent: int) -> list[str]:
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


def grouping_lines(cluster: Cluster, grouping: Grouping) -> list[str]:
    """Return lines on how certain groups are, on hosts that fit badly, and on what to measure."""
    nearest = {each.host: " or ".join(each.groups) for each in grouping.nearest if each.groups}
    lines = []
    if grouping.probability is not None:
        chance = probability_text(grouping.probability)
        verdict = f"not likely ({chance})"
        if grouping.probability >= LIKELY:
            verdict = f"{'sure' if grouping.probability >= SURE else 'likely, not sure'} ({chance})"
        elif cluster.groups:
            verdict = f"not sure, as a whole right to {chance}"
        rival = f"; the best explanation without groups: {grouping.rival}" if grouping.rival else ""
        lines.append(f"groups: {verdict}{rival}")
    if len(grouping.levels) > 1:
        counts = " > ".join(format_count(len(level), "group") for level in grouping.levels)
        lines.append(f"levels: {counts}")
    doubtful = [
        f"{each.host} (sure to {probability_text(each.probability)}"
        + (f"; best in {nearest[each.host]})" if each.host in nearest else ")")
        for each in grouping.doubtful
    ]
    alone = [
        f"{host} (nearest to {nearest[host]})" if host in nearest else host
        for host in grouping.alone
    ]
    for label, hosts, separator in (
        ("may belong elsewhere", doubtful, ", "),
        ("fit nowhere", alone, ", "),
        ("not measured enough", grouping.unmeasured, " "),
    ):
        if hosts:
            lines.append(f"{label}: {join_some(hosts, SHOWN, separator)}")
    advice = more_passes(cluster)
    if advice is not None:
        file, passes = document.argument(cluster.source), str(advice.passes)
        again = next_command("probe", "--resume", file, "--passes", passes, way=cluster.way)
        lines.append(
            f"to become sure: {advice.further} more passes, about {max(1.0, advice.seconds):.0f} s "
            f"of probing: {again}"
        )
    return list(map(printable, lines))


def method_lines(cluster: Cluster, grouping: Grouping) -> list[str]:
    """Return lines on the method by which groups were found, and how plans use the groups."""
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


def judgement_lines(judgement: Judgement) -> list[str]:
    """Return lines on how well the found groups agree with the true ones."""
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
        misplaced = judgement.elsewhere
        agree = judgement.hosts - len(misplaced)
        hosts = format_count(judgement.hosts, "host")
        lines.append(f"level {judgement.compared}: {agree} of {hosts} agree")
        for each in misplaced[:SHOWN]:
            other = each.found_with or "none of its groups"
            place = f"stands in {each.stands}, and was found with the hosts of {other}"
            lines.append(f"    {each.host} {place}")
        if len(misplaced) > SHOWN:
            lines.append(f"    and {len(misplaced) - SHOWN} more (--json names all)")
    return list(map(printable, lines))


def describe_groups(
    cluster: Cluster, capacity: Capacity, judgement: Judgement | None
) -> GroupsOutput:
    """Return a cluster's groups and its links' rates, as `plink group --json` prints them."""
    rates = zip(cluster.names, capacity.send_gbit_s, capacity.receive_gbit_s, strict=True)
    links = [
        LinkRates(name, *(None if np.isnan(rate) else float(rate) for rate in pair))
        for name, *pair in rates
    ]
    known = LinkCapacities(links, capacity.uplinks, capacity.assumptions)
    return GroupsOutput(cluster.groups, cluster.grouping, known, judgement)
