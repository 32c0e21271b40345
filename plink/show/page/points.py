"""Report section with a map: hosts as points whose distances match the measured ones."""

from __future__ import annotations

import numpy as np

from plink.base.text import share_text
from plink.model.denoising import find_measured_hosts, select_readings
from plink.show.page.charts import MUTED, Floats, Json, axis, figure, group_markers
from plink.show.page.parts import Figure, Folded, Paragraph, Part, Section
from plink.show.page.subject import Subject
from plink.solvers.embedding.embed import embed

_LEAST_HOSTS = 4
# A map of more hosts takes minutes, and shows no more.
MOST_POINTS = 512
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
    if len(hosts) < _LEAST_HOSTS:
        reason = Paragraph("A map needs four hosts with measurements.")
        return Section("map", "Map", [reason])
    measured = len(hosts)
    if measured > MOST_POINTS:
        # Evenly from the sequence, in which groups stand together: of each group its share.
        is_measured = np.zeros(len(subject.names), dtype=bool)
        is_measured[hosts] = True
        in_sequence = [host for host in subject.sequence if is_measured[host]]
        hosts = [in_sequence[place * measured // MOST_POINTS] for place in range(MOST_POINTS)]
    try:
        embedding = embed(select_readings(cluster, hosts), dimensions=2)
    except ValueError as error:
        return Section("map", "Map", [Paragraph(f"There is no map: {error}.")])
    missed = share_text(embedding.held_out_error)
    is_rough = embedding.held_out_error > _ROUGH
    text = f"Distances on the map miss the measured ones by {missed} on average."
    if is_rough:
        text += (
            " That is too much to read anything from it: this network does not fit into a plane. "
            "So the map is folded away; trust the heat map and the tree."
        )
    if len(hosts) < measured:
        text += f" {len(hosts)} of {measured:,} hosts are shown, of each group its share."
    if measured < len(subject.names):
        text += f" {len(subject.names) - measured} hosts have too few measurements to be placed."
    picture: Part = point_map(subject, hosts, embedding.points)
    if is_rough:
        picture = Folded("The map all the same", [picture])
    return Section("map", "Map", [Paragraph(text), picture])


def point_map(subject: Subject, hosts: list[int], points: Floats) -> Figure:
    """Return the map of hosts as a scatter plot with one trace per group.

    Args:
        subject: the report's subject.
        hosts: places of the hosts that have a point.
        points: (M, 2) their positions in µs.
    """
    centred = points - points.mean(axis=0)
    groups = subject.group_by_host[hosts]
    traces = [
        _group_trace(subject, group, [hosts[row] for row in rows], centred[rows])
        for group in subject.shown_groups
        if (rows := np.flatnonzero(groups == group)).size
    ]
    return figure(
        "map",
        traces,
        axis(unit="µs", nticks=6),
        axis(unit="µs", nticks=6, scaleanchor="x"),
        caption="Each host is a point, placed so that distances between points come as near to the "
        "measured round trips as they can; colour and symbol are its group. The axes have no "
        "meaning of their own, only distances have. Groups should show as clumps apart.",
        description=f"map of {len(hosts)} hosts in {len(traces)} groups",
        height_px=640,
        legend="beside" if 1 < len(traces) <= _MAX_LEGEND else None,
        is_square=True,
        narrow={"legend": {"itemsizing": "constant", "orientation": "h", "y": -0.1}},
    )


def _group_trace(subject: Subject, group: int, hosts: list[int], points: Floats) -> Json:
    has_names = len(subject.names) <= _MAX_NAMES
    return group_markers(
        subject.group_name(group),
        subject.shade_by_group[group],
        [subject.labels[host] for host in hosts],
        points,
        has_names=has_names,
        marker={"size": 11 if has_names else 8, "line": {"color": "var(--card)", "width": 1}},
        hover="%{text}|name",
        textposition="top center",
        textfont={"size": 10, "color": MUTED},
    )
