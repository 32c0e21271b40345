"""A bench as an SVG file: predicted against measured of orders, or times against sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from plink.base.size import format_size
from plink.base.text import printable, rtt_text
from plink.bench.order_report import Correlation, OrderReport
from plink.bench.table import collectives_of, label_of
from plink.formats.comparison import Comparison, ComparisonRow

_XMLNS = "http://www.w3.org/2000/svg"

_PANEL, _MARGIN, _PANEL_TOP = 320, 70, 60
_TICKS = 4
# Both axes of a panel begin at 0 and end a little beyond the greatest value.
_ROOM = 1.05

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _LEGEND = 560, 400, 80, 50, 50, 260
_COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#1b7c83", "#57606a")
_LIMIT_COLOUR = "#000000"

OrderPoint = tuple[str, float, float]
Point = tuple[int, float]


def plot(result: Comparison, orders: OrderReport | None = None) -> str:
    """Return the text of the file. What a dot stands for shows where a pointer rests on it.

    For a bench of orders a panel for each form of the predicted cost, an order a dot. Otherwise a
    line for everything that was compared, with logarithmic axes: a dot is a median, a bar reaches
    from the fastest to the slowest repetition, and what is dashed was not measured.
    """
    hosts = len(result.setting.congestion_control)
    if orders is None:
        parts = _of_sizes(result.rows)
        width, height = _LEFT + _WIDTH + _LEGEND, _TOP + _HEIGHT + _BOTTOM
        what = f"{collectives_of(result.rows)} on {hosts} hosts"
        heading = _text(_LEFT, 24, what, "start", size=14)
    else:
        parts = _of_orders(result.rows, orders)
        width = (_PANEL + _MARGIN) * max(1, len(parts)) + _MARGIN
        height = _PANEL + _PANEL_TOP + _MARGIN
        first = result.rows[0]
        what = f"{first.client} {first.algorithm}, {first.size_bytes:,} bytes, {hosts} hosts"
        heading = _text(_MARGIN, 20, what, "start", size=14)
    return "\n".join(
        [
            f'<svg xmlns="{_XMLNS}" width="{width}" height="{height}" font-family="sans-serif">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            heading,
            *(part for part in parts if part),
            "</svg>\n",
        ]
    )


def _of_orders(rows: Sequence[ComparisonRow], report: OrderReport) -> list[str]:
    by_latency = [
        (row.order or "", order.predicted_us * 1e-6, row.median_s)
        for row, order in zip(rows, report.orders, strict=True)
        if order.predicted_us is not None
    ]
    by_contention = [
        (row.order or "", row.predicted_s, row.median_s)
        for row in rows
        if row.predicted_s is not None
    ]
    forms = [
        ("latency form", by_latency, report.by_latency),
        ("contention form", by_contention, report.by_contention),
    ]
    known = [form for form in forms if form[1]]
    return [_panel(*form, number) for number, form in enumerate(known)]


def _panel(
    title: str, points: Sequence[OrderPoint], correlation: Correlation | None, number: int
) -> str:
    left = _MARGIN + number * (_PANEL + _MARGIN)
    bottom = _PANEL_TOP + _PANEL
    most_x = (max(x for _, x, _ in points) or 1.0) * _ROOM
    most_y = (max(y for _, _, y in points) or 1.0) * _ROOM
    found = "not defined" if correlation is None else f"{correlation.value:.2f}"
    parts = [
        f'<path d="M{left} {_PANEL_TOP}h{_PANEL}v{_PANEL}h-{_PANEL}z" fill="none" stroke="#888"/>',
        _text(left + _PANEL / 2, _PANEL_TOP - 10, f"{title}, Spearman {found}", "middle"),
        _text(left + _PANEL / 2, bottom + 40, "predicted", "middle"),
        _text(left + 4, _PANEL_TOP + 16, "measured", "start"),
    ]
    for tick in range(_TICKS + 1):
        share = tick / _TICKS
        x, y = left + share * _PANEL, bottom - share * _PANEL
        parts.append(_text(x, bottom + 18, _value(share * most_x), "middle"))
        parts.append(_text(left - 4, y + 4, _value(share * most_y), "end"))
    for name, x, y in points:
        place_x = left + x / most_x * _PANEL
        place_y = bottom - y / most_y * _PANEL
        parts.append(
            f'<circle cx="{place_x:.1f}" cy="{place_y:.1f}" r="4" fill="#1f6feb"'
            f' fill-opacity="0.6"><title>{escape(printable(name))}</title></circle>'
        )
    return "\n".join(parts)


def _value(seconds: float) -> str:
    return rtt_text(seconds * 1e6) if seconds else "0"


def _of_sizes(rows: Sequence[ComparisonRow]) -> list[str]:
    has_one_collective = len({row.collective for row in rows}) == 1
    limits: dict[str, dict[int, float]] = {}
    for row in rows:
        if row.limit_s:
            limits.setdefault(row.collective, {})[row.size_bytes] = row.limit_s
    series: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        kind_of_auto = f"{row.client} {row.algorithm}"
        name = kind_of_auto if row.algorithm == "auto" else label_of(row)
        name = name if has_one_collective else f"{row.collective}: {name}"
        series.setdefault(name, []).append(row)
    times = [value for row in rows for value in (row.min_s, row.max_s, row.predicted_s) if value]
    least = [time_s for by_size in limits.values() for time_s in by_size.values()]
    scale = _Scale([row.size_bytes for row in rows], [*times, *least])
    parts = [scale.frame()]
    for number, (name, unsorted) in enumerate(series.items()):
        own = sorted(unsorted, key=lambda row: row.size_bytes)
        colour = _COLOURS[number % len(_COLOURS)]
        parts += _measured_marks(name, own, colour, scale)
        predicted = [(row.size_bytes, row.predicted_s) for row in own if row.predicted_s]
        parts.append(scale.line(predicted, colour, is_dashed=True))
        parts.append(_legend(number, name, colour))
    for by_size in limits.values():
        points = sorted(by_size.items())
        parts += [scale.line(points, _LIMIT_COLOUR), *_dots("limit", points, _LIMIT_COLOUR, scale)]
    if limits:
        parts.append(_legend(len(series), "limit of the links; dashed: predicted", _LIMIT_COLOUR))
    return parts


class _Scale:
    """Scale of the axes: position of a size and of a time."""

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


def _measured_marks(
    name: str, rows: Sequence[ComparisonRow], colour: str, scale: _Scale
) -> list[str]:
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
    """The ends of an axis, as powers of ten, with room at both."""
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
