"""Report section with a map: hosts as points whose distances match the measured ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plink.base.text import share_text
from plink.model.denoising import find_measured_hosts, select_readings
from plink.show.page.charts import (
    MUTED,
    Floats,
    Json,
    axis,
    group_colour,
    group_symbol,
    layout,
    trace,
)
from plink.show.page.parts import Figure, Folded, Paragraph, Part, Section
from plink.show.page.subject import Subject
from plink.solvers.embedding.embed import embed

_LEAST_HOSTS = 4
# A map of more hosts takes minutes, and shows no more.
_MOST_POINTS = 512
_MAX_NAMES = 24
_MAX_LEGEND = 32
# Share of a distance from which on the picture misleads more than it tells.
_ROUGH = 0.25


def map_section(subject: Subject) -> Section | None:
    """Return the report's section with a map of hosts, or with the reason for none."""
    cluster = subject.cluster
    if cluster is None or subject.distances is None:
        return None
    hosts = find_measured_hosts(cluster)
    measured = len(hosts)
    if measured < _LEAST_HOSTS:
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


def _draw_map(subject: Subject, hosts: list[int], points: Floats) -> Figure:
    """Return the map of hosts at positions in µs, (M, 2), with one trace per group."""
    positions = np.full((len(subject.names), 2), np.nan)
    positions[hosts] = points - points.mean(axis=0)
    has_names = len(subject.names) <= _MAX_NAMES
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
            textfont={"size": 10, "color": MUTED},
        )
        for group in subject.shown_groups
        if (subject.group_by_host[hosts] == group).any()
    ]
    return Figure(
        "map",
        traces,
        layout(
            axis(unit="µs", nticks=6),
            axis(unit="µs", nticks=6, scaleanchor="x"),
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
    points: Floats,
    *,
    has_names: bool,
    marker: Json,
    **more: Any,
) -> Json:
    """Return the plotly trace of a group's hosts as markers.

    Args:
        subject: the report's subject.
        group: number of the group, or `NO_GROUP`.
        hosts: indices of its hosts.
        points: (N, 2) positions of all hosts.
        has_names: whether the names stand beside the markers.
        marker: further properties of the markers.
        more: further members of the trace (`trace`).
    """
    shade = subject.shade_by_group[group]
    return trace(
        subject.group_name(group),
        *points[list(hosts)].T,
        mode="markers+text" if has_names else "markers",
        text=[subject.labels[host] for host in hosts],
        marker={"color": group_colour(shade), "symbol": group_symbol(shade), **marker},
        **more,
    )
