"""Report sections on groups: a table, their certainty, the dendrogram, and a map of the hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from plink.base.text import rtt_text, share_text
from plink.formats.matrices import Matrix
from plink.model.denoising import find_measured_hosts, select_readings
from plink.model.network import capacity
from plink.show.groups import SHOWN, group_columns, grouping_lines, method_lines
from plink.show.page import charts
from plink.show.page.parts import Figure, Folded, Names, Paragraph, Part, Section, Table
from plink.show.page.subject import Subject
from plink.show.tables import capitalise, cells, headings, number_columns
from plink.solvers.embedding.embed import embed

_LEAST_HOSTS = 3
# More joints than this are thinner than a screen's dots; the lowest are left out.
MAX_JOINTS = 512
_MAX_NAMES = 48
_MIXED = -2
# Share of a joint's height from which lines of many hosts begin.
_SHORT = 0.93
_TICKS = 6
# The height where hosts are no distance apart at all: a logarithm has no place for 0.
_LEAST_US = 1e-3
_LEAST_MAPPED = 4
# A map of more hosts takes minutes, and shows no more.
_MOST_POINTS = 512
_MAX_MAP_NAMES = 24
_MAX_LEGEND = 32
# Share of a distance from which on the picture misleads more than it tells.
_ROUGH = 0.25


def groups_section(subject: Subject) -> Section | None:
    """Return the report's section on groups: a table, their certainty, and a dendrogram."""
    cluster = subject.cluster
    if cluster is None:
        return None
    parts: list[Part] = []
    grouping = cluster.grouping
    if cluster.groups:
        columns = group_columns(cluster, capacity(cluster, cluster.groups))
        rows = cells(columns[:-1], cluster.groups)
        table = Table(
            "Groups, and how far their hosts are from each other and from the nearest other group",
            headings(columns),
            [(*row, Names(group.hosts)) for row, group in zip(rows, cluster.groups, strict=True)],
            number_columns(columns),
        )
        parts.append(table)
    elif grouping is not None:
        parts.append(Paragraph("plink group found no groups that are apart from each other."))
    else:
        parts.append(Paragraph("No groups are known yet; plink group finds them."))
    if cluster.groups and grouping is not None:
        parts += [Paragraph(capitalise(line)) for line in grouping_lines(cluster, grouping)]
        parts += [Paragraph(capitalise(note), is_note=True) for note in grouping.notes]
        for title, hosts in (
            ("Hosts that may belong elsewhere", [each.host for each in grouping.doubtful]),
            ("Hosts that fit nowhere", grouping.alone),
            ("Hosts that were not measured enough", grouping.unmeasured),
        ):
            # Fewer stand in the sentences above.
            if len(hosts) > SHOWN:
                row = (f"{len(hosts):,}", Names(hosts))
                parts.append(Table(title, ("how many", "which"), [row]))
        method = [Paragraph(capitalise(line)) for line in method_lines(cluster, grouping)]
        parts.append(Folded("How the groups were found", method))
    if subject.distances is not None and len(subject.names) >= _LEAST_HOSTS:
        parts.append(dendrogram(subject, subject.distances.matrix_us))
    return Section("groups", "Groups", parts)


def dendrogram(subject: Subject, matrix_us: Matrix) -> Figure:
    """Return the dendrogram (average linkage) of symmetric distances without gaps, (N, N)."""
    size = len(matrix_us)
    joints = linkage(squareform(matrix_us, checks=False), "average", optimal_ordering=size <= 600)
    leaves = leaves_list(joints).tolist()
    lengths = joints[:, 2]
    least = max(_LEAST_US, float(lengths[lengths > 0.0].min(initial=lengths[-1])))
    low, high = 0.8 * least, 1.06 * max(least, float(lengths[-1]))
    heights = [float(f"{height:.2g}") for height in np.geomspace(low, high, _TICKS)]
    named = leaves if size <= _MAX_NAMES else []
    caption = (
        "Hosts are at the bottom; a bar joins two clusters at the height of the mean round trip "
        "between them. Long vertical lines are gaps between levels: where many clusters end in "
        "long lines, they are groups. A colour is a cluster inside one group, grey joins groups."
    )
    if size - 1 > MAX_JOINTS:
        caption += f" The {MAX_JOINTS} highest of {size - 1:,} joints are shown."
    return Figure(
        "tree",
        _branch_traces(subject, joints, leaves),
        charts.layout(
            charts.axis(
                showgrid=False,
                showticklabels=bool(named),
                tickfont={"size": 10},
                range=[-1, size],
                **charts.ticks(range(len(named)), [subject.labels[leaf] for leaf in named]),
            ),
            charts.axis(
                "mean round trip",
                type="log",
                minor={"showgrid": False},
                range=[float(np.log10(low)), float(np.log10(high))],
                **charts.ticks(heights, map(rtt_text, heights)),
            ),
            legend=None,
        ),
        460,
        caption,
        f"dendrogram of {size} hosts",
    )


def _branch_traces(
    subject: Subject, joints: npt.NDArray[np.float64], leaves: Sequence[int]
) -> list[charts.Json]:
    """Return plotly traces of the dendrogram's lines: one for each group, one across groups."""
    size = len(leaves)
    place = np.empty(2 * size - 1)
    place[leaves] = np.arange(size)
    height = np.concatenate([np.zeros(size), joints[:, 2]])
    hosts = np.concatenate([np.ones(size), joints[:, 3]]).astype(int)
    group = np.full(2 * size - 1, _MIXED)
    group[:size] = np.where(subject.group_by_host == charts.NO_GROUP, _MIXED, subject.group_by_host)
    floor = float(joints[:, 2][joints[:, 2] > 0.0].min(initial=1.0)) * 0.5
    branches: dict[int, charts.Segments] = {}
    for number, (left, right) in enumerate(joints[:, :2].astype(int)):
        node, length = size + number, height[size + number]
        place[node] = (place[left] + place[right]) / 2.0
        group[node] = group[left] if group[left] == group[right] else _MIXED
        if number < size - 1 - MAX_JOINTS:
            continue
        # Many hosts' lines side by side would be one block of colour: they are short ones.
        foot = floor if size <= _MAX_NAMES else max(floor, _SHORT * length)
        text = f"{hosts[left]} and {hosts[right]} hosts, {rtt_text(length)} apart"
        branches.setdefault(int(group[node]), charts.Segments()).add(
            [place[left], place[left], place[right], place[right]],
            [height[left] or foot, length, length, height[right] or foot],
            [text] * 4,
        )
    traces = []
    for number in sorted(branches):
        title, colour = "between groups", charts.MUTED
        if number != _MIXED:
            title = subject.group_name(number)
            colour = charts.group_colour(subject.shade_by_group[number])
        line = {"color": colour, "width": 1.5}
        traces.append(branches[number].trace(title, line, hover="%{text}|name"))
    return traces


def map_section(subject: Subject) -> Section | None:
    """Return the report's section with a map of hosts, or with the reason for none."""
    cluster = subject.cluster
    if cluster is None or subject.distances is None:
        return None
    hosts = find_measured_hosts(cluster)
    measured = len(hosts)
    if measured < _LEAST_MAPPED:
        return Section("map", "Map", [Paragraph("A map needs four hosts with measurements.")])
    if measured > _MOST_POINTS:
        is_measured = set(hosts)
        # Evenly from the sequence, in which groups stand together: of each group its share.
        sequence = [host for host in subject.sequence if host in is_measured]
        hosts = [sequence[place * measured // _MOST_POINTS] for place in range(_MOST_POINTS)]
    try:
        embedding = embed(select_readings(cluster, hosts), dimensions=2)
    except ValueError as error:
        return Section("map", "Map", [Paragraph(f"There is no map: {error}.")])
    missed = share_text(embedding.held_out_error)
    text = f"Distances on the map miss the measured ones by {missed} on average."
    picture: Part = _draw_map(subject, hosts, embedding.points)
    if embedding.held_out_error > _ROUGH:
        text += (
            " That is too much to read anything from it: this network does not fit into a plane. "
            "So the map is folded away; trust the heat map and the tree."
        )
        picture = Folded("The map all the same", [picture])
    if len(hosts) < measured:
        text += f" {len(hosts)} of {measured:,} hosts are shown, of each group its share."
    if measured < len(subject.names):
        text += f" {len(subject.names) - measured} hosts have too few measurements to be placed."
    return Section("map", "Map", [Paragraph(text), picture])


def _draw_map(subject: Subject, hosts: list[int], points: charts.Floats) -> Figure:
    """Return the figure of hosts as points in a plane, (M, 2) in µs, coloured by group."""
    positions = np.full((len(subject.names), 2), np.nan)
    positions[hosts] = points - points.mean(axis=0)
    has_names = len(subject.names) <= _MAX_MAP_NAMES
    traces = [
        group_markers(
            subject,
            group,
            [host for host in hosts if subject.group_by_host[host] == group],
            positions,
            has_names=has_names,
            marker={"size": 11 if has_names else 8, "line": {"color": "var(--card)", "width": 1}},
            hover="%{text}|name",
            textposition="top center",
            textfont={"size": 10, "color": charts.MUTED},
        )
        for group in subject.shown_groups
        if (subject.group_by_host[hosts] == group).any()
    ]
    return Figure(
        "map",
        traces,
        charts.layout(
            charts.axis(unit="µs", nticks=6),
            charts.axis(unit="µs", nticks=6, scaleanchor="x"),
            legend="beside" if 1 < len(traces) <= _MAX_LEGEND else None,
        ),
        640,
        "Each host is a point, placed so that distances between points come as near to the "
        "measured round trips as they can; colour and symbol are its group. The axes have no "
        "meaning of their own, only distances have. Groups should show as clumps apart.",
        f"map of {len(hosts)} hosts in {len(traces)} groups",
        is_square=True,
        narrow={"legend": {"itemsizing": "constant", "orientation": "h", "y": -0.1}},
    )


def group_markers(
    subject: Subject,
    group: int,
    hosts: Sequence[int],
    points: charts.Floats,
    *,
    has_names: bool,
    marker: charts.Json,
    **more: Any,
) -> charts.Json:
    """Return the plotly trace of a group's hosts as markers at (N, 2) positions of all hosts."""
    shade = subject.shade_by_group[group]
    return charts.trace(
        subject.group_name(group),
        *points[list(hosts)].T,
        mode="markers+text" if has_names else "markers",
        text=[subject.labels[host] for host in hosts],
        marker={
            "color": charts.group_colour(shade),
            "symbol": charts.group_symbol(shade),
            **marker,
        },
        **more,
    )
