"""Report section on groups: a table, their certainty, and the dendrogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.text import rtt_text
from plink.files.cluster import Cluster
from plink.files.matrices import Matrix
from plink.model.network import capacity
from plink.show.groups import SHOWN, group_columns, grouping_lines, method_lines
from plink.show.page.parts import (
    LINE,
    MUTED,
    NO_GROUP,
    Figure,
    Folded,
    Names,
    Paragraph,
    Part,
    Section,
    Table,
    group_colour,
    plotly_text,
    round_to_digits,
)
from plink.show.page.subject import Subject
from plink.show.tables import capitalise, cells, headings, number_columns

_LEAST_HOSTS = 3
# More joints than this are thinner than a screen's dots; the lowest are left out.
MAX_JOINTS = 512
_MAX_NAMES = 48
_MIXED = -2
_SHORT = 0.93
_LEAST_TICKS = 3
# The height where hosts are no distance apart at all: a logarithm has no place for 0.
_LEAST_US = 1e-3


def groups_section(subject: Subject) -> Section | None:
    """Return the section with groups, uplinks and the dendrogram of the distances."""
    cluster = subject.cluster
    if cluster is None:
        return None
    parts = _groups(cluster)
    if subject.distances is not None and len(subject.names) >= _LEAST_HOSTS:
        parts.append(dendrogram(subject, subject.distances.matrix_us))
    return Section("groups", "Groups", parts)


def _groups(cluster: Cluster) -> list[Part]:
    if not cluster.groups:
        looked = cluster.grouping is not None
        return [
            Paragraph(
                "plink group found no groups that are apart from each other."
                if looked
                else "No groups are known yet; plink group finds them."
            )
        ]
    columns = group_columns(cluster, capacity(cluster, cluster.groups))
    rows = cells(columns[:-1], cluster.groups)
    parts: list[Part] = [
        Table(
            "Groups, and how far their hosts are from each other and from the nearest other group",
            headings(columns),
            [(*row, Names(group.hosts)) for row, group in zip(rows, cluster.groups, strict=True)],
            number_columns(columns),
        )
    ]
    grouping = cluster.grouping
    if grouping is not None:
        parts += [Paragraph(capitalise(line)) for line in grouping_lines(cluster, grouping)]
        parts += [Paragraph(capitalise(note), is_note=True) for note in grouping.notes]
        for title, hosts in (
            ("Hosts that may belong elsewhere", [each.host for each in grouping.doubtful]),
            ("Hosts that fit nowhere", grouping.alone),
            ("Hosts that were not measured enough", grouping.unmeasured),
        ):
            # Fewer stand in the sentences above.
            if len(hosts) > SHOWN:
                parts.append(
                    Table(title, ("how many", "which"), [(f"{len(hosts):,}", Names(hosts))])
                )
        details: list[Part] = [
            Paragraph(capitalise(line)) for line in method_lines(cluster, grouping)
        ]
        parts.append(Folded("How the groups were found", details))
    return parts


@dataclass
class _Branches:
    """Line segments of the dendrogram's clusters within one group."""

    x: list[float | None] = field(default_factory=list)
    y: list[float | None] = field(default_factory=list)
    text: list[str | None] = field(default_factory=list)

    def add(self, x: Sequence[float], y: Sequence[float], text: str) -> None:
        self.x += [*(round_to_digits(value) for value in x), None]
        self.y += [*(round_to_digits(value) for value in y), None]
        self.text += [text] * len(x) + [None]


def dendrogram(subject: Subject, matrix_us: Matrix) -> Figure:
    """Return the figure of average linkage, with leaves in the order of the tree.

    Args:
        subject: whose hosts they are; at least two.
        matrix_us: (N, N) symmetric, without gaps.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage  # noqa: PLC0415
    from scipy.spatial.distance import squareform  # noqa: PLC0415

    size = len(matrix_us)
    joints = linkage(squareform(matrix_us, checks=False), "average", optimal_ordering=size <= 600)
    leaves = [int(leaf) for leaf in leaves_list(joints)]
    branches = _branches(subject, joints, leaves)
    least = max(_LEAST_US, float(joints[:, 2][joints[:, 2] > 0.0].min(initial=joints[-1, 2])))
    low, high = 0.8 * least, 1.06 * max(least, float(joints[-1, 2]))
    ticks = _axis_ticks(low, high)
    traces = [_trace(subject, group, branches[group]) for group in sorted(branches)]
    axis: dict[str, Any] = {
        "showgrid": False,
        "zeroline": False,
        "showticklabels": size <= _MAX_NAMES,
        "tickmode": "array",
        "tickvals": list(range(size)) if size <= _MAX_NAMES else [],
        "ticktext": [subject.labels[leaf] for leaf in leaves] if size <= _MAX_NAMES else [],
        "tickfont": {"size": 10},
        "range": [-1, size],
    }
    caption = (
        "Hosts are at the bottom; a bar joins two clusters at the height of the mean round trip "
        "between them. Long vertical lines are gaps between levels: where many clusters end in "
        "long lines, they are groups. A colour is a cluster inside one group, grey joins groups."
    )
    if size - 1 > MAX_JOINTS:
        caption += f" The {MAX_JOINTS} highest of {size - 1:,} joints are shown."
    return Figure(
        "tree",
        traces,
        {
            "xaxis": axis,
            "yaxis": {
                "type": "log",
                "title": {"text": "mean round trip"},
                "gridcolor": LINE,
                "tickmode": "array",
                "tickvals": ticks,
                "ticktext": [rtt_text(tick) for tick in ticks],
                "minor": {"showgrid": False},
                "range": [
                    float(np.log10(low)),
                    float(np.log10(high)),
                ],
            },
            "showlegend": False,
            "hovermode": "closest",
        },
        460,
        caption,
        f"dendrogram of {size} hosts",
    )


def _axis_ticks(low: float, high: float) -> list[float]:
    """Return axis ticks 1, 2 and 5 times powers of ten; more if there are few."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)

    def between(steps: Sequence[float]) -> list[float]:
        values = (round_to_digits(step * 10.0**power) for power in powers for step in steps)
        return [value for value in values if low <= value <= high]

    few = between((1.0, 2.0, 5.0))
    return (
        few if len(few) >= _LEAST_TICKS else between((1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0))
    )


def _branches(
    subject: Subject, joints: npt.NDArray[np.float64], leaves: Sequence[int]
) -> dict[int, _Branches]:
    """Return line segments by group; those across groups are under `_MIXED`."""
    size = len(leaves)
    place = np.empty(2 * size - 1)
    place[leaves] = np.arange(size)
    height = np.zeros(2 * size - 1)
    hosts = np.ones(2 * size - 1, dtype=np.intp)
    group = np.full(2 * size - 1, _MIXED)
    group[:size] = np.where(subject.group_of == NO_GROUP, _MIXED, subject.group_of)
    floor = float(joints[:, 2][joints[:, 2] > 0.0].min(initial=1.0)) * 0.5
    branches: dict[int, _Branches] = {}
    for number, (first, second, length, count) in enumerate(joints):
        left, right, node = int(first), int(second), size + number
        place[node] = (place[left] + place[right]) / 2.0
        height[node], hosts[node] = length, int(count)
        group[node] = group[left] if group[left] == group[right] else _MIXED
        if number < size - 1 - MAX_JOINTS:
            continue
        # Many hosts' lines side by side would be one block of colour: they are short ones.
        foot = floor if size <= _MAX_NAMES else max(floor, _SHORT * length)
        branches.setdefault(int(group[node]), _Branches()).add(
            [place[left], place[left], place[right], place[right]],
            [height[left] or foot, length, length, height[right] or foot],
            f"{hosts[left]} and {hosts[right]} hosts, {rtt_text(length)} apart",
        )
    return branches


def _trace(subject: Subject, group: int, branches: _Branches) -> dict[str, Any]:
    is_mixed = group == _MIXED
    return {
        "type": "scatter",
        "mode": "lines",
        "x": branches.x,
        "y": branches.y,
        "text": branches.text,
        "name": "between groups" if is_mixed else plotly_text(subject.groups[group].name[:40]),
        "line": {
            "color": MUTED if is_mixed else group_colour(subject.shade_of[group]),
            "width": 1.5,
        },
        "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
    }
