"""Heat map of a matrix between hosts, with groups together and framed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.files.matrices import Matrix
from plink.show.page.labels import shortening_note
from plink.show.page.parts import INK, NO_GROUP, SELF, Figure, Legend, plotly_text, round_to_digits
from plink.show.page.subject import Subject

# More cells a side are more than a screen shows, and a page should open quickly.
MAX_CELLS = 512
STOPS = 32
LEGEND_TICKS = 5
_MAX_NAMES = 48
_MAX_FRAMES = 128
_DIGITS = 3


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
    """Return the heat map figure.

    Args:
        subject: whose hosts they are.
        values: (N, N), [source][destination], NaN where not measured.
        name: name of the figure.
        unit: unit of the values.
        high: the value of the last stop.
        stops: colours, evenly placed from 0, which is a host itself, to `high`.
        caption, description: of the figure.
    """
    sequence = np.array(subject.sequence)
    per_cell = -(-len(sequence) // MAX_CELLS)
    cells = _cells(values, sequence, per_cell)
    names = [subject.labels[host] for host in sequence[::per_cell]]
    trace = {
        "type": "heatmap",
        "x": names,
        "y": names,
        "z": [
            [None if np.isnan(cell) else round_to_digits(cell, _DIGITS) for cell in row]
            for row in cells
        ],
        "zmin": 0.0,
        "zmax": round_to_digits(high),
        "colorscale": stops,
        "showscale": False,
        "meta": {"unit": unit},
        # The page makes the texts of the numbers; written out they would double its size.
        "hovertemplate": "%{y} → %{x}: %{text}<extra></extra>",
    }
    frames = _frames(subject, per_cell)
    axis = _axis(names, frames)
    if note := shortening_note(subject.names):
        caption += f" {note}"
    if per_cell > 1:
        caption += f" A cell is the median of {per_cell} x {per_cell} hosts, named by the first."
    return Figure(
        name,
        [trace],
        {
            "xaxis": {**axis, "side": "bottom", "constrain": "domain"},
            "yaxis": {
                **axis,
                "autorange": "reversed",
                "scaleanchor": "x",
                "constrain": "domain",
            },
            "plot_bgcolor": "var(--unmeasured)",
            "shapes": [_frame(first, last) for _, first, last in frames[:_MAX_FRAMES]],
        },
        720,
        caption,
        description,
        is_square=True,
    )


def matrix_legend(colours: Sequence[str], ticks: Sequence[str], *, has_gaps: bool) -> Legend:
    """Return the legend: colours from left to right, and marks without a value.

    Args:
        colours: evenly placed.
        ticks: what stands below, evenly placed.
        has_gaps: some pairs were not measured.
    """
    unmeasured = "not measured" if has_gaps else "not measured: none"
    marks = [("var(--unmeasured)", unmeasured), (SELF, "the host itself")]
    return Legend(colours, ticks, marks)


def log_stops(
    least: float, low: float, high: float, colour: Callable[[float], str]
) -> list[list[Any]]:
    """Return logarithmic colour stops from 0, the host itself, to `high`.

    Args:
        least: of all values, above 0.
        low, high: where the colours begin and end.
        colour: colour of a place from 0 (`low`) to 1 (`high`).
    """
    beginning, near = 0.5 * least / high, low / high
    below = [[0.0, SELF], [beginning, SELF], [beginning, colour(0.0)]]
    steps = [step / STOPS for step in range(STOPS + 1)]
    return [*below, *([near ** (1.0 - step), colour(step)] for step in steps)]


def _cells(readings_us: Matrix, sequence: npt.NDArray[np.intp], per_cell: int) -> Matrix:
    """Return the median of the measured values in each block.

    A host itself is 0 where a cell is a host.
    """
    if per_cell == 1:
        cells = readings_us[np.ix_(sequence, sequence)]
        np.fill_diagonal(cells, 0.0)
        return cells
    count = -(-len(sequence) // per_cell)
    cells = np.full((count, count), np.nan)
    for number in range(count):
        rows = readings_us[sequence[number * per_cell :][:per_cell]][:, sequence]
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
    """Return each group's name, and its first and last cell."""
    groups = subject.group_of[list(subject.sequence)]
    cuts = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
    return [
        (subject.groups[groups[first]].name, first // per_cell, (last - 1) // per_cell)
        for first, last in pairwise(cuts)
        if groups[first] != NO_GROUP
    ]


def _axis(names: list[str], frames: list[tuple[str, int, int]]) -> dict[str, Any]:
    """Return axis labels: host names if there is room, else group names."""
    axis: dict[str, Any] = {
        "type": "category",
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": 10},
    }
    if len(names) <= _MAX_NAMES:
        return {**axis, "tickmode": "array", "tickvals": names, "ticktext": names}
    shown = frames if len(frames) <= _MAX_NAMES else []
    return {
        **axis,
        "tickmode": "array",
        "tickvals": [names[(first + last) // 2] for _, first, last in shown],
        "ticktext": [plotly_text(name[:20]) for name, _, _ in shown],
    }


def _frame(first: int, last: int) -> dict[str, Any]:
    low, high = first - 0.5, last + 0.5
    return {
        "type": "rect",
        "x0": low,
        "x1": high,
        "y0": low,
        "y1": high,
        "line": {"color": INK, "width": 1},
    }
