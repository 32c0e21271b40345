"""Report section on groups: a table, their certainty, and the dendrogram."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from plink.base.text import rtt_text
from plink.formats.matrices import Matrix
from plink.model.network import capacity
from plink.show.groups import SHOWN, group_columns, grouping_lines, method_lines
from plink.show.page.charts import (
    MUTED,
    NO_GROUP,
    Json,
    Segments,
    axis,
    group_colour,
    layout,
    ticks,
)
from plink.show.page.parts import Figure, Folded, Names, Paragraph, Part, Section, Table
from plink.show.page.subject import Subject
from plink.show.tables import capitalise, cells, headings, number_columns

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


def groups_section(subject: Subject) -> Section | None:
    """Return the section with groups, their certainty and the dendrogram of the distances."""
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
    """Return the figure of average linkage, with leaves in the order of the tree.

    Args:
        subject: the report's subject, with at least two hosts.
        matrix_us: (N, N) symmetric distances, without gaps.
    """
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
        layout(
            axis(
                showgrid=False,
                showticklabels=bool(named),
                tickfont={"size": 10},
                range=[-1, size],
                **ticks(range(len(named)), [subject.labels[leaf] for leaf in named]),
            ),
            axis(
                "mean round trip",
                type="log",
                minor={"showgrid": False},
                range=[float(np.log10(low)), float(np.log10(high))],
                **ticks(heights, map(rtt_text, heights)),
            ),
            legend=None,
        ),
        460,
        caption,
        f"dendrogram of {size} hosts",
    )


def _branch_traces(
    subject: Subject, joints: npt.NDArray[np.float64], leaves: Sequence[int]
) -> list[Json]:
    """Return a trace of the dendrogram's lines for each group, and one for those across groups."""
    size = len(leaves)
    place = np.empty(2 * size - 1)
    place[leaves] = np.arange(size)
    height = np.concatenate([np.zeros(size), joints[:, 2]])
    hosts = np.concatenate([np.ones(size), joints[:, 3]]).astype(int)
    group = np.full(2 * size - 1, _MIXED)
    group[:size] = np.where(subject.group_by_host == NO_GROUP, _MIXED, subject.group_by_host)
    floor = float(joints[:, 2][joints[:, 2] > 0.0].min(initial=1.0)) * 0.5
    branches: dict[int, Segments] = {}
    for number, (left, right) in enumerate(joints[:, :2].astype(int)):
        node, length = size + number, height[size + number]
        place[node] = (place[left] + place[right]) / 2.0
        group[node] = group[left] if group[left] == group[right] else _MIXED
        if number < size - 1 - MAX_JOINTS:
            continue
        # Many hosts' lines side by side would be one block of colour: they are short ones.
        foot = floor if size <= _MAX_NAMES else max(floor, _SHORT * length)
        text = f"{hosts[left]} and {hosts[right]} hosts, {rtt_text(length)} apart"
        branches.setdefault(int(group[node]), Segments()).add(
            [place[left], place[left], place[right], place[right]],
            [height[left] or foot, length, length, height[right] or foot],
            [text] * 4,
        )
    traces = []
    for number in sorted(branches):
        title, colour = "between groups", MUTED
        if number != _MIXED:
            title = subject.group_name(number)
            colour = group_colour(subject.shade_by_group[number])
        line = {"color": colour, "width": 1.5}
        traces.append(branches[number].trace(title, line, hover="%{text}|name"))
    return traces
