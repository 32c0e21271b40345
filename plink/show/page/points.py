"""Map of the hosts as points whose distances match the measured ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from plink.base.text import share_text
from plink.model.denoising import measured_hosts, readings_between
from plink.show.page.parts import (
    LINE,
    MUTED,
    NO_GROUP,
    Figure,
    Folded,
    Paragraph,
    Part,
    Section,
    group_colour,
    group_symbol,
    plotly_text,
    round_to_digits,
)
from plink.show.page.subject import Subject
from plink.solvers.embedding.embed import Embedding, embed

_LEAST_HOSTS = 4
# A map of more hosts takes minutes, and shows no more.
MOST_POINTS = 512
_MAX_NAMES = 24
_MAX_LEGEND = 32
# From here on the picture misleads more than it tells.
_ROUGH = 0.25


def map_section(subject: Subject) -> Section | None:
    """Return the map in two dimensions coloured by group, or why there is none."""
    cluster = subject.cluster
    if cluster is None or subject.distances is None:
        return None
    hosts = measured_hosts(cluster)
    if len(hosts) < _LEAST_HOSTS:
        parts: list[Part] = [Paragraph("A map needs four hosts with measurements.")]
        return Section("map", "Map", parts)
    placed = len(hosts)
    if placed > MOST_POINTS:
        # Every so many hosts of the sequence, in which groups stand together: of each its share.
        is_placed = np.zeros(len(subject.names), dtype=bool)
        is_placed[hosts] = True
        in_sequence = [host for host in subject.sequence if is_placed[host]]
        hosts = [in_sequence[place * placed // MOST_POINTS] for place in range(MOST_POINTS)]
    try:
        found = embed(readings_between(cluster, hosts), dimensions=2)
    except ValueError as error:
        return Section("map", "Map", [Paragraph(f"There is no map: {error}.")])
    missed = share_text(found.held_out_error)
    is_rough = found.held_out_error > _ROUGH
    said = f"Distances on the map miss the measured ones by {missed} on average."
    if is_rough:
        said += (
            " That is too much to read anything from it: this network does not fit into a plane. "
            "So the map is folded away; trust the heat map and the tree."
        )
    if len(hosts) < placed:
        said += f" {len(hosts)} of {placed:,} hosts are shown, of each group its share."
    if placed < len(subject.names):
        said += f" {len(subject.names) - placed} hosts have too few measurements to be placed."
    figure: Part = point_map(subject, hosts, found)
    if is_rough:
        figure = Folded("The map all the same", [figure])
    return Section("map", "Map", [Paragraph(said), figure])


def point_map(subject: Subject, hosts: list[int], found: Embedding) -> Figure:
    """Return the scatter plot with one trace per group.

    Args:
        subject: whose hosts they are.
        hosts: indices of those that have a point.
        found: their (M, 2) points in µs.
    """
    points = found.points - found.points.mean(axis=0)
    groups = subject.group_of[hosts]
    traces = [
        _trace(subject, group, [hosts[row] for row in rows], points[rows])
        for group in subject.shown_groups
        if (rows := np.flatnonzero(groups == group)).size
    ]
    axis = {"zeroline": False, "gridcolor": LINE, "ticksuffix": " µs", "nticks": 6}
    has_legend = 1 < len(traces) <= _MAX_LEGEND
    return Figure(
        "map",
        traces,
        {
            "xaxis": axis,
            "yaxis": {**axis, "scaleanchor": "x"},
            "showlegend": has_legend,
            "legend": {"itemsizing": "constant"},
            "hovermode": "closest",
        },
        640,
        "Each host is a point, placed so that distances between points come as near to the "
        "measured round trips as they can; colour and symbol are its group. The axes have no "
        "meaning of their own, only distances have. Groups should show as clumps apart.",
        f"map of {len(hosts)} hosts in {len(traces)} groups",
        is_square=True,
        narrow={"legend": {"itemsizing": "constant", "orientation": "h", "y": -0.1}},
    )


def _trace(subject: Subject, group: int, hosts: list[int], points: Any) -> dict[str, Any]:
    name = "no group" if group == NO_GROUP else subject.groups[group].name
    has_names = len(subject.names) <= _MAX_NAMES
    return {
        "type": "scatter",
        "mode": "markers+text" if has_names else "markers",
        "name": plotly_text(name[:40]),
        "x": [round_to_digits(x) for x in points[:, 0]],
        "y": [round_to_digits(y) for y in points[:, 1]],
        "text": [subject.labels[host] for host in hosts],
        "textposition": "top center",
        "textfont": {"size": 10, "color": MUTED},
        "marker": {
            "color": group_colour(subject.shade_of[group]),
            "symbol": group_symbol(subject.shade_of[group]),
            "size": 11 if has_names else 8,
            "line": {"color": "var(--card)", "width": 1},
        },
        "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
    }
