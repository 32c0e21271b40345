"""Builder of the page's figures for plotly.js: texts, colours, symbols, axes, traces and layouts.

Every text that plotly.js shows is escaped here, because plotly.js reads tags in texts. Groups have
both a colour and a symbol of their own, so that no reader depends on colour alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.text import printable

Floats = npt.NDArray[np.float64]
# A trace, an axis or another member of a figure, as plotly.js takes it.
Json = dict[str, Any]

# Colours of the page's theme, light or dark, which the page fills in when it draws.
INK = "var(--ink)"
MUTED = "var(--muted)"
LINE = "var(--line)"
SELF = "var(--self)"
UNMEASURED = "var(--unmeasured)"

# Okabe and Ito, "Color Universal Design" (2008), without black and yellow, which one of a light
# and a dark page hides.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
# Colours and symbols together repeat after this many numbers.
_CYCLE = 24

NO_GROUP = -1
NO_GROUP_COLOUR = "#8c8c8c"
WITHIN = "#0072b2"
BETWEEN = "#d55e00"

# Longer names take a third of a picture on a narrow screen.
LONGEST_NAME = 16
_LONGEST_TITLE = 40
_CUT = "…"

_LEGENDS: dict[str, Json] = {
    "above": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    "below": {"orientation": "h", "y": -0.02, "yanchor": "top"},
    "beside": {"itemsizing": "constant"},
}


def plotly_text(text: str) -> str:
    """Return text escaped for plotly.js."""
    return escape(printable(text), quote=False)


def round_numbers(values: Iterable[float], digits: int = 4) -> list[float | None]:
    """Round numbers to some significant digits for JSON; None for those not finite."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]


def group_colour(shade: int) -> str:
    """Return the colour of a group's number; -1 (no group) has a colour of its own."""
    return NO_GROUP_COLOUR if shade == NO_GROUP else COLOURS[shade % len(COLOURS)]


def group_symbol(shade: int) -> str:
    """Return the marker symbol of a group's number; with the colour it is unique up to 48."""
    if shade == NO_GROUP:
        return "circle-open"
    return _SYMBOLS[(shade + shade // _CYCLE) % len(_SYMBOLS)]


def line_style(number: int, width: float = 2) -> Json:
    """Return the plotly style of line `number`; colour and dash together are unique up to 36."""
    dash = DASHES[(number + number // len(COLOURS)) % len(DASHES)]
    return {"color": group_colour(number), "dash": dash, "width": width}


def short_names(names: Sequence[str]) -> list[str]:
    """Shorten long names by the words that all begin or end with, keeping them distinct.

    Args:
        names: distinct host names.
    """
    if all(len(name) <= LONGEST_NAME for name in names):
        return list(names)
    begin, end = _shared_prefix_length(names), _shared_prefix_length([name[::-1] for name in names])
    short = []
    for place, name in enumerate(names):
        rest = name[begin : len(name) - end]
        text = f"{_CUT if begin else ''}{rest}{_CUT if end else ''}"
        if not rest or len(text) > LONGEST_NAME:
            number = f"{_CUT}{place + 1}"
            text = f"{name[begin : begin + LONGEST_NAME - len(number)]}{number}"
        short.append(text)
    # A short name may by chance be another host's whole name, which numbers never are.
    return short if len(set(short)) == len(short) else [f"{_CUT}{n + 1}" for n in range(len(names))]


def shortening_note(names: Sequence[str]) -> str:
    """Return a sentence on what shortened names omit; empty if they omit nothing."""
    pairs = zip(short_names(names), names, strict=True)
    changed = (f"{short} is {name}" for short, name in pairs if short != name)
    example = next(changed, None)
    return "" if example is None else f"Names in pictures are short: {example}."


def _shared_prefix_length(names: Sequence[str]) -> int:
    """Return the length of the names' common prefix, up to the end of a word."""
    # Letter by letter, as is meant.
    same = len(os.path.commonprefix(list(names))) if len(names) > 1 else 0  # noqa: RUF071
    while same and names[0][same - 1].isalnum():
        same -= 1
    return same


def axis(title: str = "", unit: str = "", **more: Any) -> Json:
    """Return a plotly axis with a title, and a unit after the numbers of its ticks."""
    members: Json = {"zeroline": False, "gridcolor": LINE}
    if title:
        members["title"] = {"text": plotly_text(title)}
    if unit:
        members["ticksuffix"] = f" {unit}"
    return members | more


def ticks(values: Iterable[Any], texts: Iterable[str]) -> Json:
    """Return the members of a plotly axis that shows ticks at some values only, with texts."""
    return {
        "tickmode": "array",
        "tickvals": list(values),
        "ticktext": [plotly_text(text) for text in texts],
    }


def layout(x: Json, y: Json, legend: str | None = "above", **more: Any) -> Json:
    """Return the plotly layout of a figure with two axes and the place of its legend.

    Args:
        x, y: the first two axes (`axis`).
        legend: `above`, `below` or `beside` the picture; None for none.
        more: further members of the layout, such as more axes.
    """
    members = {"xaxis": x, "yaxis": y, "hovermode": "closest", "showlegend": legend is not None}
    if legend is not None:
        members["legend"] = _LEGENDS[legend]
    return members | more


def trace(
    title: str,
    x: Iterable[float],
    y: Iterable[float],
    *,
    hover: str | None = None,
    digits: int = 4,
    **more: Any,
) -> Json:
    """Return a plotly scatter trace, with gaps where numbers are not finite.

    Args:
        title: name in the legend.
        x, y: coordinates of the points.
        hover: text at the pointer with plotly's `%{...}`; `|name` at its end adds the title, and
            None shows nothing.
        digits: significant digits of the coordinates.
        more: further members of the trace; its texts are escaped here.
    """
    members: Json = {
        "type": "scatter",
        "name": plotly_text(title[:_LONGEST_TITLE]),
        "x": round_numbers(x, digits),
        "y": round_numbers(y, digits),
        **more,
    }
    for name in ("text", "customdata"):
        if name in members:
            members[name] = [None if text is None else plotly_text(text) for text in members[name]]
    if hover is None:
        return members | {"hoverinfo": "skip"}
    text, _, extra = hover.partition("|")
    extra = "%{fullData.name}" if extra else ""
    return members | {"hovertemplate": f"{text}<extra>{extra}</extra>"}


class Segments:
    """Collected lines of a figure that become one plotly trace, with gaps between them."""

    def __init__(self) -> None:
        self._x: list[float] = []
        self._y: list[float] = []
        self._text: list[str | None] = []

    def add(self, x: Iterable[float], y: Iterable[float], texts: Iterable[str] = ()) -> None:
        """Add a line through some points; nothing if one of them is not finite."""
        xs, ys = [*x, np.nan], [*y, np.nan]
        if np.isfinite([*xs[:-1], *ys[:-1]]).all():
            self._x += xs
            self._y += ys
            self._text += [*texts, None]

    def trace(self, title: str, line: Json, hover: str | None = None, **more: Any) -> Json:
        """Return one plotly trace of all collected lines in one style."""
        texts: Json = {} if hover is None or "%{text}" not in hover else {"text": self._text}
        return trace(title, self._x, self._y, hover=hover, mode="lines", line=line, **texts, **more)
