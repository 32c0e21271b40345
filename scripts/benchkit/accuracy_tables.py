"""Predicted beside measured times: cases, their figures, tables, a plot and a page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchkit.accuracy_labs import AccuracyLab
from plink.base.size import format_size
from plink.bench.statistics import spearman, spearman_interval
from plink.optimize.expected import Expected

SUMMARY_HEADER = (
    "client",
    "size",
    "cases",
    "no time told",
    "median error",
    "95th percentile",
    "times in the 90 % interval (95 %)",
    "width of the interval",
    "Spearman (95 %)",
)
CASES_HEADER = (
    "lab",
    "client",
    "algorithm",
    "order",
    "size",
    "measured",
    "predicted",
    "90 %",
    "error",
)
BEGIN, END = "<!-- figures: scripts/bench accuracy --write -->", "<!-- end of figures -->"

_COLOURS = {"gloo": "#1b6ca8", "openmpi": "#c0392b", "mpich": "#d68910", "engine": "#1e8449"}


@dataclass(frozen=True)
class Case:
    """One client, algorithm, order and size on one lab.

    Args:
        lab: its seed.
        client, algorithm, order: as `plink bench` has them.
        size_bytes: of the buffer.
        samples_s: what was measured.
        expected: what was predicted.
    """

    lab: int
    client: str
    algorithm: str
    order: str
    size_bytes: int
    samples_s: Sequence[float]
    expected: Expected

    @property
    def measured_s(self) -> float:
        """The median."""
        return float(np.median(self.samples_s))

    @property
    def error(self) -> float | None:
        """The predicted time over the measured one, less 1; None where none was predicted."""
        seconds = self.expected.seconds
        return None if seconds is None else seconds / self.measured_s - 1.0

    @property
    def within(self) -> list[bool]:
        """Of each sample, whether it is in the interval; empty where there is none."""
        low, high = self.expected.low_s, self.expected.high_s
        if low is None or high is None:
            return []
        return [low <= sample <= high for sample in self.samples_s]

    def row(self) -> tuple[str, ...]:
        """A row under `CASES_HEADER`."""
        told = self.expected
        is_told = told.seconds is not None and told.low_s is not None and told.high_s is not None
        interval = f"{_ms(told.low_s)} to {_ms(told.high_s)}" if is_told else "none told"
        return (
            str(self.lab),
            self.client,
            self.algorithm,
            self.order or "-",
            format_size(self.size_bytes),
            _ms(self.measured_s),
            _ms(told.seconds),
            interval,
            "-" if self.error is None else f"{100.0 * self.error:+.0f} %",
        )

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {**vars(self), "expected": vars(self.expected)}


@dataclass(frozen=True)
class Figures:
    """What was reached over some cases; NaN where nothing was predicted."""

    median_percent: float
    p95_percent: float
    within_percent: float
    least_spearman: float
    refused_percent: float


def figures_of(cases: Sequence[Case]) -> Figures:
    """Over all cases; the least correlation of a client and size."""
    errors = _errors(cases)
    within = [each for case in cases for each in case.within]
    ranks = [value for _, _, some in _parts(cases) if (value := _spearman(some)) is not None]
    refused = sum(case.error is None for case in cases)
    return Figures(
        100.0 * float(np.median(errors)) if errors else math.nan,
        100.0 * float(np.quantile(errors, 0.95)) if errors else math.nan,
        100.0 * sum(within) / len(within) if within else math.nan,
        min(ranks, default=math.nan),
        100.0 * refused / len(cases) if cases else math.nan,
    )


def summary_rows(cases: Sequence[Case]) -> list[tuple[str, ...]]:
    """By client and size, and over all."""
    rows = [_summary(client, format_size(size), some) for client, size, some in _parts(cases)]
    return [*rows, _summary("all", "", cases)]


def _parts(cases: Sequence[Case]) -> Iterator[tuple[str, int, list[Case]]]:
    for client in dict.fromkeys(case.client for case in cases):
        own = [case for case in cases if case.client == client]
        for size in sorted({case.size_bytes for case in own}):
            yield client, size, [case for case in own if case.size_bytes == size]


def _summary(client: str, size: str, cases: Sequence[Case]) -> tuple[str, ...]:
    errors = _errors(cases)
    within = [each for case in cases for each in case.within]
    refused = sum(case.error is None for case in cases)
    widths = [
        case.expected.high_s / case.expected.seconds
        for case in cases
        if case.expected.high_s is not None and case.expected.seconds
    ]
    return (
        client,
        size,
        str(len(cases)),
        str(refused),
        f"{100.0 * float(np.median(errors)):.1f} %" if errors else "-",
        f"{100.0 * float(np.quantile(errors, 0.95)):.1f} %" if errors else "-",
        _share(within),
        f"x/ {float(np.median(widths)):.2f}" if widths else "-",
        _correlation(cases) if client != "all" else "-",
    )


def _errors(cases: Sequence[Case]) -> list[float]:
    return [abs(case.error) for case in cases if case.error is not None]


def _known_times(cases: Sequence[Case]) -> tuple[list[float], list[float]]:
    told = [case for case in cases if case.expected.seconds is not None]
    return [case.expected.seconds or 0.0 for case in told], [case.measured_s for case in told]


def _spearman(cases: Sequence[Case]) -> float | None:
    return spearman(*_known_times(cases))


def _correlation(cases: Sequence[Case]) -> str:
    value = _spearman(cases)
    if value is None:
        return "-"
    ends = spearman_interval(*_known_times(cases), seed=0)
    return f"{value:.2f}" if ends is None else f"{value:.2f} ({ends[0]:.2f} to {ends[1]:.2f})"


def _share(within: Sequence[bool]) -> str:
    """A share with its interval (Wilson 1927)."""
    if not within:
        return "-"
    count, share, z = len(within), sum(within) / len(within), 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    reach = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    reach /= 1 + z * z / count
    low, high = 100 * (middle - reach), 100 * (middle + reach)
    return f"{100 * share:.0f} % ({low:.0f} to {high:.0f})"


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1e3 * seconds:.3g} ms"


def plot(cases: Sequence[Case]) -> str:
    """An SVG: predicted against measured times, both logarithmic, with intervals."""
    told = [case for case in cases if case.expected.seconds is not None]
    side, edge = 420, 46
    values = [case.measured_s for case in told] + [case.expected.seconds or 1.0 for case in told]
    low = math.floor(math.log10(min(values, default=0.01)))
    high = math.ceil(math.log10(max(values, default=1.0)) + 1e-9)

    def at(seconds: float) -> float:
        share = (math.log10(max(seconds, 1e-9)) - low) / max(1, high - low)
        return edge + min(1.0, max(0.0, share)) * (side - 2 * edge)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}">',
        "<style>text { font: 11px sans-serif }</style>",
        f'<rect width="{side}" height="{side}" fill="white"/>',
        f'<line x1="{edge}" y1="{side - edge}" x2="{side - edge}" y2="{edge}" stroke="#999"/>',
    ]
    for power in range(low, high + 1):
        place, text = at(10.0**power), f"{10.0**power:g} s"
        parts.append(f'<text x="{place - 8:.0f}" y="{side - edge + 16}">{text}</text>')
        parts.append(f'<text x="4" y="{side - place + 4:.0f}">{text}</text>')
    for case in told:
        x, told_case = at(case.measured_s), case.expected
        colour = _COLOURS.get(case.client, "#555")
        low_y, high_y = (side - at(end or 1.0) for end in (told_case.low_s, told_case.high_s))
        y = side - at(told_case.seconds or 1.0)
        parts.append(
            f'<line x1="{x:.1f}" y1="{low_y:.1f}" x2="{x:.1f}" y2="{high_y:.1f}" '
            f'stroke="{colour}" opacity="0.4"/>'
        )
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>')
    for number, client in enumerate(dict.fromkeys(case.client for case in told)):
        y = edge + 14 * number
        colour = _COLOURS.get(client, "#555")
        parts.append(f'<circle cx="{edge + 8}" cy="{y - 4}" r="3" fill="{colour}"/>')
        parts.append(f'<text x="{edge + 16}" y="{y}">{client}</text>')
    parts.append(f'<text x="{side / 2 - 30:.0f}" y="{side - 8}">measured</text>')
    parts.append(f'<text x="{edge}" y="16">predicted, with the 90 % interval</text></svg>')
    return "\n".join(parts) + "\n"


def write_page(path: Path, labs: Sequence[AccuracyLab], cases: Sequence[Case], load: str) -> None:
    """Put the tables between the marks of a page.

    Raises:
        SystemExit: it has none.
    """
    text = path.read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"error: {path} has no marks for the figures")
    shapes = "\n".join(
        f"- **{lab.seed}:** {lab.hosts} hosts; racks of {lab} Mbit/s" for lab in labs
    )
    intro = f"{len(labs)} labs; load of other work when it began: {load}. By seed, rows of racks "
    intro += "(hosts in each) at what a rack's uplink carries, below what a row's does:"
    parts = [
        f"{intro}\n\n{shapes}",
        f"![predicted against measured times]({path.with_suffix('.svg').name})",
        "## By client and size\n\n" + _table(SUMMARY_HEADER, summary_rows(cases)),
        "## Every case\n\n" + _table(CASES_HEADER, [case.row() for case in cases]),
    ]
    path.write_text(f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
