"""The matrix of distances as a heat map, ordered by group."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.text import counted, rtt_text
from plink.files.measurement import Matrix
from plink.files.rtt import percentile_name
from plink.show.page.parts import (
    INK,
    NO_GROUP,
    SELF,
    Figure,
    Legend,
    Paragraph,
    Section,
    plotly_text,
    rounded,
)
from plink.show.page.subject import Subject
from plink.show.terminal.scale import Scale, colour, scale_for

# More cells a side are more than a screen shows, and a page should open quickly.
MAX_CELLS = 512
_MAX_NAMES = 48
_MAX_FRAMES = 128
_STOPS = 32
_LEGEND_TICKS = 5
_DIGITS = 3


def distances_section(subject: Subject) -> Section | None:
    """The heat map of the readings as they were measured; None without any."""
    cluster = subject.cluster
    if cluster is None or cluster.rtt is None or subject.distances is None:
        return None
    readings = cluster.rtt.readings_us
    values = readings[np.isfinite(readings)]
    scale = scale_for(values)
    size = len(subject.names)
    missing = size * (size - 1) - values.size
    reading = percentile_name(cluster.rtt.reading)
    least, middle, most = map(rtt_text, np.quantile(values, [0.0, 0.5, 1.0]))
    said = (
        f"The {reading} round-trip time of every ordered pair, as measured: {least} to {most}, "
        f"median {middle}."
    )
    if missing:
        said += f" {missing:,} of {counted(size * (size - 1), 'direction')} were not measured."
    return Section(
        "distances",
        "Distances",
        [
            Paragraph(said),
            Legend(
                [colour(step / _STOPS) for step in range(_STOPS + 1)],
                [rtt_text(scale.at(step / (_LEGEND_TICKS - 1))) for step in range(_LEGEND_TICKS)],
                [
                    ("var(--unmeasured)", "not measured" if missing else "not measured: none"),
                    (SELF, "the host itself"),
                ],
            ),
            heat_map(subject, readings, scale),
        ],
    )


def heat_map(subject: Subject, readings_us: Matrix, scale: Scale) -> Figure:
    """The figure.

    Args:
        subject: whose hosts they are.
        readings_us: (N, N), [source][destination], NaN where not measured.
        scale: of colours.
    """
    sequence = np.array(subject.sequence)
    per_cell = -(-len(sequence) // MAX_CELLS)
    cells = _cells(readings_us, sequence, per_cell)
    names = [subject.labels[host] for host in sequence[::per_cell]]
    trace = {
        "type": "heatmap",
        "x": names,
        "y": names,
        "z": [
            [None if np.isnan(cell) else rounded(cell, _DIGITS) for cell in row] for row in cells
        ],
        "zmin": 0.0,
        "zmax": rounded(scale.high_us),
        "colorscale": _colour_scale(scale, readings_us),
        "showscale": False,
        # The page makes the texts of the numbers; written out they would double its size.
        "hovertemplate": "%{y} → %{x}: %{text}<extra></extra>",
    }
    frames = _frames(subject, per_cell)
    axis = _axis(names, frames)
    caption = (
        "A row is a source, a column a destination, bright is near. Hosts of a group stand "
        "together, and a frame is drawn around each group. Groups show as bright squares on the "
        "diagonal; a dark line across is a host that is far from all others, or slow to answer."
    )
    if per_cell > 1:
        caption += f" A cell is the median of {per_cell} x {per_cell} hosts, named by the first."
    return Figure(
        "heat-map",
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
        f"heat map of round-trip times between {len(sequence)} hosts",
        is_square=True,
    )


def _cells(readings_us: Matrix, sequence: npt.NDArray[np.intp], per_cell: int) -> Matrix:
    """The median of what was measured in each block; a host itself is 0 where a cell is a host."""
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


def _colour_scale(scale: Scale, readings_us: Matrix) -> list[list[Any]]:
    """Stops from 0, the host itself, to the scale's end; the logarithm is in their places."""
    least = float(np.nanmin(np.where(readings_us > 0.0, readings_us, np.nan), initial=scale.low_us))
    beginning = min(least, scale.low_us) / scale.high_us
    near = scale.low_us / scale.high_us
    below = [[0.0, SELF], [0.5 * beginning, SELF], [0.5 * beginning, colour(0.0)]]
    steps = [step / _STOPS for step in range(_STOPS + 1)]
    return [*below, *([near ** (1.0 - step), colour(step)] for step in steps)]


def _frames(subject: Subject, per_cell: int) -> list[tuple[str, int, int]]:
    """Each group's name, and its first and last cell."""
    groups = subject.group_of[list(subject.sequence)]
    cuts = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
    return [
        (subject.groups[groups[first]].name, first // per_cell, (last - 1) // per_cell)
        for first, last in pairwise(cuts)
        if groups[first] != NO_GROUP
    ]


def _axis(names: list[str], frames: list[tuple[str, int, int]]) -> dict[str, Any]:
    """Names of hosts where there is room, else of groups, in the middle of each."""
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
