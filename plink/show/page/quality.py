"""Report section on the quality of the measurement: missing pairs, losses, spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.text import share_text
from plink.files.measurements import RttMeasurement, percentile_name
from plink.probes.echo.readings import DISTURBED
from plink.show.facts import failure_facts, note_facts, rtt_facts
from plink.show.page.parts import (
    BETWEEN,
    LINE,
    WITHIN,
    Figure,
    Paragraph,
    Part,
    Section,
    facts_table,
    round_to_digits,
)
from plink.show.page.subject import Subject
from plink.show.summary import summarise
from plink.show.tables import Fact, capitalise

Vector = npt.NDArray[np.float64]

# What is smaller stands at the left edge of a logarithmic axis.
_LEAST_PERCENT = 0.01
_POINTS = 120
_FEW = 64
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def quality_section(subject: Subject) -> Section | None:
    """Return the section on gaps and spread; None where nothing was measured."""
    cluster = subject.cluster
    if cluster is None or cluster.rtt is None or subject.distances is None:
        return None
    rtt = cluster.rtt
    summary = summarise(cluster.names, rtt, rtt.reading)
    facts = [
        *rtt_facts(summary),
        *failure_facts("failed", rtt.failures),
        *failure_facts("no answer", cluster.unreachable),
        *_disturbance_facts(rtt),
    ]
    parts: list[Part] = [facts_table("The measurement in numbers", facts)]
    parts += [
        Paragraph(capitalise(line), is_note=True) for _, lines in note_facts(rtt) for line in lines
    ]
    curves = spreads(rtt)
    if curves:
        parts += [spread_curves(curves), host_dots(subject, rtt)]
    else:
        parts.append(
            Paragraph("Only one percentile of one direction is known: no spread can be shown.")
        )
    return Section("quality", "Quality of the measurement", parts)


def spreads(rtt: RttMeasurement) -> list[tuple[str, Vector]]:
    """Return the relative spreads of readings over all pairs, each with a title.

    How far other percentiles are above the reading; how much the two directions of a pair differ;
    how much its passes disagree, or how far its confidence interval reaches.
    """
    readings = rtt.readings_us
    name = percentile_name(rtt.reading)
    found = [
        (f"{percentile_name(percentile)} above {name}", above(rtt.rtt_us[percentile], readings))
        for percentile in sorted(rtt.rtt_us)
        if percentile > rtt.reading
    ]
    least = np.fmin(readings, readings.T)
    differences = above(np.triu(np.fmax(readings, readings.T), 1), np.triu(least, 1))
    both = np.isfinite(readings) & np.isfinite(readings.T)
    found.append(("between the two directions", np.where(np.triu(both, 1), differences, np.nan)))
    if rtt.precision_percent is not None:
        of = "95 % interval of the reading" if rtt.passes is None else "between passes"
        found.append((of, rtt.precision_percent / 100.0))
    return [
        (title, values[np.isfinite(values)])
        for title, values in found
        if np.isfinite(values).any() and (values[np.isfinite(values)] > 0.0).any()
    ]


def above(matrix: Vector, readings: Vector) -> Vector:
    """Return how far values exceed the readings, as a share of them; NaN where unknown."""
    found = np.full(readings.shape, np.nan)
    np.divide(matrix - readings, readings, out=found, where=readings > 0.0)
    return found


def spread_curves(curves: Sequence[tuple[str, Vector]]) -> Figure:
    """Return, for each kind of error, the cumulative share of pairs below an error."""
    shares = np.linspace(0.0, 1.0, _POINTS)
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": title,
            "x": [
                round_to_digits(max(_LEAST_PERCENT, 100.0 * value))
                for value in np.quantile(values, shares)
            ],
            "y": [round_to_digits(100.0 * share) for share in shares],
            "line": {
                "color": _COLOURS[number % len(_COLOURS)],
                "dash": _DASHES[number % len(_DASHES)],
                "width": 2,
            },
            "hovertemplate": "%{y:.0f} % of pairs: at most %{x} %<extra>%{fullData.name}</extra>",
        }
        for number, (title, values) in enumerate(curves)
    ]
    return Figure(
        "spread",
        traces,
        {
            "xaxis": {
                "type": "log",
                "title": {"text": "off by at most, share of the reading"},
                "ticksuffix": " %",
                "gridcolor": LINE,
                "dtick": 1,
            },
            "yaxis": {
                "title": {"text": "of all pairs"},
                "ticksuffix": " %",
                "range": [0, 101],
                "gridcolor": LINE,
            },
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            "showlegend": True,
            "hovermode": "closest",
        },
        360,
        "Further to the left is better. A curve says for which share of pairs readings are off by "
        "no more than that. Differences between near and far hosts should be well to the right "
        "of it: distances that differ by less than the directions of one pair do are noise.",
        "cumulative shares of pairs by spread: "
        + ", ".join(f"{title} median {share_text(np.median(v))}" for title, v in curves),
    )


def host_dots(subject: Subject, rtt: RttMeasurement) -> Figure:
    """Return each host's median spread, and its share of losses if there are any."""
    most = max(rtt.rtt_us)
    readings = rtt.readings_us
    if most > rtt.reading:
        title = f"{percentile_name(most)} above {percentile_name(rtt.reading)}"
        matrix = above(rtt.rtt_us[most], readings)
    else:
        title = "between directions"
        matrix = above(np.fmax(readings, readings.T), np.fmin(readings, readings.T))
    axis = {"ticksuffix": " %", "rangemode": "tozero", "gridcolor": LINE, "nticks": 5}
    layout: dict[str, Any] = {
        "xaxis": {
            "title": {"text": "hosts, in the order of the heat map"},
            "showgrid": False,
            "zeroline": False,
            "showticklabels": False,
            "anchor": "free",
            "position": 0.0,
        },
        "yaxis": {**axis, "title": {"text": title}},
        "showlegend": False,
        "hovermode": "closest",
    }
    traces = [_dots(subject, title, "y", WITHIN, _medians(matrix))]
    if rtt.losses.any():
        traces.append(_dots(subject, "losses", "y2", BETWEEN, _loss_shares(rtt)))
        layout["yaxis"]["domain"] = [0.45, 1.0]
        layout["yaxis2"] = {**axis, "domain": [0.0, 0.33], "title": {"text": "losses"}}
    return Figure(
        "noisy-hosts",
        traces,
        layout,
        360 if len(traces) > 1 else 260,
        "A dot is a host: the median over its pairs of how far its readings spread, and the share "
        "of its probes that was lost. One far above the others is busy, or its link is bad.",
        f"spread and losses of {len(subject.names)} hosts",
    )


def _dots(subject: Subject, title: str, axis: str, colour: str, values: Vector) -> dict[str, Any]:
    """Return one dot per host; `values` are shares, NaN where unknown."""
    sequence = subject.sequence
    return {
        "type": "scatter",
        "mode": "markers",
        "name": title,
        "yaxis": axis,
        "x": list(range(len(sequence))),
        "y": [_percent(values[host]) for host in sequence],
        "text": [subject.labels[host] for host in sequence],
        "marker": {"color": colour, "size": 8 if len(sequence) <= _FEW else 5},
        "hovertemplate": "%{text}: %{y} %<extra>%{fullData.name}</extra>",
    }


def _medians(matrix: Vector) -> Vector:
    """Return the median of all pairs of a host in either direction, (N,); NaN without any."""
    found = np.full(len(matrix), np.nan)
    for host in range(len(matrix)):
        values = np.concatenate([matrix[host], matrix[:, host]])
        known = values[np.isfinite(values)]
        if known.size:
            found[host] = np.median(known)
    return found


def _loss_shares(rtt: RttMeasurement) -> Vector:
    lost = rtt.losses.sum(axis=0) + rtt.losses.sum(axis=1)
    sent = lost + rtt.samples.sum(axis=0) + rtt.samples.sum(axis=1)
    found: Vector = np.where(sent > 0, lost / np.maximum(sent, 1), np.nan)
    return found


def _percent(value: Any) -> float | None:
    return None if np.isnan(value) else round_to_digits(100.0 * float(value))


def _disturbance_facts(rtt: RttMeasurement) -> list[Fact]:
    if rtt.disturbance is None or not np.isfinite(rtt.disturbance).any():
        return []
    known = rtt.disturbance[np.isfinite(rtt.disturbance)]
    disturbed = int((known >= DISTURBED).sum())
    text = f"{disturbed:,} of {known.size:,} directions by other work on their hosts"
    return [("disturbed", [text if disturbed else "none"])]
