"""Report section on the quality of the measurement: missing pairs, losses, spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.base.text import share_text
from plink.formats.matrices import median_rows
from plink.formats.measurements import RttMeasurement, percentile_name
from plink.probes.echo.readings import DISTURBED
from plink.show.facts import failure_facts, known_values, rtt_facts
from plink.show.page.charts import BETWEEN, WITHIN, Json, axis, layout, line_style, trace
from plink.show.page.parts import Figure, Paragraph, Part, Section, facts_table
from plink.show.page.subject import Subject
from plink.show.summary import summarise
from plink.show.tables import capitalise

Vector = npt.NDArray[np.float64]

# What is smaller stands at the left edge of a logarithmic axis.
_LEAST_PERCENT = 0.01
_POINTS = 120
_FEW = 64


def quality_section(subject: Subject) -> Section | None:
    """Return the report's section on gaps and spread of readings; None without any."""
    cluster = subject.cluster
    if cluster is None or cluster.rtt is None or subject.distances is None:
        return None
    rtt = cluster.rtt
    facts = rtt_facts(summarise(cluster.names, rtt, rtt.reading))
    facts += failure_facts("failed", rtt.failures)
    facts += failure_facts("no answer", cluster.unreachable)
    known = known_values(rtt.disturbance) if rtt.disturbance is not None else np.empty(0)
    if known.size:
        disturbed = int((known >= DISTURBED).sum())
        text = f"{disturbed:,} of {known.size:,} directions by other work on their hosts"
        facts.append(("disturbed", [text if disturbed else "none"]))
    parts: list[Part] = [facts_table("The measurement in numbers", facts)]
    parts += [Paragraph(capitalise(note), is_note=True) for note in rtt.notes]
    curves = spreads(rtt)
    if curves:
        parts += [_draw_curves(curves), host_dots(subject, rtt)]
    else:
        parts.append(
            Paragraph("Only one percentile of one direction is known: no spread can be shown.")
        )
    return Section("quality", "Quality of the measurement", parts)


def spreads(rtt: RttMeasurement) -> list[tuple[str, Vector]]:
    """Return measures of the relative spread of every pair's readings, each with its title.

    How far other percentiles are above the reading; how much the two directions of a pair differ;
    how much its passes disagree, or how far its confidence interval reaches.
    """
    candidates = [
        (_name_excess(rtt, percentile), _compute_excess(rtt.rtt_us[percentile], rtt.readings_us))
        for percentile in sorted(rtt.rtt_us)
        if percentile > rtt.reading
    ]
    one_of_both = np.where(np.tri(len(rtt.readings_us), dtype=bool), np.nan, _compare_ways(rtt))
    candidates.append(("between the two directions", one_of_both))
    if rtt.precision_percent is not None:
        of = "95 % interval of the reading" if rtt.passes is None else "between passes"
        candidates.append((of, rtt.precision_percent / 100.0))
    known = [(title, known_values(values)) for title, values in candidates]
    return [(title, values) for title, values in known if (values > 0.0).any()]


def _name_excess(rtt: RttMeasurement, percentile: float) -> str:
    return f"{percentile_name(percentile)} above {percentile_name(rtt.reading)}"


def _compute_excess(matrix: Vector, readings: Vector) -> Vector:
    """Return by what share of the readings other values exceed them; NaN where unknown."""
    excess = np.full(readings.shape, np.nan)
    np.divide(matrix - readings, readings, out=excess, where=readings > 0.0)
    return excess


def _compare_ways(rtt: RttMeasurement) -> Vector:
    """Return the relative difference of each pair's two directions, (N, N); NaN if unknown."""
    both = rtt.readings_us, rtt.readings_us.T
    return _compute_excess(np.maximum(*both), np.minimum(*both))


def _draw_curves(curves: Sequence[tuple[str, Vector]]) -> Figure:
    """Return the figure of cumulative shares of pairs by relative spread."""
    shares = np.linspace(0.0, 1.0, _POINTS)
    traces = [
        trace(
            title,
            np.maximum(_LEAST_PERCENT, 100.0 * np.quantile(values, shares)),
            100.0 * shares,
            hover="%{y:.0f} % of pairs: at most %{x} %|name",
            mode="lines",
            line=line_style(number),
        )
        for number, (title, values) in enumerate(curves)
    ]
    medians = (f"{title} median {share_text(np.median(values))}" for title, values in curves)
    return Figure(
        "spread",
        traces,
        layout(
            axis("off by at most, share of the reading", unit="%", type="log", dtick=1),
            axis("of all pairs", unit="%", range=[0, 101]),
        ),
        360,
        "Further to the left is better. A curve says for which share of pairs readings are "
        "off by no more than that. Differences between near and far hosts should be well to the "
        "right of it: distances that differ by less than the directions of one pair do are noise.",
        f"cumulative shares of pairs by spread: {', '.join(medians)}",
    )


def host_dots(subject: Subject, rtt: RttMeasurement) -> Figure:
    """Return the figure of each host's median spread and, if any, share of losses."""
    most = max(rtt.rtt_us)
    title, matrix = "between directions", _compare_ways(rtt)
    if most > rtt.reading:
        title, matrix = _name_excess(rtt, most), _compute_excess(rtt.rtt_us[most], rtt.readings_us)
    dots = [(title, WITHIN, median_rows(np.hstack([matrix, matrix.T])))]
    if rtt.losses.any():
        lost = rtt.losses.sum(axis=0) + rtt.losses.sum(axis=1)
        sent = lost + rtt.samples.sum(axis=0) + rtt.samples.sum(axis=1)
        dots.append(("losses", BETWEEN, np.where(sent > 0, lost / np.maximum(sent, 1), np.nan)))
    sequence = list(subject.sequence)
    domains = [[0.45, 1.0], [0.0, 0.33]] if len(dots) > 1 else [[0.0, 1.0]]
    traces: list[Json] = []
    axes: Json = {}
    for number, ((title, colour, shares), domain) in enumerate(zip(dots, domains, strict=True)):
        name = "2" if number else ""
        dot = trace(
            title,
            range(len(sequence)),
            100.0 * shares[sequence],
            hover="%{text}: %{y} %|name",
            mode="markers",
            text=[subject.labels[host] for host in sequence],
            marker={"color": colour, "size": 8 if len(sequence) <= _FEW else 5},
            yaxis=f"y{name}",
        )
        traces.append(dot)
        axes[f"yaxis{name}"] = axis(
            title, unit="%", rangemode="tozero", nticks=5, domain=domain, zeroline=True
        )
    hosts = axis(
        "hosts, in the order of the heat map",
        showgrid=False,
        showticklabels=False,
        anchor="free",
        position=0.0,
    )
    return Figure(
        "noisy-hosts",
        traces,
        layout(hosts, axes.pop("yaxis"), legend=None, **axes),
        360 if len(traces) > 1 else 260,
        "A dot is a host: the median over its pairs of how far its readings spread, and the share "
        "of its probes that was lost. One far above the others is busy, or its link is bad.",
        f"spread and losses of {len(subject.names)} hosts",
    )
