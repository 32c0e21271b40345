"""Times against sizes as an SVG file, a line for everything that was compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from plink.base.size import format_size
from plink.base.text import rtt_text
from plink.bench.comparison.table import label_of
from plink.files.comparison import Comparison, Row

_XMLNS = "http://www.w3.org/2000/svg"

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _LEGEND = 560, 400, 80, 50, 50, 260
_COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#1b7c83", "#57606a")
_LIMIT_COLOUR = "#000000"

Point = tuple[int, float]


def plot(result: Comparison) -> str:
    """The text of the file. Both axes are logarithmic; what is dashed was not measured.

    A dot is a median, a bar from the fastest to the slowest repetition.
    """
    rows = result.rows
    limits = {row.size_bytes: row.limit_s for row in rows if row.limit_s}
    series: dict[str, list[Row]] = {}
    for row in rows:
        kind_of_auto = f"{row.client} {row.algorithm}"
        name = kind_of_auto if row.algorithm == "auto" else label_of(row)
        series.setdefault(name, []).append(row)
    times = [value for row in rows for value in (row.min_s, row.max_s, row.predicted_s) if value]
    scale = _Scale([row.size_bytes for row in rows], [*times, *limits.values()])
    parts = [scale.frame()]
    for number, (name, unsorted) in enumerate(series.items()):
        own = sorted(unsorted, key=lambda row: row.size_bytes)
        colour = _COLOURS[number % len(_COLOURS)]
        parts += _measured(name, own, colour, scale)
        predicted = [(row.size_bytes, row.predicted_s) for row in own if row.predicted_s]
        parts.append(scale.line(predicted, colour, is_dashed=True))
        parts.append(_legend(number, name, colour))
    if limits:
        points = sorted(limits.items())
        parts += [scale.line(points, _LIMIT_COLOUR), *_dots("limit", points, _LIMIT_COLOUR, scale)]
        parts.append(_legend(len(series), "limit of the links; dashed: predicted", _LIMIT_COLOUR))
    width, height = _LEFT + _WIDTH + _LEGEND, _TOP + _HEIGHT + _BOTTOM
    heading = f"allreduce on {len(result.setting.congestion_control)} hosts"
    return "\n".join(
        [
            f'<svg xmlns="{_XMLNS}" width="{width}" height="{height}" font-family="sans-serif">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            _text(_LEFT, 24, heading, "start", size=14),
            *(part for part in parts if part),
            "</svg>\n",
        ]
    )


class _Scale:
    """Where a size and a time stand."""

    def __init__(self, sizes: Sequence[int], times_s: Sequence[float]) -> None:
        self.sizes = sorted(set(sizes))
        self.x_ends = _ends(sizes)
        self.y_ends = _ends(times_s)

    def x(self, size_bytes: float) -> float:
        low, high = self.x_ends
        return _LEFT + (math.log10(size_bytes) - low) / (high - low) * _WIDTH

    def y(self, seconds: float) -> float:
        low, high = self.y_ends
        return _TOP + _HEIGHT - (math.log10(seconds) - low) / (high - low) * _HEIGHT

    def frame(self) -> str:
        bottom = _TOP + _HEIGHT
        parts = [
            f'<path d="M{_LEFT} {_TOP}h{_WIDTH}v{_HEIGHT}h-{_WIDTH}z" fill="none" stroke="#888"/>'
        ]
        for size_bytes in self.sizes:
            parts.append(_text(self.x(size_bytes), bottom + 18, format_size(size_bytes), "middle"))
        low, high = self.y_ends
        for power in range(math.ceil(low), math.floor(high) + 1):
            seconds = 10.0**power
            parts.append(_text(_LEFT - 6, self.y(seconds) + 4, rtt_text(seconds * 1e6), "end"))
            parts.append(
                f'<path d="M{_LEFT} {self.y(seconds):.1f}h{_WIDTH}" stroke="#ddd" fill="none"/>'
            )
        return "\n".join(parts)

    def line(self, points: Sequence[Point], colour: str, *, is_dashed: bool = False) -> str:
        if len(points) < 2:
            return ""
        path = " ".join(f"{self.x(size):.1f},{self.y(seconds):.1f}" for size, seconds in points)
        dashes = ' stroke-dasharray="4 3"' if is_dashed else ""
        return f'<polyline points="{path}" fill="none" stroke="{colour}"{dashes}/>'


def _measured(name: str, rows: Sequence[Row], colour: str, scale: _Scale) -> list[str]:
    points = [(row.size_bytes, row.median_s) for row in rows]
    bars = [
        f'<path d="M{scale.x(row.size_bytes):.1f} {scale.y(row.min_s):.1f}'
        f'V{scale.y(row.max_s):.1f}" stroke="{colour}" stroke-opacity="0.5" fill="none"/>'
        for row in rows
    ]
    return [*bars, scale.line(points, colour), *_dots(name, points, colour, scale)]


def _dots(name: str, points: Sequence[Point], colour: str, scale: _Scale) -> list[str]:
    return [
        f'<circle cx="{scale.x(size):.1f}" cy="{scale.y(seconds):.1f}" r="3.5" fill="{colour}">'
        f"<title>{escape(name)}, {format_size(size)}: {rtt_text(seconds * 1e6)}</title></circle>"
        for size, seconds in points
    ]


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Of an axis, as powers of ten, with room at both."""
    low, high = math.log10(min(values)), math.log10(max(values))
    room = max(0.05 * (high - low), 0.15)
    return low - room, high + room


def _legend(number: int, name: str, colour: str) -> str:
    y = _TOP + 14 + 18 * number
    x = _LEFT + _WIDTH + 14
    return f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{colour}"/>' + _text(
        x + 10, y, name, "start"
    )


def _text(x: float, y: float, text: str, anchor: str, size: int = 11) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(text)}</text>"
    )
