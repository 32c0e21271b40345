"""Heat maps of matrices between hosts, with groups framed, and the same numbers as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from plink.base.text import rtt_text
from plink.formats.matrices import Matrix, median_blocks
from plink.formats.measurements import percentile_name
from plink.show.facts import directions_text, known_values, spread_text
from plink.show.page import charts
from plink.show.page.parts import Figure, Folded, Legend, Paragraph, Part, Section, Table
from plink.show.page.subject import Subject
from plink.show.scale import Scale, colour, scale_for
from plink.show.tables import UNKNOWN

# More cells a side are more than a screen shows, and a page should open quickly.
MAX_CELLS = 512
_STEPS = [step / 32 for step in range(33)]
_TICKS = [0.0, 0.25, 0.5, 0.75, 1.0]
_MAX_NAMES = 48
_MAX_FRAMES = 128
_DIGITS = 3

# A table of more columns is not read by anybody: groups and hosts then have rows of their own.
_MOST_COLUMNS = 24
_MOST_ROWS = 512


@dataclass(frozen=True)
class Quantity:
    """Quantity measured between hosts, such as round trips, and how the page draws it.

    Args:
        figure: name of its heat map, unique on the page.
        plural: name of its values in texts.
        unit: unit of its values.
        text: returns a value with its unit.
        colour: returns the colour at a position of the scale, from 0 (low) to 1 (high).
        caption: how to read the heat map.
    """

    figure: str
    plural: str
    unit: str
    text: Callable[[float], str]
    colour: Callable[[float], str]
    caption: str


ROUND_TRIPS = Quantity(
    "heat-map",
    "round-trip times",
    "µs",
    rtt_text,
    colour,
    "A row is a source, a column a destination, bright is near. Hosts of a group stand together, "
    "and a frame is drawn around each group. Groups show as bright squares on the diagonal; a dark "
    "line across is a host that is far from all others, or slow to answer.",
)


def distances_section(subject: Subject) -> Section | None:
    """Return the report's section with a heat map of measured round trips; None without any."""
    cluster = subject.cluster
    if cluster is None or cluster.rtt is None or subject.distances is None:
        return None
    readings_us = cluster.rtt.readings_us
    beginning = f"The {percentile_name(cluster.rtt.reading)} round-trip time of every ordered pair"
    scale = scale_for(known_values(readings_us))
    parts = matrix_parts(subject, readings_us, scale, ROUND_TRIPS, f"{beginning}, as measured")
    return Section("distances", "Distances", parts)


def matrix_parts(
    subject: Subject, values: Matrix, scale: Scale, quantity: Quantity, beginning: str
) -> list[Part]:
    """Return the report's parts on a matrix: a sentence, a legend, a heat map and a table.

    Args:
        subject: the report's subject.
        values: (N, N), [source][destination], NaN where not measured.
        scale: scale of the colours.
        quantity: quantity that was measured.
        beginning: beginning of the sentence, which ends with the spread of the values.
    """
    known, size = known_values(values), len(values)
    missing = size * (size - 1) - known.size
    sentence = f"{beginning}: {spread_text(known, quantity.text)}."
    if missing:
        sentence += f" {directions_text(missing, size)} were not measured."
    marks = [quantity.text(scale.at(tick)).split() for tick in _TICKS]
    units = [*(unit for _, unit in marks[1:]), ""]
    legend = Legend(
        [quantity.colour(step) for step in _STEPS],
        [
            number if unit == next_unit else f"{number} {unit}"
            for (number, unit), next_unit in zip(marks, units, strict=True)
        ],
        [
            (charts.UNMEASURED, "not measured" if missing else "not measured: none"),
            (charts.SELF, "the host itself"),
        ],
    )
    figure = heat_map(subject, values, scale, quantity)
    return [Paragraph(sentence), legend, figure, _table_for(subject, values, quantity)]


def heat_map(
    subject: Subject, values: Matrix, scale: Scale, quantity: Quantity = ROUND_TRIPS
) -> Figure:
    """Return the figure of a heat map of a matrix between hosts, with groups framed."""
    sequence = subject.sequence
    per_cell = -(-len(sequence) // MAX_CELLS)
    cells = median_blocks(values, sequence, per_cell)
    if per_cell == 1:
        np.fill_diagonal(cells, 0.0)
    names = [charts.plotly_text(subject.labels[host]) for host in sequence[::per_cell]]
    trace = {
        "type": "heatmap",
        "x": names,
        "y": names,
        "z": [charts.round_numbers(row, _DIGITS) for row in cells],
        "zmin": 0.0,
        "zmax": charts.round_numbers([scale.high])[0],
        "colorscale": _colour_stops(values, scale, quantity.colour),
        "showscale": False,
        "meta": {"unit": quantity.unit},
        # The page makes the texts of the numbers; written out they would double its size.
        "hovertemplate": "%{y} → %{x}: %{text}<extra></extra>",
    }
    groups = subject.group_by_host[list(sequence)]
    cuts = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
    # Number of a group, and its first and last cell.
    frames = [
        (groups[first], first // per_cell, (last - 1) // per_cell)
        for first, last in pairwise(cuts)
        if groups[first] != charts.NO_GROUP
    ]
    shown: charts.Json = {"tickmode": "array", "tickvals": names, "ticktext": names}
    if len(names) > _MAX_NAMES:
        few = frames if len(frames) <= _MAX_NAMES else []
        middles = [names[(first + last) // 2] for _, first, last in few]
        shown = charts.ticks(middles, [subject.group_name(group)[:20] for group, _, _ in few])
    shared: charts.Json = {
        "type": "category",
        "showgrid": False,
        "ticks": "",
        "tickfont": {"size": 10},
        "constrain": "domain",
        **shown,
    }
    caption = " ".join(filter(None, [quantity.caption, charts.shortening_note(subject.names)]))
    if per_cell > 1:
        caption += f" A cell is the median of {per_cell} x {per_cell} hosts, named by the first."
    size = f"{len(subject.names)} hosts"
    return Figure(
        quantity.figure,
        [trace],
        charts.layout(
            charts.axis(side="bottom", **shared),
            charts.axis(autorange="reversed", scaleanchor="x", **shared),
            legend=None,
            plot_bgcolor=charts.UNMEASURED,
            shapes=[_frame(first - 0.5, last + 0.5) for _, first, last in frames[:_MAX_FRAMES]],
        ),
        720,
        caption,
        f"heat map of {quantity.plural} between {size}; its numbers are in the table that follows",
        is_square=True,
    )


def _colour_stops(
    values: Matrix, scale: Scale, colour_at: Callable[[float], str]
) -> list[list[Any]]:
    """Return plotly's colour stops, (position, colour), logarithmic over the scale from 0."""
    least = float(np.nanmin(np.where(values > 0.0, values, np.nan), initial=scale.low))
    beginning, near = 0.5 * least / scale.high, scale.low / scale.high
    below = [[0.0, charts.SELF], [beginning, charts.SELF], [beginning, colour_at(0.0)]]
    return [*below, *([near ** (1.0 - step), colour_at(step)] for step in _STEPS)]


def _frame(low: float, high: float) -> charts.Json:
    line = {"color": charts.INK, "width": 1}
    return {"type": "rect", "x0": low, "x1": high, "y0": low, "y1": high, "line": line}


def _table_for(subject: Subject, values: Matrix, quantity: Quantity) -> Folded:
    """Return a folded table of all pairs of few hosts, or of medians by group and by host."""
    text, what, names = quantity.text, quantity.plural, subject.names
    tables: list[Part] = []
    if len(names) <= _MOST_COLUMNS:
        header = ["from", *(names[host] for host in subject.sequence)]
        rows = [
            [
                names[source],
                *(
                    "itself" if source == target else _spread_texts(values[source, target], text)[1]
                    for target in subject.sequence
                ),
            ]
            for source in subject.sequence
        ]
        caption = f"{what}, a row for each source and a column for each destination"
        tables.append(_table(caption, header, rows))
        return Folded(f"The {what} as a table", tables)
    if 1 < len(subject.groups) <= _MOST_COLUMNS:
        places = {
            group.name: [subject.index_by_host[host] for host in group.hosts]
            for group in subject.groups
        }
        rows = [
            [name, *(_spread_texts(values[np.ix_(own, far)], text)[1] for far in places.values())]
            for name, own in places.items()
        ]
        caption = f"medians of {what} between groups, a row for each source"
        tables.append(_table(caption, ["from", *places], rows))
    rows = [
        [names[host], *_spread_texts(values[host], text), *_spread_texts(values[:, host], text)]
        for host in subject.sequence[:_MOST_ROWS]
    ]
    sides = ("to others", "from others")
    header = ["host", *(f"{word} {side}" for side in sides for word in ("least", "median", "most"))]
    more = f", the first {_MOST_ROWS} of {len(names):,}" if len(names) > _MOST_ROWS else ""
    tables.append(_table(f"{what} of each host{more}", header, rows))
    return Folded(f"The {what} as a table", tables)


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    caption = f"{caption[:1].upper()}{caption[1:]}"
    return Table(caption, header, rows, range(1, len(header)), is_grid=True)


def _spread_texts(values: Any, text: Callable[[float], str]) -> list[str]:
    """Format the least, median and greatest known value."""
    known = known_values(np.asarray(values))
    if not known.size:
        return [UNKNOWN] * 3
    return [text(float(value)) for value in np.quantile(known, [0.0, 0.5, 1.0])]
