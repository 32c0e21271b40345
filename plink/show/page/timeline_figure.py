"""Figure of an iteration: when each rank announced, agreed on, began and ended each collective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.text import format_count, rtt_text
from plink.show.page.parts import (
    BETWEEN,
    INK,
    LINE,
    NO_GROUP_COLOUR,
    WITHIN,
    Figure,
    plotly_text,
    round_to_digits,
)
from plink.training.timeline.iterations import Iteration
from plink.training.timeline.merging import Timeline
from plink.training.timeline.summary import NOBODY, Lateness, Summary

Floats = npt.NDArray[np.float64]

# More rows are too thin to be read.
MAX_RANKS = 16
MAX_COLLECTIVES = 300

_RANK_PX = 64
# Of a rank's row of height 1: buffers below, waits above them.
_BUFFERS_AT = 0.14
_WAITS_FROM = 0.28
_WAITS_TO = 0.9


def iteration_figure(
    timeline: Timeline, iteration: Iteration, summary: Summary, late: Lateness
) -> Figure:
    """Return the figure of one iteration, limited to the ranks others waited for longest."""
    shown = shown_ranks(timeline, summary)
    drawn = iteration.collectives[:MAX_COLLECTIVES]
    traces = [
        _waits(timeline, iteration, shown, drawn),
        _last(timeline, iteration, shown, drawn, late),
        _buffers(timeline, iteration, shown, drawn, is_queue=True),
        _buffers(timeline, iteration, shown, drawn, is_queue=False),
    ]
    ranks = [timeline.ranks[place] for place in shown]
    layout: dict[str, Any] = {
        "xaxis": {
            "title": {"text": "ms since the first announcement of the iteration"},
            "zeroline": False,
            "gridcolor": LINE,
        },
        "yaxis": {
            "tickvals": [row + 0.5 for row in range(len(shown))],
            "ticktext": [f"rank {rank}" for rank in ranks],
            "range": [len(shown), 0],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        "shapes": [_border(row) for row in range(1, len(shown))],
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
        "showlegend": True,
    }
    height_px = 170 + _RANK_PX * len(shown)
    caption = _caption(timeline, iteration, len(shown), len(drawn))
    return Figure("timeline", traces, layout, height_px, caption, _description(iteration, ranks))


def shown_ranks(timeline: Timeline, summary: Summary) -> list[int]:
    """Return the places of ranks that have a row, by rank number."""
    place_of = {rank: place for place, rank in enumerate(timeline.ranks)}
    return sorted(place_of[rank.rank] for rank in summary.ranks[:MAX_RANKS])


def _waits(
    timeline: Timeline, iteration: Iteration, shown: Sequence[int], drawn: npt.NDArray[np.intp]
) -> dict[str, Any]:
    heights = _heights(len(drawn))
    names = [plotly_text(timeline.names[place]) for place in drawn]
    lines = _LineTrace()
    for row, rank in enumerate(shown):
        begin = timeline.announced_us[drawn, rank] - iteration.begin_us
        end = timeline.agreed_us[drawn, rank] - iteration.begin_us
        for begin_us, end_us, height, name in zip(begin, end, heights, names, strict=True):
            lines.add(row + height, begin_us, end_us, f"{name} announced", f"{name} agreed on")
    return lines.trace("announced, waiting for others", NO_GROUP_COLOUR, 1.5)


def _last(
    timeline: Timeline,
    iteration: Iteration,
    shown: Sequence[int],
    drawn: npt.NDArray[np.intp],
    late: Lateness,
) -> dict[str, Any]:
    """Return a marker where a rank was the last to announce a collective."""
    x: list[float] = []
    y: list[float] = []
    text: list[str] = []
    row_of = {rank: row for row, rank in enumerate(shown)}
    for height, place in zip(_heights(len(drawn)), drawn, strict=True):
        rank = int(late.last[place])
        if rank != NOBODY and rank in row_of:
            x.append(_ms(timeline.announced_us[place, rank] - iteration.begin_us))
            y.append(round_to_digits(row_of[rank] + height))
            after = rtt_text(float(late.late_us[place]))
            name = plotly_text(timeline.names[place])
            text.append(f"{name}: all others waited {after} for rank {timeline.ranks[rank]}")
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "the last to announce",
        "x": x,
        "y": y,
        "text": text,
        "marker": {"symbol": "circle", "size": 6, "color": BETWEEN},
        "hovertemplate": "%{text}<extra></extra>",
    }


def _buffers(
    timeline: Timeline,
    iteration: Iteration,
    shown: Sequence[int],
    drawn: npt.NDArray[np.intp],
    *,
    is_queue: bool,
) -> dict[str, Any]:
    lines = _LineTrace()
    for row, rank in enumerate(shown):
        for buffer in np.unique(timeline.buffer_of[drawn]):
            times = (timeline.released_us, timeline.begun_us, timeline.ended_us)
            begin, end = times[:2] if is_queue else times[1:]
            what = (
                f"buffer {timeline.buffers[buffer]}: "
                f"{format_count(int(timeline.collectives[buffer]), 'collective')}"
            )
            lines.add(
                row + _BUFFERS_AT,
                begin[buffer, rank] - iteration.begin_us,
                end[buffer, rank] - iteration.begin_us,
                f"{what}, {'agreed on' if is_queue else 'begun'}",
                f"{what}, {'begun' if is_queue else 'ended'}",
            )
    if is_queue:
        return lines.trace("agreed on, not begun", INK, 2)
    return lines.trace("being reduced", WITHIN, 10)


class _LineTrace:
    """Trace of horizontal lines, with a text at each end."""

    def __init__(self) -> None:
        self._x: list[float | None] = []
        self._y: list[float | None] = []
        self._text: list[str | None] = []

    def add(self, y: float, begin_us: float, end_us: float, begin: str, end: str) -> None:
        if np.isfinite(begin_us) and np.isfinite(end_us):
            self._x += [_ms(begin_us), _ms(end_us), None]
            self._y += [round_to_digits(y), round_to_digits(y), None]
            self._text += [begin, end, None]

    def trace(self, name: str, colour: str, width: float) -> dict[str, Any]:
        return {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": self._x,
            "y": self._y,
            "text": self._text,
            "line": {"color": colour, "width": width},
            "hovertemplate": "%{text} at %{x} ms<extra></extra>",
        }


def _heights(count: int) -> Floats:
    return np.linspace(_WAITS_FROM, _WAITS_TO, count)


def _ms(us: float) -> float:
    return round(float(us) / 1000.0, 4)


def _border(row: int) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": row,
        "y1": row,
        "line": {"color": LINE, "width": 1},
    }


def _caption(timeline: Timeline, iteration: Iteration, ranks: int, drawn: int) -> str:
    said = (
        f"Iteration {iteration.number + 1} of {iteration.of}, one of median length. A thin line "
        "is a collective from when the rank announced it until it knew that all had; they stand in "
        "the same order on every rank, the first to begin on top. A dot marks the rank that "
        "announced it last. The wide line is what is reduced, copies included."
    )
    if ranks < len(timeline.ranks):
        said += f" Of {len(timeline.ranks)} ranks the {ranks} that others waited for longest."
    if drawn < len(iteration.collectives):
        said += f" The first {drawn} of {len(iteration.collectives)} collectives are drawn."
    return said


def _description(iteration: Iteration, ranks: Sequence[int]) -> str:
    took = rtt_text(iteration.end_us - iteration.begin_us)
    return (
        f"{format_count(len(iteration.collectives), 'collective')} of an iteration of {took} on "
        f"{format_count(len(ranks), 'rank')}: when each was announced, agreed on, begun and ended"
    )
