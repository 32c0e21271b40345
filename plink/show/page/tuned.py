"""Report sections on a tuned run, with the figure of its throughput, plans, loads and rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from plink import __version__
from plink.autotune.log.history import Change, History
from plink.autotune.tuner.interface import Action
from plink.base.text import bandwidth_text, bytes_text, format_count
from plink.formats.matrices import median_rows
from plink.show.facts import known_values
from plink.show.page import charts
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
_TIME_UNITS = ((3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def tuned_sections(run: History, sources: Sequence[str]) -> list[Section]:
    """Return the report's sections on a job's run, read from logs called `sources`."""
    sections = [Section("overview", "Overview", [facts_table("The essentials", run_facts(run))])]
    if run.windows:
        parts: list[Part] = [run_figure(run)]
        if run.is_replayed is False:
            text = (
                "The log has other decisions than this version of plink makes on what was "
                "measured, so that what hosts were believed to carry is known only up to there."
            )
            parts.insert(0, Paragraph(text, is_note=True))
        sections.append(Section("run", "The run", parts))
    decisions: Part = Paragraph("None: the plan stayed as it was.")
    if run.changes:
        caption = (
            "Every decision but to wait. Iterations are medians of up to three windows with the "
            "plan before, and with the one after."
        )
        decisions = table(caption, decision_columns(run), numbered_decisions(run))
    facts: list[Fact] = [("plink", [__version__]), *(("log", [source]) for source in sources)]
    origin = facts_table("Files and tools", [*facts, *option_facts(run)], "how")
    return [
        *sections,
        Section("decisions", "Decisions", [decisions]),
        Section("hosts", "Hosts", [_tabulate_hosts(run)]),
        Section("origin", "Made from", [origin]),
    ]


def _tabulate_hosts(run: History) -> Table:
    """Return the table of each host's traffic and estimated rate, at first and last."""
    rows = []
    for host, name in enumerate(run.hosts):
        sent = run.sent_bytes[[0, -1], host] if run.windows else (0.0, 0.0)
        known = 8e-9 * known_values(run.rates_bytes_s[:, host])
        rates = [known.min(), known[-1]] if known.size else []
        believed = [bandwidth_text(float(rate)) for rate in rates] or ["", ""]
        rows.append((f"{host} {name}", *(bytes_text(float(each)) for each in sent), *believed))
    caption = "What each sends to others in an iteration, and what it was believed to carry."
    header = ("host", "sent at first", "sent at the end", "believed at least", "at last")
    return Table(caption, header, rows, numbers=(1, 2, 3, 4))


def run_figure(run: History) -> Figure:
    """Return the figure of a run in the form of Luo 2020, Fig. 6.15, with loads and rates below."""
    scale, unit = next(
        (scale, unit) for scale, unit in _TIME_UNITS if run.seconds >= 2.0 * scale or scale == 1.0
    )
    places = (run.at_s - run.at_s[0]) / scale
    groups = np.array_split(np.arange(run.windows), min(run.windows, MAX_POINTS))

    def thin(values: charts.Floats) -> list[float]:
        """Reduce values by window to the points of the figure's time axis, by medians."""
        return [float(median_rows(values[group])) for group in groups]

    panels = [("sent, MB an iteration", run.sent_bytes / 1e6)]
    domains = [[0.5, 1.0], [0.0, 0.42]]
    if np.isfinite(run.rates_bytes_s).any():
        panels.append(("believed, Gbit/s", run.rates_bytes_s * 8e-9))
        domains = [[0.62, 1.0], [0.33, 0.56], [0.0, 0.27]]
    rates = run.throughput_bytes_s / 1e6
    throughput = charts.trace(
        "throughput",
        thin(places),
        thin(rates),
        hover=f"%{{x}} {unit}: %{{y}} MB/s",
        mode="lines",
        line={"color": charts.WITHIN, "width": 2},
    )
    traces = [throughput, _average_trace(run, places), *_decision_traces(run, places)]
    more: charts.Json = {}
    for number, (title, values) in enumerate(panels, 2):
        traces += _host_traces(run, thin, places, values, f"y{number}")
        more[f"yaxis{number}"] = charts.axis(title, rangemode="tozero", domain=domains[number - 1])
    lines = charts.round_numbers(places[change.window] for change in _marked_changes(run))
    style = {"color": charts.MUTED, "width": 1, "dash": "dash"}
    return Figure(
        "tuned",
        traces,
        charts.layout(
            charts.axis(f"{unit} since the first window", anchor=f"y{len(panels) + 1}"),
            charts.axis("reduced, MB/s", rangemode="tozero", domain=domains[0]),
            shapes=[
                {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x, "line": style}
                for x in lines
            ],
            **more,
        ),
        820,
        _describe_figure(run),
        f"throughput of {format_count(run.windows, 'window')}, {rates.min():,.1f} to "
        f"{rates.max():,.1f} MB/s, with {format_count(len(run.changes), 'decision')}, and the load "
        f"of {format_count(len(run.hosts), 'host')}",
    )


def shown_hosts(run: History) -> list[int]:
    """Return the indices of the hosts whose load or rate changed most."""
    changed = np.zeros(len(run.hosts))
    for values in (run.sent_bytes, run.rates_bytes_s):
        known = np.where(np.isfinite(values), values, np.nan)
        least, most = np.fmin.reduce(known, initial=np.inf), np.fmax.reduce(known, initial=-np.inf)
        spread = np.where(most >= least, most - least, 0.0)
        changed += spread / (float(most.max(initial=0.0)) or 1.0)
    return sorted(np.argsort(-changed, kind="stable")[:MAX_HOSTS].tolist())


def _average_trace(run: History, places: charts.Floats) -> charts.Json:
    """Return the plotly trace of the average throughput under each plan, a dotted step line."""
    segments = charts.Segments()
    cuts = [0, *(np.flatnonzero(np.diff(run.plans)) + 1).tolist(), run.windows]
    for begin, end in pairwise(cuts):
        mean = run.size_bytes[begin] / run.iteration_s[begin:end].mean() / 1e6
        # A window's place is its end.
        segments.add([places[max(0, begin - 1)], places[end - 1]], [mean, mean])
    line = {"color": charts.INK, "width": 2, "dash": "dot"}
    return segments.trace("average with each plan", line, "average with a plan: %{y} MB/s")


def _decision_traces(run: History, places: charts.Floats) -> list[charts.Json]:
    """Return a plotly trace for each kind of the tuner's decisions, with their numbers."""
    number_of = {id(change): number for number, change in enumerate(run.changes, 1)}
    by_kind: dict[str, list[Change]] = {}
    for change in _marked_changes(run):
        by_kind.setdefault(change.what, []).append(change)
    return [
        charts.trace(
            kind,
            [places[change.window] for change in changes],
            [run.throughput_bytes_s[change.window] / 1e6 for change in changes],
            hover=f"%{{text}}, {kind}: %{{customdata}}",
            mode="markers+text",
            text=[str(number_of[id(change)]) for change in changes],
            textposition="middle right",
            textfont={"color": charts.INK},
            customdata=[change.reason for change in changes],
            marker={
                "symbol": _SYMBOLS.get(changes[0].action, _OTHER_SYMBOL),
                "size": 11,
                "color": charts.BETWEEN,
                "line": {"color": charts.INK, "width": 1},
            },
        )
        for kind, changes in by_kind.items()
    ]


def _marked_changes(run: History) -> Sequence[Change]:
    """Return the decisions to mark in a figure: all, or if too many the first new plans."""
    return run.changes if len(run.changes) <= MAX_MARKED else run.new_plans[:MAX_MARKED]


def _host_traces(
    run: History,
    thin: Callable[[charts.Floats], list[float]],
    places: charts.Floats,
    values: charts.Floats,
    y_axis: str,
) -> list[charts.Json]:
    """Return a plotly trace of a value for each shown host, and of a band for the others."""
    shown = shown_hosts(run)
    labels = charts.short_names([f"{host}: {name}" for host, name in enumerate(run.hosts)])
    traces = []
    others = np.setdiff1d(np.arange(len(run.hosts)), shown)
    edges = (values[:, others].min(axis=1), values[:, others].max(axis=1)) if len(others) else ()
    for number, edge in enumerate(edges):
        band = charts.trace(
            "range of the other hosts",
            thin(places),
            thin(edge),
            mode="lines",
            legendgroup="others",
            showlegend=y_axis == "y2" and number == 1,
            yaxis=y_axis,
            line={"color": charts.NO_GROUP_COLOUR, "width": 0.5},
            fill="tonexty" if number else "none",
        )
        traces.append(band)
    for number, host in enumerate(shown):
        line = charts.trace(
            labels[host],
            thin(places),
            thin(values[:, host]),
            hover="%{y}|name",
            mode="lines+markers",
            legendgroup=f"host {host}",
            showlegend=y_axis == "y2",
            yaxis=y_axis,
            line=charts.line_style(number, 1.5),
            marker={"symbol": charts.group_symbol(number), "size": 7, "maxdisplayed": 10 + number},
        )
        traces.append(line)
    return traces


def _describe_figure(run: History) -> str:
    text = (
        "Above, what the job reduces in a second: the line is each window, dotted the average with "
        "each plan. Dashed lines across are decisions, with their number in the table"
    )
    marked = len(_marked_changes(run))
    if marked < len(run.changes):
        text += f" ({marked} of {len(run.changes)} are drawn)"
    text += (
        ". Below, what every host sends to others in an iteration: hosts that are level share the "
        "work evenly."
    )
    if np.isfinite(run.rates_bytes_s).any():
        text += " Last, what the tuner believed that each can carry, decided again from the log."
    if len(run.hosts) > MAX_HOSTS:
        text += (
            f" The {MAX_HOSTS} of {len(run.hosts)} hosts whose figures changed most have lines of "
            "their own."
        )
    if run.windows > MAX_POINTS:
        text += " A point is the median of several windows."
    return text
