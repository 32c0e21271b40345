"""Heat maps of matrices between hosts, with groups framed, and the tables that stand for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.text import rtt_text
from plink.formats.matrices import Matrix
from plink.formats.measurements import percentile_name
from plink.show.facts import directions_text, known_values, spread_text
from plink.show.page.charts import (
    INK,
    NO_GROUP,
    SELF,
    UNMEASURED,
    Json,
    axis,
    figure,
    plotly_text,
    round_number,
    round_numbers,
    shortening_note,
    ticks,
)
from plink.show.page.parts import Figure, Folded, Legend, Paragraph, Part, Section, Table
from plink.show.page.subject import Subject
from plink.show.scale import Scale, colour, scale_for
from plink.show.tables import UNKNOWN

# More cells a side are more than a screen shows, and a page should open quickly.
MAX_CELLS = 512
STOPS = 32
LEGEND_TICKS = 5
_MAX_NAMES = 48
_MAX_FRAMES = 128
_DIGITS = 3

# A table of more columns is not read by anybody: groups and hosts then have rows of their own.
MOST_COLUMNS = 24
_MOST_ROWS = 512

Text = Callable[[float], str]


def distances_section(subject: Subject) -> Section | None:
    """Return the report's section with the heat map of raw readings; None without any."""
    cluster = subject.cluster
    if cluster is None or cluster.rtt is None or subject.distances is None:
        return None
    readings_us = cluster.rtt.readings_us
    values = known_values(readings_us)
    scale = scale_for(values)
    size = len(subject.names)
    missing = size * (size - 1) - values.size
    sentence = (
        f"The {percentile_name(cluster.rtt.reading)} round-trip time of every ordered pair, as "
        f"measured: {spread_text(values, rtt_text)}."
    )
    if missing:
        sentence += f" {directions_text(missing, size)} were not measured."
    legend_ticks = [rtt_text(scale.at(step / (LEGEND_TICKS - 1))) for step in range(LEGEND_TICKS)]
    parts: list[Part] = [
        Paragraph(sentence),
        matrix_legend(legend_ticks, colour, has_gaps=missing > 0),
        heat_map(subject, readings_us, scale),
        matrix_table(subject, readings_us, "round-trip times", rtt_text),
    ]
    return Section("distances", "Distances", parts)


def heat_map(subject: Subject, readings_us: Matrix, scale: Scale) -> Figure:
    """Return the heat map of the distances between hosts.

    Args:
        subject: the report's subject.
        readings_us: (N, N), [source][destination], NaN where not measured.
        scale: scale of colours.
    """
    least = float(np.nanmin(np.where(readings_us > 0.0, readings_us, np.nan), initial=scale.low_us))
    return matrix_figure(
        subject,
        readings_us,
        name="heat-map",
        unit="µs",
        high=scale.high_us,
        stops=log_stops(min(least, scale.low_us), scale.low_us, scale.high_us, colour),
        caption="A row is a source, a column a destination, bright is near. Hosts of a group stand "
        "together, and a frame is drawn around each group. Groups show as bright squares on the "
        "diagonal; a dark line across is a host that is far from all others, or slow to answer.",
        description=f"heat map of round-trip times between {len(subject.names)} hosts; its numbers "
        "are in the table that follows",
    )


def matrix_figure(
    subject: Subject,
    values: Matrix,
    *,
    name: str,
    unit: str,
    high: float,
    stops: list[list[Any]],
    caption: str,
    description: str,
) -> Figure:
    """Return the heat map of a matrix between hosts, as a figure.

    Args:
        subject: the report's subject.
        values: (N, N), [source][destination], NaN where not measured.
        name: name of the figure.
        unit: unit of the values.
        high: value of the last stop.
        stops: colours, evenly placed from 0, which is a host itself, to `high`.
        caption, description: texts of the figure.
    """
    sequence = np.array(subject.sequence)
    per_cell = -(-len(sequence) // MAX_CELLS)
    cells = _cells(values, sequence, per_cell)
    names = [plotly_text(subject.labels[host]) for host in sequence[::per_cell]]
    trace = {
        "type": "heatmap",
        "x": names,
        "y": names,
        "z": [round_numbers(row, _DIGITS) for row in cells],
        "zmin": 0.0,
        "zmax": round_number(high),
        "colorscale": stops,
        "showscale": False,
        "meta": {"unit": unit},
        # The page makes the texts of the numbers; written out they would double its size.
        "hovertemplate": "%{y} → %{x}: %{text}<extra></extra>",
    }
    frames = _frames(subject, per_cell)
    if note := shortening_note(subject.names):
        caption += f" {note}"
    if per_cell > 1:
        caption += f" A cell is the median of {per_cell} x {per_cell} hosts, named by the first."
    shared = {
        "type": "category",
        "showgrid": False,
        "ticks": "",
        "tickfont": {"size": 10},
        "constrain": "domain",
        **_name_ticks(names, frames),
    }
    return figure(
        name,
        [trace],
        axis(side="bottom", **shared),
        axis(autorange="reversed", scaleanchor="x", **shared),
        caption=caption,
        description=description,
        height_px=720,
        legend=None,
        is_square=True,
        plot_bgcolor=UNMEASURED,
        shapes=[_frame(first, last) for _, first, last in frames[:_MAX_FRAMES]],
    )


def matrix_legend(
    tick_texts: Sequence[str], colour_at: Callable[[float], str], *, has_gaps: bool
) -> Legend:
    """Return the legend of a heat map: its scale, and marks without a value.

    Args:
        tick_texts: texts below the scale, evenly placed.
        colour_at: returns the colour at a place of the scale, from 0 to 1.
        has_gaps: whether some pairs were not measured.
    """
    unmeasured = "not measured" if has_gaps else "not measured: none"
    marks = [(UNMEASURED, unmeasured), (SELF, "the host itself")]
    return Legend([colour_at(step / STOPS) for step in range(STOPS + 1)], tick_texts, marks)


def log_stops(
    least: float, low: float, high: float, colour_at: Callable[[float], str]
) -> list[list[Any]]:
    """Return logarithmic colour stops for plotly, from 0 (the host itself) to `high`.

    Args:
        least: the least of all values above 0.
        low, high: values where the colours begin and end.
        colour_at: returns the colour at a place from 0 (`low`) to 1 (`high`).
    """
    beginning, near = 0.5 * least / high, low / high
    below = [[0.0, SELF], [beginning, SELF], [beginning, colour_at(0.0)]]
    steps = [step / STOPS for step in range(STOPS + 1)]
    return [*below, *([near ** (1.0 - step), colour_at(step)] for step in steps)]


def _cells(values: Matrix, sequence: npt.NDArray[np.intp], per_cell: int) -> Matrix:
    """Return the median of the measured values in each cell of a heat map.

    A host itself is 0 where a cell is a host.
    """
    if per_cell == 1:
        cells = values[np.ix_(sequence, sequence)]
        np.fill_diagonal(cells, 0.0)
        return cells
    count = -(-len(sequence) // per_cell)
    cells = np.full((count, count), np.nan)
    for number in range(count):
        rows = values[sequence[number * per_cell :][:per_cell]][:, sequence]
        whole = np.full((len(rows), count * per_cell), np.nan)
        whole[:, : rows.shape[1]] = rows
        # What was not measured is last.
        blocks = whole.reshape(len(rows), count, per_cell).swapaxes(0, 1).reshape(count, -1)
        blocks = np.sort(blocks, axis=1)
        known = np.isfinite(blocks).sum(axis=1)
        every = np.arange(count)
        middle = blocks[every, np.maximum(known - 1, 0) // 2] + blocks[every, known // 2]
        cells[number] = np.where(known > 0, middle / 2.0, np.nan)
    return cells


def _frames(subject: Subject, per_cell: int) -> list[tuple[str, int, int]]:
    """Return each group's name with its first and last cell of a heat map."""
    groups = subject.group_by_host[list(subject.sequence)]
    cuts = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
    return [
        (subject.groups[groups[first]].name, first // per_cell, (last - 1) // per_cell)
        for first, last in pairwise(cuts)
        if groups[first] != NO_GROUP
    ]


def _name_ticks(names: list[str], frames: list[tuple[str, int, int]]) -> Json:
    """Return axis labels of a heat map: host names if there is room, else group names."""
    if len(names) <= _MAX_NAMES:
        return {"tickmode": "array", "tickvals": names, "ticktext": names}
    shown = frames if len(frames) <= _MAX_NAMES else []
    middles = [names[(first + last) // 2] for _, first, last in shown]
    return ticks(middles, [name[:20] for name, _, _ in shown])


def _frame(first: int, last: int) -> Json:
    low, high = first - 0.5, last + 0.5
    line = {"color": INK, "width": 1}
    return {"type": "rect", "x0": low, "x1": high, "y0": low, "y1": high, "line": line}


def matrix_table(subject: Subject, values: Matrix, what: str, text: Text) -> Folded:
    """Return every pair of few hosts as a table; for many, medians of groups and of each host.

    Args:
        subject: the report's subject.
        values: (N, N), [source][destination], NaN where not measured.
        what: name of the values, in the plural.
        text: returns the text of a value.
    """
    sequence = list(subject.sequence)
    tables: list[Part] = []
    if len(sequence) <= MOST_COLUMNS:
        names = [subject.names[host] for host in sequence]
        rows = [
            (
                names[row],
                *(
                    "itself"
                    if row == column
                    else _median_text(values[[[source]], [[target]]], text)
                    for column, target in enumerate(sequence)
                ),
            )
            for row, source in enumerate(sequence)
        ]
        caption = f"{what}, a row for each source and a column for each destination"
        tables.append(_table(caption, ("from", *names), rows))
    else:
        if 1 < len(subject.groups) <= MOST_COLUMNS:
            tables.append(_group_table(subject, values, what, text))
        tables.append(_host_table(subject, values, what, text))
    return Folded(f"The {what} as a table", tables)


def _group_table(subject: Subject, values: Matrix, what: str, text: Text) -> Table:
    places = [[subject.index_by_host[host] for host in group.hosts] for group in subject.groups]
    names = [group.name for group in subject.groups]
    rows = [
        (name, *(_median_text(values[np.ix_(source, target)], text) for target in places))
        for name, source in zip(names, places, strict=True)
    ]
    return _table(
        f"medians of {what} between groups, a row for each source", ("from", *names), rows
    )


def _host_table(subject: Subject, values: Matrix, what: str, text: Text) -> Table:
    rows = [
        (
            subject.names[host],
            *_spread_texts(values[host], text),
            *_spread_texts(values[:, host], text),
        )
        for host in subject.sequence[:_MOST_ROWS]
    ]
    sides = ("to others", "from others")
    header = ["host", *(f"{word} {side}" for side in sides for word in ("least", "median", "most"))]
    caption = f"{what} of each host"
    if len(subject.names) > _MOST_ROWS:
        caption += f", the first {_MOST_ROWS} of {len(subject.names):,}"
    return _table(caption, header, rows)


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    caption = f"{caption[:1].upper()}{caption[1:]}"
    return Table(caption, header, rows, range(1, len(header)), is_grid=True)


def _spread_texts(values: Matrix, text: Text) -> list[str]:
    known = known_values(values)
    if not known.size:
        return [UNKNOWN] * 3
    return [text(float(value)) for value in np.quantile(known, [0.0, 0.5, 1.0])]


def _median_text(values: Matrix, text: Text) -> str:
    known = known_values(values)
    return text(float(np.median(known))) if known.size else UNKNOWN
