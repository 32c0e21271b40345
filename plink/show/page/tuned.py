"""Report sections on a tuned run, with the figure of its throughput, plans, loads and rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from plink import __version__
from plink.autotune.log.history import Change, History
from plink.autotune.tuner.interface import Action
from plink.base.text import bandwidth_text, bytes_text, format_count
from plink.show.page.charts import (
    BETWEEN,
    DASHES,
    INK,
    MUTED,
    NO_GROUP_COLOUR,
    WITHIN,
    Floats,
    Json,
    Segments,
    axis,
    figure,
    group_colour,
    group_symbol,
    round_number,
    short_names,
    trace,
)
from plink.show.page.parts import Figure, Paragraph, Part, Section, Table, facts_table, table
from plink.show.tables import Fact
from plink.show.tuned import decision_columns, numbered_decisions, option_facts, run_facts

# More points than a page is wide tell nothing.
MAX_POINTS = 1000
# More hosts than there are colours and dashes: the others are shown as a range.
MAX_HOSTS = 8
# More lines of changes would hide what they change.
MAX_MARKED = 60

_SYMBOLS: Mapping[Action | None, str] = {
    Action.QUICKTUNE: "triangle-up",
    Action.FINETUNE: "circle",
    Action.ROLL_BACK: "x",
    Action.REPROBE: "diamond",
}
_OTHER_SYMBOL = "square"


def tuned_sections(run: History, sources: Sequence[str]) -> list[Section]:
    """Return the report's sections on a job's run under `plink autotune`.

    Args:
        run: what its logs tell.
        sources: the logs' names.
    """
    sections = [Section("overview", "Overview", [facts_table("The essentials", run_facts(run))])]
    if run.windows:
        sections.append(Section("run", "The run", _run(run)))
    sections += [
        Section("decisions", "Decisions", [_decisions(run)]),
        Section("hosts", "Hosts", [_hosts(run)]),
        Section("origin", "Made from", [_origin(run, sources)]),
    ]
    return sections


def _run(run: History) -> list[Part]:
    parts: list[Part] = []
    if run.is_replayed is False:
        parts.append(
            Paragraph(
                "The log has other decisions than this version of plink makes on what was "
                "measured, so that what hosts were believed to carry is known only up to there.",
                is_note=True,
            )
        )
    return [*parts, run_figure(run)]


def _decisions(run: History) -> Part:
    if not run.changes:
        return Paragraph("None: the plan stayed as it was.")
    caption = (
        "Every decision but to wait. Iterations are medians of up to three windows with the plan "
        "before, and with the one after."
    )
    return table(caption, decision_columns(run), numbered_decisions(run))


def _hosts(run: History) -> Table:
    """Return the table of each host's traffic and estimated rate, at first and last."""
    rows = []
    for host, name in enumerate(run.hosts):
        rates = run.rates_bytes_s[:, host]
        known = rates[np.isfinite(rates)]
        rows.append(
            (
                f"{host} {name}",
                *(bytes_text(float(each)) for each in _ends(run.sent_bytes[:, host])),
                bandwidth_text(8e-9 * known.min()) if len(known) else "",
                bandwidth_text(8e-9 * known[-1]) if len(known) else "",
            )
        )
    caption = "What each sends to others in an iteration, and what it was believed to carry."
    header = ("host", "sent at first", "sent at the end", "believed at least", "at last")
    return Table(caption, header, rows, numbers=(1, 2, 3, 4))


def _ends(values: Floats) -> Sequence[float]:
    return (values[0], values[-1]) if len(values) else (0.0, 0.0)


def _origin(run: History, sources: Sequence[str]) -> Table:
    facts: list[Fact] = [("plink", [__version__]), *(("log", [source]) for source in sources)]
    return facts_table("Files and tools", [*facts, *option_facts(run)], "how")


@dataclass(frozen=True)
class _TimeAxis:
    """Time axis of a tuned run's figure, from its first window on.

    Args:
        unit: unit of time, in the plural.
        places: (W,) positions of the windows.
        groups: the windows of each point.
    """

    unit: str
    places: Floats
    groups: Sequence[npt.NDArray[np.intp]]

    def thin(self, values: Floats) -> list[float]:
        """Return the median of the windows' values at each point of the axis."""
        return [_median(values[group]) for group in self.groups]

    @property
    def x(self) -> list[float]:
        """Horizontal positions of the axis's points."""
        return self.thin(self.places)


def run_figure(run: History) -> Figure:
    """Return the figure in the form of Luo 2020, Fig. 6.15, with loads and rates below.

    Args:
        run: a run with a window at least.
    """
    time = _time_axis(run)
    has_rates = bool(np.isfinite(run.rates_bytes_s).any())
    panels = [("sent, MB an iteration", run.sent_bytes / 1e6)]
    domains = [[0.5, 1.0], [0.0, 0.42]]
    if has_rates:
        panels.append(("believed, Gbit/s", run.rates_bytes_s * 8e-9))
        domains = [[0.62, 1.0], [0.33, 0.56], [0.0, 0.27]]
    traces = [_throughput_trace(run, time), _average_trace(run, time), *_decision_traces(run, time)]
    more: Json = {}
    for number, (title, values) in enumerate(panels, 2):
        traces += _host_traces(run, time, values, f"y{number}")
        more[f"yaxis{number}"] = axis(title, rangemode="tozero", domain=domains[number - 1])
    rates = run.throughput_bytes_s / 1e6
    return figure(
        "tuned",
        traces,
        axis(f"{time.unit} since the first window", anchor=f"y{len(panels) + 1}"),
        axis("reduced, MB/s", rangemode="tozero", domain=domains[0]),
        caption=_caption(run, has_rates),
        description=(
            f"throughput of {format_count(run.windows, 'window')}, {rates.min():,.1f} to "
            f"{rates.max():,.1f} MB/s, with {format_count(len(run.changes), 'decision')}, and the "
            f"load of {format_count(len(run.hosts), 'host')}"
        ),
        height_px=820,
        shapes=[_line_across(time.places[change.window]) for change in _marked_changes(run)],
        **more,
    )


def shown_hosts(run: History) -> list[int]:
    """Return the indices of the hosts whose load or rate changed most."""
    hosts = len(run.hosts)
    if hosts <= MAX_HOSTS:
        return list(range(hosts))
    changed = _range(run.sent_bytes) + _range(run.rates_bytes_s)
    return sorted(np.argsort(-changed, kind="stable")[:MAX_HOSTS].tolist())


def _range(values: Floats) -> Floats:
    """Return the relative range of each host's values over time, (H,); 0 where unknown."""
    known = np.where(np.isfinite(values), values, np.nan)
    if not np.isfinite(known).any():
        return np.zeros(values.shape[1])
    least = np.nanmin(np.where(np.isnan(known), np.inf, known), axis=0)
    most = np.nanmax(np.where(np.isnan(known), -np.inf, known), axis=0)
    greatest = float(np.nanmax(known)) or 1.0
    return np.where(np.isfinite(most - least), most - least, 0.0) / greatest


def _time_axis(run: History) -> _TimeAxis:
    seconds = run.at_s - run.at_s[0]
    scale, unit = next(
        (scale, unit)
        for scale, unit in ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
        if run.seconds >= 2.0 * scale or scale == 1.0
    )
    groups = np.array_split(np.arange(run.windows), min(run.windows, MAX_POINTS))
    return _TimeAxis(unit, seconds / scale, groups)


def _throughput_trace(run: History, time: _TimeAxis) -> Json:
    return trace(
        "throughput",
        time.x,
        time.thin(run.throughput_bytes_s / 1e6),
        hover=f"%{{x}} {time.unit}: %{{y}} MB/s",
        mode="lines",
        line={"color": WITHIN, "width": 2},
    )


def _average_trace(run: History, time: _TimeAxis) -> Json:
    """Return the average throughput under each plan as a dotted step line."""
    segments = Segments()
    cuts = [0, *(np.flatnonzero(np.diff(run.plans)) + 1).tolist(), run.windows]
    for begin, end in pairwise(cuts):
        mean = run.size_bytes[begin] / run.iteration_s[begin:end].mean() / 1e6
        # A window's place is its end.
        segments.add([time.places[max(0, begin - 1)], time.places[end - 1]], [mean, mean])
    line = {"color": INK, "width": 2, "dash": "dot"}
    return segments.trace("average with each plan", line, "average with a plan: %{y} MB/s")


def _decision_traces(run: History, time: _TimeAxis) -> list[Json]:
    """Return a plotly trace for each kind of the tuner's decisions, with their numbers."""
    number_of = {id(change): number for number, change in enumerate(run.changes, 1)}
    throughput = run.throughput_bytes_s / 1e6
    by_kind: dict[str, list[Change]] = {}
    for change in _marked_changes(run):
        by_kind.setdefault(change.what, []).append(change)
    return [
        trace(
            kind,
            [time.places[change.window] for change in changes],
            [throughput[change.window] for change in changes],
            hover=f"%{{text}}, {kind}: %{{customdata}}",
            mode="markers+text",
            text=[str(number_of[id(change)]) for change in changes],
            textposition="middle right",
            textfont={"color": INK},
            customdata=[change.reason for change in changes],
            marker={
                "symbol": _SYMBOLS.get(changes[0].action, _OTHER_SYMBOL),
                "size": 11,
                "color": BETWEEN,
                "line": {"color": INK, "width": 1},
            },
        )
        for kind, changes in by_kind.items()
    ]


def _marked_changes(run: History) -> Sequence[Change]:
    """Return the decisions to mark: all, or only changes of the plan, or the first ones."""
    if len(run.changes) <= MAX_MARKED:
        return run.changes
    return run.new_plans[:MAX_MARKED]


def _host_traces(run: History, time: _TimeAxis, values: Floats, y_axis: str) -> list[Json]:
    """Return a plotly line for each shown host, and a band for the others."""
    shown = shown_hosts(run)
    labels = short_names([f"{host}: {name}" for host, name in enumerate(run.hosts)])
    lines = [
        trace(
            labels[host],
            time.x,
            time.thin(values[:, host]),
            hover="%{y}|name",
            mode="lines+markers",
            legendgroup=f"host {host}",
            showlegend=y_axis == "y2",
            yaxis=y_axis,
            line={"color": group_colour(place), "width": 1.5, "dash": DASHES[place % len(DASHES)]},
            marker={"symbol": group_symbol(place), "size": 7, "maxdisplayed": 10 + place},
        )
        for place, host in enumerate(shown)
    ]
    others = np.setdiff1d(np.arange(len(run.hosts)), shown)
    return [*_band_traces(time, values[:, others], y_axis), *lines] if len(others) else lines


def _band_traces(time: _TimeAxis, values: Floats, y_axis: str) -> list[Json]:
    known = np.isfinite(values).any(axis=1)
    edges = (np.where(known, edge, np.nan) for edge in (values.min(axis=1), values.max(axis=1)))
    return [
        trace(
            "range of the other hosts",
            time.x,
            time.thin(edge),
            mode="lines",
            legendgroup="others",
            showlegend=y_axis == "y2" and place == 1,
            yaxis=y_axis,
            line={"color": NO_GROUP_COLOUR, "width": 0.5},
            fill="tonexty" if place else "none",
        )
        for place, edge in enumerate(edges)
    ]


def _line_across(place: float) -> Json:
    x = round_number(place)
    line = {"color": MUTED, "width": 1, "dash": "dash"}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _caption(run: History, has_rates: bool) -> str:
    marked = _marked_changes(run)
    text = (
        "Above, what the job reduces in a second: the line is each window, dotted the average with "
        "each plan. Dashed lines across are decisions, with their number in the table"
    )
    if len(marked) < len(run.changes):
        text += f" ({len(marked)} of {len(run.changes)} are drawn)"
    text += (
        ". Below, what every host sends to others in an iteration: hosts that are level share the "
        "work evenly."
    )
    if has_rates:
        text += " Last, what the tuner believed that each can carry, decided again from the log."
    if len(run.hosts) > MAX_HOSTS:
        text += (
            f" The {MAX_HOSTS} of {len(run.hosts)} hosts whose figures changed most have lines of "
            "their own."
        )
    if run.windows > MAX_POINTS:
        text += " A point is the median of several windows."
    return text


def _median(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")
