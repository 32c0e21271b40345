"""Figure of a tuned run: throughput, changes of the plan, loads and rates of hosts over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.autotune.log.history import Change, History
from plink.autotune.tuner.interface import Action
from plink.base.text import format_count
from plink.show.page.labels import plotly_names
from plink.show.page.parts import (
    BETWEEN,
    INK,
    LINE,
    MUTED,
    NO_GROUP_COLOUR,
    WITHIN,
    Figure,
    group_colour,
    group_symbol,
    plotly_text,
    round_to_digits,
)

Floats = npt.NDArray[np.float64]

# More points than a page is wide tell nothing.
MAX_POINTS = 1000
# More hosts than there are colours and dashes: the others are shown as a range.
MAX_HOSTS = 8
# More lines of changes would hide what they change.
MAX_MARKED = 60

_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS: Mapping[Action | None, str] = {
    Action.QUICKTUNE: "triangle-up",
    Action.FINETUNE: "circle",
    Action.ROLL_BACK: "x",
    Action.REPROBE: "diamond",
}
_OTHER_SYMBOL = "square"


@dataclass(frozen=True)
class _Axis:
    """Time axis from the first window on.

    Args:
        unit: its name.
        places: (W,) of the windows.
        groups: the windows of each point.
    """

    unit: str
    places: Floats
    groups: Sequence[npt.NDArray[np.intp]]

    def thin(self, values: Floats) -> list[float | None]:
        """Return the median of the windows at each point; None where unknown."""
        return [_round_finite(_median(values[group])) for group in self.groups]

    @property
    def x(self) -> list[float | None]:
        """Horizontal positions of the points."""
        return self.thin(self.places)


def run_figure(run: History) -> Figure:
    """Return the figure in the form of Luo 2020, Fig. 6.15, with loads and rates below.

    Args:
        run: with a window at least.
    """
    axis = _axis(run)
    shown = shown_hosts(run)
    has_rates = bool(np.isfinite(run.rates_bytes_s).any())
    panels = [("sent, MB an iteration", run.sent_bytes / 1e6)]
    if has_rates:
        panels.append(("believed, Gbit/s", run.rates_bytes_s * 8e-9))
    domains = [[0.62, 1.0], [0.33, 0.56], [0.0, 0.27]] if has_rates else [[0.5, 1.0], [0.0, 0.42]]
    traces = [_snapshots(run, axis), _averages(run, axis), *_marks(run, axis)]
    for number, (_, values) in enumerate(panels, 2):
        traces += _of_hosts(run, axis, values, shown, f"y{number}")
    vertical = {"gridcolor": LINE, "zeroline": False, "rangemode": "tozero"}
    layout: dict[str, Any] = {
        "xaxis": {
            "title": {"text": f"{axis.unit} since the first window"},
            "zeroline": False,
            "gridcolor": LINE,
            "anchor": f"y{len(panels) + 1}",
        },
        "yaxis": {**vertical, "title": {"text": "reduced, MB/s"}, "domain": domains[0]},
        "shapes": [_line(axis.places[change.window]) for change in _changes_to_mark(run)],
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
        "showlegend": True,
    }
    for number, (title, _) in enumerate(panels, 2):
        layout[f"yaxis{number}"] = {
            **vertical,
            "title": {"text": title},
            "domain": domains[number - 1],
        }
    return Figure("tuned", traces, layout, 820, _caption(run, has_rates), _description(run))


def shown_hosts(run: History) -> list[int]:
    """Return the indices of the hosts whose load or rate changed most."""
    hosts = len(run.hosts)
    if hosts <= MAX_HOSTS:
        return list(range(hosts))
    changed = _range(run.sent_bytes) + _range(run.rates_bytes_s)
    return sorted(np.argsort(-changed, kind="stable")[:MAX_HOSTS].tolist())


def _range(values: Floats) -> Floats:
    """Return the relative range of each host's values, (H,); 0 where unknown."""
    known = np.where(np.isfinite(values), values, np.nan)
    if not np.isfinite(known).any():
        return np.zeros(values.shape[1])
    least = np.nanmin(np.where(np.isnan(known), np.inf, known), axis=0)
    most = np.nanmax(np.where(np.isnan(known), -np.inf, known), axis=0)
    greatest = float(np.nanmax(known)) or 1.0
    return np.where(np.isfinite(most - least), most - least, 0.0) / greatest


def _axis(run: History) -> _Axis:
    seconds = run.at_s - run.at_s[0]
    scale, unit = next(
        (scale, unit)
        for scale, unit in ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
        if run.seconds >= 2.0 * scale or scale == 1.0
    )
    groups = np.array_split(np.arange(run.windows), min(run.windows, MAX_POINTS))
    return _Axis(unit, seconds / scale, groups)


def _snapshots(run: History, axis: _Axis) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "throughput",
        "x": axis.x,
        "y": axis.thin(run.throughput_bytes_s / 1e6),
        "line": {"color": WITHIN, "width": 2},
        "hovertemplate": f"%{{x}} {axis.unit}: %{{y}} MB/s<extra></extra>",
    }


def _averages(run: History, axis: _Axis) -> dict[str, Any]:
    """Return the average under each plan as dotted steps."""
    x: list[float | None] = []
    y: list[float | None] = []
    cuts = [0, *(np.flatnonzero(np.diff(run.plans)) + 1).tolist(), run.windows]
    for begin, end in pairwise(cuts):
        mean_s = run.iteration_s[begin:end].mean()
        mean = _round_finite(run.size_bytes[begin] / mean_s / 1e6)
        # A window's place is its end.
        x += [
            _round_finite(axis.places[max(0, begin - 1)]),
            _round_finite(axis.places[end - 1]),
            None,
        ]
        y += [mean, mean, None]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "average with each plan",
        "x": x,
        "y": y,
        "line": {"color": INK, "width": 2, "dash": "dot"},
        "hovertemplate": "average with a plan: %{y} MB/s<extra></extra>",
    }


def _marks(run: History, axis: _Axis) -> list[dict[str, Any]]:
    """Return a trace for each kind of decision, with the decisions' numbers."""
    number_of = {id(change): number for number, change in enumerate(run.changes, 1)}
    marked = _changes_to_mark(run)
    kinds = list(dict.fromkeys(change.what for change in marked))
    throughput = run.throughput_bytes_s / 1e6
    return [
        {
            "type": "scatter",
            "mode": "markers+text",
            "name": kind,
            "x": [_round_finite(axis.places[change.window]) for change in of_kind],
            "y": [_round_finite(throughput[change.window]) for change in of_kind],
            "text": [str(number_of[id(change)]) for change in of_kind],
            "textposition": "middle right",
            "textfont": {"color": INK},
            "customdata": [plotly_text(change.reason) for change in of_kind],
            "marker": {
                "symbol": _SYMBOLS.get(of_kind[0].action, _OTHER_SYMBOL),
                "size": 11,
                "color": BETWEEN,
                "line": {"color": INK, "width": 1},
            },
            "hovertemplate": f"%{{text}}, {kind}: %{{customdata}}<extra></extra>",
        }
        for kind in kinds
        for of_kind in [[change for change in marked if change.what == kind]]
    ]


def _changes_to_mark(run: History) -> Sequence[Change]:
    """Return the decisions to mark: all, or only changes of the plan, or the first ones."""
    if len(run.changes) <= MAX_MARKED:
        return run.changes
    return run.new_plans[:MAX_MARKED]


def _of_hosts(
    run: History, axis: _Axis, values: Floats, shown: Sequence[int], vertical: str
) -> list[dict[str, Any]]:
    """Return a line for each shown host, and a band for the others."""
    labels = plotly_names([f"{host}: {name}" for host, name in enumerate(run.hosts)])
    lines: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": labels[host],
            "legendgroup": f"host {host}",
            "showlegend": vertical == "y2",
            "yaxis": vertical,
            "x": axis.x,
            "y": axis.thin(values[:, host]),
            "line": {
                "color": group_colour(place),
                "width": 1.5,
                "dash": _DASHES[place % len(_DASHES)],
            },
            "marker": {"symbol": group_symbol(place), "size": 7, "maxdisplayed": 10 + place},
            "hovertemplate": "%{y}<extra>%{fullData.name}</extra>",
        }
        for place, host in enumerate(shown)
    ]
    others = np.setdiff1d(np.arange(len(run.hosts)), shown)
    if not len(others):
        return lines
    return [*_band(axis, values[:, others], vertical), *lines]


def _band(axis: _Axis, values: Floats, vertical: str) -> list[dict[str, Any]]:
    known = np.isfinite(values).any(axis=1)
    edges = (np.where(known, edge, np.nan) for edge in (values.min(axis=1), values.max(axis=1)))
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "range of the other hosts",
            "legendgroup": "others",
            "showlegend": vertical == "y2" and place == 1,
            "yaxis": vertical,
            "x": axis.x,
            "y": axis.thin(edge),
            "line": {"color": NO_GROUP_COLOUR, "width": 0.5},
            "fill": "tonexty" if place else "none",
            "hoverinfo": "skip",
        }
        for place, edge in enumerate(edges)
    ]


def _line(place: float) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": _round_finite(place),
        "x1": _round_finite(place),
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": MUTED, "width": 1, "dash": "dash"},
    }


def _caption(run: History, has_rates: bool) -> str:
    marked = _changes_to_mark(run)
    said = (
        "Above, what the job reduces in a second: the line is each window, dotted the average with "
        "each plan. Dashed lines across are decisions, with their number in the table"
    )
    if len(marked) < len(run.changes):
        said += f" ({len(marked)} of {len(run.changes)} are drawn)"
    said += (
        ". Below, what every host sends to others in an iteration: hosts that are level share the "
        "work evenly."
    )
    if has_rates:
        said += " Last, what the tuner believed that each can carry, decided again from the log."
    if len(run.hosts) > MAX_HOSTS:
        said += (
            f" The {MAX_HOSTS} of {len(run.hosts)} hosts whose figures changed most have lines of "
            "their own."
        )
    if run.windows > MAX_POINTS:
        said += " A point is the median of several windows."
    return said


def _description(run: History) -> str:
    rates = run.throughput_bytes_s / 1e6
    return (
        f"throughput of {format_count(run.windows, 'window')}, {rates.min():,.1f} to "
        f"{rates.max():,.1f} MB/s, with {format_count(len(run.changes), 'decision')}, and the "
        f"load of {format_count(len(run.hosts), 'host')}"
    )


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")


def _round_finite(value: float) -> float | None:
    return round_to_digits(float(value)) if np.isfinite(value) else None
