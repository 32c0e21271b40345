"""Report section with orders drawn as rings: hosts on a circle by group, joined by rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.text import format_count
from plink.show.page.hops import hop_bars, leaves_group, leaving, staying_title
from plink.show.page.parts import (
    BETWEEN,
    MUTED,
    NO_GROUP,
    WITHIN,
    Figure,
    Paragraph,
    Part,
    Section,
    group_colour,
    group_symbol,
    plotly_text,
    round_to_digits,
)
from plink.show.page.subject import NamedOrder, Subject

_LEAST_HOSTS = 3
# Empty places on the circle between two groups.
_GAP = 1.5
_MAX_NAMES = 32
_MAX_LEGEND = 16
# More lines are thin and through each other.
_MANY = 64
# A letter and a mark with its distance to the name, beside half of a narrow circle's picture.
_LETTER_PX, _MARK_PX, _HALF_PX = 6.5, 14.0, 200.0
# The opacity of a host without a rank.
_LEFT_OUT = 0.3


def ring_section(subject: Subject) -> Section | None:
    """Return the listed order and plink's orders as rings; None for too few hosts."""
    if len(subject.names) < _LEAST_HOSTS:
        return None
    parts: list[Part] = []
    if not subject.orders:
        given = list(range(len(subject.names)))
        parts.append(Paragraph(f"No order was given to this report. {_crossings(subject, given)}"))
        parts.append(rings(subject, [("given order", given)], "ring"))
    for number, named in enumerate(subject.orders):
        ranks = [subject.place_of[name] for name in named.order.names]
        parts.append(Paragraph(_crossings_sentence(subject, named, ranks)))
        # Where hosts are left out, the given order is that of the first.
        pair = [("given order", list(range(len(ranks)))), ("plink's order", ranks)]
        parts += [
            rings(subject, pair, f"ring-{number}"),
            hop_bars(subject, named, ranks, f"hops-{number}"),
        ]
    return Section("ring", "The ring over the groups", parts)


def _crossings(subject: Subject, ranks: Sequence[int]) -> str:
    if not subject.groups:
        return "No groups are known, so hops within and between groups cannot be told apart."
    return (
        f"As listed, {leaving(subject, ranks)} of {len(ranks)} hops lead from one group to another."
    )


def _crossings_sentence(subject: Subject, named: NamedOrder, ranks: Sequence[int]) -> str:
    if not subject.groups:
        return f"{named.source}: {_crossings(subject, ranks)}"
    given = leaving(subject, range(len(ranks)))
    of_hosts = subject.group_of[list(ranks)]
    alone = int((of_hosts == NO_GROUP).sum())
    groups = len(set(of_hosts.tolist()) - {NO_GROUP})
    least = groups + alone if groups + alone > 1 else 0
    lone = f" and {format_count(alone, 'host')} in no group" if alone else ""
    return (
        f"{named.source}: {leaving(subject, ranks)} of {len(ranks)} hops lead from one group to "
        f"another; in the given order {given} do. A ring over "
        f"{format_count(groups, 'group')}{lone} has at least {least}."
    )


def rings(subject: Subject, orders: Sequence[tuple[str, list[int]]], name: str) -> Figure:
    """Return a circle of hosts for each order, with lines from rank to rank.

    Args:
        subject: whose hosts they are.
        orders: a title and the hosts in rank order, each.
        name: name of the figure.
    """
    places = _places(subject)
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"hovermode": "closest", "showlegend": True}
    layout["legend"] = {"orientation": "h", "y": -0.02, "yanchor": "top"}
    half = _half_width(subject)
    for number, (_, ranks) in enumerate(orders):
        suffix = "" if number == 0 else str(number + 1)
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        traces += [
            {**trace, **axes, "showlegend": trace["showlegend"] and number == 0}
            for trace in _ring(subject, ranks, places)
        ]
    titles = [title for title, _ in orders]
    layout |= _side_by_side(titles, half)
    return Figure(
        name,
        traces,
        layout,
        520,
        "Hosts stand on a circle, groups side by side, and every rank is joined to the next. "
        "Orange hops leave a group (dashed where they are few), blue ones stay: a good ring runs "
        "around the circle, one that ignores the network crosses it again and again.",
        f"rings of {len(subject.names)} hosts",
        narrow=_stacked_layout(titles, half),
        narrow_height_px=400 * len(orders) + 80,
    )


def _half_width(subject: Subject) -> float:
    """Return the half-width of a picture of a unit circle, with room for names."""
    letters = max(map(len, subject.labels)) if len(subject.names) <= _MAX_NAMES else 0
    return 1.0 / (1.0 - (_LETTER_PX * letters + _MARK_PX) / _HALF_PX)


def _side_by_side(titles: Sequence[str], half: float) -> dict[str, Any]:
    """Return the layout of circles in a row."""
    width = 1.0 / len(titles)
    places = [[number * width + 0.01, (number + 1) * width - 0.01] for number in range(len(titles))]
    return _axes(titles, half, [(place, [0.0, 1.0]) for place in places])


def _stacked_layout(titles: Sequence[str], half: float) -> dict[str, Any]:
    """Return the layout of circles in a column."""
    height = 1.0 / len(titles)
    tops = [1.0 - number * height for number in range(len(titles))]
    return _axes(titles, half, [([0.0, 1.0], [top - 0.92 * height, top]) for top in tops])


def _axes(
    titles: Sequence[str], half: float, domains: Sequence[tuple[list[float], list[float]]]
) -> dict[str, Any]:
    layout: dict[str, Any] = {"annotations": []}
    for number, (title, (x, y)) in enumerate(zip(titles, domains, strict=True)):
        suffix = "" if number == 0 else str(number + 1)
        hidden = {"visible": False, "range": [-half, half]}
        layout[f"xaxis{suffix}"] = {
            **hidden,
            "domain": x,
            "constrain": "domain",
            "anchor": f"y{suffix}",
        }
        layout[f"yaxis{suffix}"] = {
            **hidden,
            "domain": y,
            "constrain": "domain",
            "scaleanchor": f"x{suffix}",
            "anchor": f"x{suffix}",
        }
        layout["annotations"].append(
            {
                "text": plotly_text(title[:60]),
                "showarrow": False,
                "xref": "paper",
                "yref": "paper",
                "x": sum(x) / 2.0,
                "y": y[1],
                "yanchor": "bottom",
            }
        )
    return layout


def _places(subject: Subject) -> npt.NDArray[np.float64]:
    """Return the hosts' positions on the unit circle, (N, 2), clockwise from the top by group."""
    sequence = np.array(subject.sequence)
    groups = subject.group_of[sequence]
    is_new = groups != np.roll(groups, 1)
    offset = np.arange(len(sequence)) + _GAP * np.cumsum(is_new)
    total = len(sequence) + _GAP * max(1, int(is_new.sum()))
    angle = np.pi / 2.0 - 2.0 * np.pi * offset / total
    places = np.empty((len(sequence), 2))
    places[sequence] = np.column_stack([np.cos(angle), np.sin(angle)])
    return places


def _ring(
    subject: Subject, ranks: Sequence[int], places: npt.NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Return the traces of one ring: hops within groups, hops between groups, hosts by group."""
    leaves = leaves_group(subject, ranks)
    dash = "dash" if leaves.sum() <= _MANY else "solid"
    staying = {"color": WITHIN if subject.groups else MUTED, "dash": "solid"}
    kinds = (
        (staying, staying_title(subject), np.flatnonzero(~leaves)),
        ({"color": BETWEEN, "dash": dash}, "leaves the group", np.flatnonzero(leaves)),
    )
    lines = [_lines(title, line, places, ranks, rows) for line, title, rows in kinds if rows.size]
    rank_of = {host: rank for rank, host in enumerate(ranks)}
    groups = subject.shown_groups
    has_legend = 1 < len(groups) <= _MAX_LEGEND
    marks = [_marks(subject, group, places, rank_of) for group in groups]
    return [*lines, *({**mark, "showlegend": has_legend} for mark in marks)]


def _lines(
    title: str,
    line: dict[str, Any],
    places: npt.NDArray[np.float64],
    ranks: Sequence[int],
    rows: npt.NDArray[np.intp],
) -> dict[str, Any]:
    """Return the line segments from these ranks' hosts to the next ranks' hosts."""
    x: list[float | None] = []
    y: list[float | None] = []
    for row in rows:
        here, there = places[ranks[row]], places[ranks[(row + 1) % len(ranks)]]
        x += [round_to_digits(here[0]), round_to_digits(there[0]), None]
        y += [round_to_digits(here[1]), round_to_digits(there[1]), None]
    is_many = len(rows) > _MANY
    return {
        "type": "scatter",
        "mode": "lines",
        "name": title,
        "showlegend": True,
        "x": x,
        "y": y,
        "opacity": 0.5 if is_many else 1.0,
        "line": {**line, "width": 1 if is_many else 2},
        "hoverinfo": "skip",
    }


def _marks(
    subject: Subject, group: int, places: npt.NDArray[np.float64], rank_of: dict[int, int]
) -> dict[str, Any]:
    """Return the markers of a group's hosts."""
    hosts = [int(host) for host in np.flatnonzero(subject.group_of == group)]
    name = "no group" if group == NO_GROUP else subject.groups[group].name
    has_names = len(places) <= _MAX_NAMES
    return {
        "type": "scatter",
        "mode": "markers+text" if has_names else "markers",
        "name": plotly_text(name[:40]),
        "x": [round_to_digits(places[host, 0]) for host in hosts],
        "y": [round_to_digits(places[host, 1]) for host in hosts],
        "text": [subject.labels[host] for host in hosts],
        "textposition": [_beside(places[host]) for host in hosts],
        "textfont": {"size": 10},
        "cliponaxis": False,
        "customdata": [
            f"place {rank_of[host]}" if host in rank_of else "left out" for host in hosts
        ],
        "marker": {
            "color": group_colour(subject.shade_of[group]),
            "symbol": group_symbol(subject.shade_of[group]),
            "opacity": [1.0 if host in rank_of else _LEFT_OUT for host in hosts],
            "size": 10 if has_names else max(4, min(8, 1600 // len(places))),
        },
        "hovertemplate": "%{text}, %{customdata}<extra>%{fullData.name}</extra>",
    }


def _beside(place: npt.NDArray[np.float64]) -> str:
    """Return the side of a marker on which the host's name lies outside the circle."""
    x, y = place
    vertical = "top" if y > 0.5 else "bottom" if y < -0.5 else "middle"
    horizontal = "right" if x > 0.3 else "left" if x < -0.3 else "center"
    return f"{vertical} {horizontal}"
