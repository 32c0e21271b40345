"""Predicted against measured times as an SVG file: a panel for each form of the predicted cost."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from plink.base.text import printable, rtt_text
from plink.bench.result import BenchResult, Correlation

_XMLNS = "http://www.w3.org/2000/svg"

_PANEL, _MARGIN, _TOP = 320, 70, 60
_TICKS = 4
# Both axes begin at 0 and end a little beyond the greatest value.
_ROOM = 1.05

Point = tuple[str, float, float]


def plot(result: BenchResult) -> str:
    """The text of the file. An order is a dot, and its name shows where a pointer rests on it."""
    panels = [
        _panel(title, points, correlation, left)
        for left, (title, points, correlation) in enumerate(_forms(result))
        if points
    ]
    width = (_PANEL + _MARGIN) * max(1, len(panels)) + _MARGIN
    height = _PANEL + _TOP + _MARGIN
    setting = result.setting
    heading = (
        f"{setting.client} {setting.workload.algorithm}, {setting.workload.size_bytes:,} bytes"
    )
    heading += f", {len(setting.congestion_control)} hosts"
    return "\n".join(
        [
            f'<svg xmlns="{_XMLNS}" width="{width}" height="{height}" font-family="sans-serif">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            _text(_MARGIN, 20, heading, "start", size=14),
            *panels,
            "</svg>\n",
        ]
    )


def _forms(result: BenchResult) -> list[tuple[str, list[Point], Correlation | None]]:
    by_latency = [
        (row.order, row.predicted_us * 1e-6, row.median_s)
        for row in result.rows
        if row.predicted_us is not None
    ]
    by_contention = [
        (row.order, row.predicted_s, row.median_s)
        for row in result.rows
        if row.predicted_s is not None
    ]
    forms = [
        ("latency form", by_latency, result.by_latency),
        ("contention form", by_contention, result.by_contention),
    ]
    return [form for form in forms if form[1]]


def _panel(
    title: str, points: Sequence[Point], correlation: Correlation | None, number: int
) -> str:
    left = _MARGIN + number * (_PANEL + _MARGIN)
    bottom = _TOP + _PANEL
    most_x = (max(x for _, x, _ in points) or 1.0) * _ROOM
    most_y = (max(y for _, _, y in points) or 1.0) * _ROOM
    found = "not defined" if correlation is None else f"{correlation.value:.2f}"
    parts = [
        f'<path d="M{left} {_TOP}h{_PANEL}v{_PANEL}h-{_PANEL}z" fill="none" stroke="#888"/>',
        _text(left + _PANEL / 2, _TOP - 10, f"{title}, Spearman {found}", "middle"),
        _text(left + _PANEL / 2, bottom + 40, "predicted", "middle"),
        _text(left + 4, _TOP + 16, "measured", "start"),
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


def _text(x: float, y: float, text: str, anchor: str, size: int = 11) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(text)}</text>"
    )
