"""A bench as an SVG file: predicted against measured of orders, or times against sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from jinja2 import Environment, PackageLoader

from plink.base.size import format_size
from plink.base.text import printable, rtt_text
from plink.bench.order_report import Correlation, OrdersBench
from plink.formats.comparison import Comparison, ComparisonRow
from plink.plans.names import ALL_REDUCE

# Sizes in pixels: of a panel of orders, and of the picture of sizes.
_PANEL, _MARGIN, _PANEL_TOP = 320, 70, 60
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _LEGEND = 560, 400, 80, 50, 50, 260
_TICKS = 4
# Both axes of a panel begin at 0 and end a little beyond the greatest value.
_ROOM = 1.05

_COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#1b7c83", "#57606a")
_LIMIT_COLOUR = "#000000"
_GRID_COLOUR = "#dddddd"

_Place = tuple[float, float]


@dataclass
class _Picture:
    """Elements of a picture in pixels, as the template draws them; the first text is its title."""

    texts: list[tuple[float, float, str, str]] = field(default_factory=list)
    frames: list[tuple[float, float, float, float]] = field(default_factory=list)
    lines: list[tuple[Sequence[_Place], str, str]] = field(default_factory=list)
    dots: list[tuple[float, float, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Axis:
    """Linear axis from a value at one pixel to another value at another pixel."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)


def plot(result: Comparison, orders: OrdersBench | None = None) -> str:
    """Return a bench's results as an SVG picture, whose dots show their names to the pointer.

    For a bench of orders it has a panel for each form of the predicted cost, with a dot for each
    order. Otherwise it has a line for everything that was compared, with logarithmic axes: a dot is
    a median, a bar reaches from the fastest to the slowest repetition, and what is dashed was not
    measured.
    """
    hosts = f"{len(result.setting.congestion_control)} hosts"
    picture = _Picture()
    if orders is None:
        width, height = _LEFT + _WIDTH + _LEGEND, _TOP + _HEIGHT + _BOTTOM
        picture.texts.append((_LEFT, 24, f"{collectives_text(result.rows)} on {hosts}", "start"))
        _draw_sizes(picture, result.rows)
    else:
        what = f"{orders.client} {orders.algorithm}, {orders.size_bytes:,} bytes, {hosts}"
        picture.texts.append((_MARGIN, 20, what, "start"))
        panels = _draw_orders(picture, orders)
        width = (_PANEL + _MARGIN) * max(1, panels) + _MARGIN
        height = _PANEL + _PANEL_TOP + _MARGIN
    environment = Environment(loader=PackageLoader("plink.bench"), autoescape=True)
    template = environment.get_template("plot.svg.j2")
    return template.render(width=width, height=height, **vars(picture))


def collectives_text(rows: Sequence[ComparisonRow]) -> str:
    """Return the collectives that a bench ran, as text."""
    names = dict.fromkeys(row.collective for row in rows)
    return "allreduce" if list(names) == [ALL_REDUCE] else ", ".join(names)


def label_text(row: ComparisonRow) -> str:
    """Return the name of a compared case: `engine auto (2lha)`, `gloo ring, given`."""
    kind = f" ({row.plan})" if row.plan not in (None, row.algorithm) else ""
    order = f", {row.order}" if row.order else ""
    return printable(f"{row.client} {row.algorithm}{kind}{order}")


def _draw_orders(picture: _Picture, orders: OrdersBench) -> int:
    """Add a panel for each form of the cost that was predicted, and return their number."""
    latencies_us = [row.predicted_us for row in orders.rows]
    latencies_s = [None if value is None else value * 1e-6 for value in latencies_us]
    forms = (
        ("latency form", latencies_s, orders.spearman.latency),
        ("contention form", [row.predicted_s for row in orders.rows], orders.spearman.contention),
    )
    number = 0
    for title, predicted_s, correlation in forms:
        points = [
            (printable(row.order), time_s, row.median_s)
            for row, time_s in zip(orders.rows, predicted_s, strict=True)
            if time_s is not None
        ]
        if points:
            _draw_panel(picture, title, points, correlation, _MARGIN + number * (_PANEL + _MARGIN))
            number += 1
    return number


def _draw_panel(
    picture: _Picture,
    title: str,
    points: Sequence[tuple[str, float, float]],
    correlation: Correlation | None,
    left: float,
) -> None:
    bottom, middle = _PANEL_TOP + _PANEL, left + _PANEL / 2
    value = "not defined" if correlation is None else f"{correlation.value:.2f}"
    x = _Axis(0.0, _ROOM * max(x for _, x, _ in points) or 1.0, left, left + _PANEL)
    y = _Axis(0.0, _ROOM * max(y for _, _, y in points), bottom, _PANEL_TOP)
    picture.frames.append((left, _PANEL_TOP, _PANEL, _PANEL))
    picture.texts += [
        (middle, _PANEL_TOP - 10, f"{title}, Spearman {value}", "middle"),
        (middle, bottom + 40, "predicted", "middle"),
        (left + 4, _PANEL_TOP + 16, "measured", "start"),
    ]
    for tick in range(_TICKS + 1):
        x_s, y_s = x.high * tick / _TICKS, y.high * tick / _TICKS
        picture.texts += [
            (x.at(x_s), bottom + 18, rtt_text(x_s * 1e6) if tick else "0", "middle"),
            (left - 4, y.at(y_s) + 4, rtt_text(y_s * 1e6) if tick else "0", "end"),
        ]
    picture.dots += [(x.at(x_s), y.at(y_s), _COLOURS[0], name) for name, x_s, y_s in points]


def _draw_sizes(picture: _Picture, rows: Sequence[ComparisonRow]) -> None:
    """Add a line for everything that was compared, and for the limits of each collective."""
    is_one = len({row.collective for row in rows}) == 1
    rows = sorted(rows, key=lambda row: row.size_bytes)
    limits: dict[str, dict[int, float]] = {}
    series: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        if row.limit_s:
            limits.setdefault(row.collective, {})[row.size_bytes] = row.limit_s
        name = f"{row.client} auto" if row.algorithm == "auto" else label_text(row)
        series.setdefault(name if is_one else f"{row.collective}: {name}", []).append(row)
    times_s = [time for row in rows for time in (row.min_s, row.max_s, row.predicted_s) if time]
    times_s += [time_s for by_size in limits.values() for time_s in by_size.values()]
    sizes = [row.size_bytes for row in rows]
    x = _Axis(*_log_ends(sizes), _LEFT, _LEFT + _WIDTH)
    y = _Axis(*_log_ends(times_s), _TOP + _HEIGHT, _TOP)

    def place(size_bytes: int, time_s: float) -> _Place:
        return x.at(math.log10(size_bytes)), y.at(math.log10(time_s))

    def draw(name: str, points: Sequence[tuple[int, float]], colour: str) -> None:
        picture.lines.append(([place(*point) for point in points], colour, ""))
        for size, time_s in points:
            title = f"{name}, {format_size(size)}: {rtt_text(time_s * 1e6)}"
            picture.dots.append((*place(size, time_s), colour, title))

    legend = [(name, _COLOURS[n % len(_COLOURS)]) for n, name in enumerate(series)]
    picture.frames.append((_LEFT, _TOP, _WIDTH, _HEIGHT))
    for size in dict.fromkeys(sizes):
        text = format_size(size)
        picture.texts.append((x.at(math.log10(size)), _TOP + _HEIGHT + 18, text, "middle"))
    for power in range(math.ceil(y.low), math.floor(y.high) + 1):
        at = y.at(power)
        picture.texts.append((_LEFT - 6, at + 4, rtt_text(10.0**power * 1e6), "end"))
        picture.lines.append(([(_LEFT, at), (_LEFT + _WIDTH, at)], _GRID_COLOUR, ""))
    for name, colour in legend:
        own = series[name]
        for row in own:
            ends = [place(row.size_bytes, time_s) for time_s in (row.min_s, row.max_s)]
            picture.lines.append((ends, colour, "pale"))
        draw(name, [(row.size_bytes, row.median_s) for row in own], colour)
        predicted = [place(row.size_bytes, row.predicted_s) for row in own if row.predicted_s]
        picture.lines.append((predicted, colour, "dashed"))
    for by_size in limits.values():
        draw("limit", list(by_size.items()), _LIMIT_COLOUR)
    if limits:
        legend.append(("limit of the links; dashed: predicted", _LIMIT_COLOUR))
    for number, (name, colour) in enumerate(legend):
        left, top = _LEFT + _WIDTH + 14, _TOP + 14 + 18 * number
        picture.dots.append((left, top - 4, colour, ""))
        picture.texts.append((left + 10, top, name, "start"))


def _log_ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis, as powers of ten, with room beyond the values."""
    low, high = math.log10(min(values)), math.log10(max(values))
    room = max(0.05 * (high - low), 0.15)
    return low - room, high + room
