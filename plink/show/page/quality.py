"""Report section on the quality of the measurement: missing pairs, losses, spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.base.text import share_text
from plink.formats.measurements import RttMeasurement, percentile_name
from plink.probes.echo.readings import DISTURBED
from plink.show.facts import failure_facts, note_facts, rtt_facts
from plink.show.page.charts import (
    BETWEEN,
    COLOURS,
    DASHES,
    WITHIN,
    Json,
    axis,
    figure,
    trace,
)
from plink.show.page.parts import Figure, Paragraph, Part, Section, facts_table
from plink.show.page.subject import Subject
from plink.show.summary import summarise
from plink.show.tables import Fact, capitalise

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
    """Return the relative spread of every pair's readings, by several measures with titles.

    How far other percentiles are above the reading; how much the two directions of a pair differ;
    how much its passes disagree, or how far its confidence interval reaches.
    """
    readings = rtt.readings_us
    reading = percentile_name(rtt.reading)
    candidates = [
        (
            f"{percentile_name(percentile)} above {reading}",
            compute_excess(rtt.rtt_us[percentile], readings),
        )
        for percentile in sorted(rtt.rtt_us)
        if percentile > rtt.reading
    ]
    least = np.fmin(readings, readings.T)
    differences = compute_excess(np.triu(np.fmax(readings, readings.T), 1), np.triu(least, 1))
    both = np.isfinite(readings) & np.isfinite(readings.T)
    candidates.append(
        ("between the two directions", np.where(np.triu(both, 1), differences, np.nan))
    )
    if rtt.precision_percent is not None:
        of = "95 % interval of the reading" if rtt.passes is None else "between passes"
        candidates.append((of, rtt.precision_percent / 100.0))
    return [
        (title, values[np.isfinite(values)])
        for title, values in candidates
        if np.isfinite(values).any() and (values[np.isfinite(values)] > 0.0).any()
    ]


def compute_excess(matrix: Vector, readings: Vector) -> Vector:
    """Return by which share values exceed the readings; NaN where unknown."""
    excess = np.full(readings.shape, np.nan)
    np.divide(matrix - readings, readings, out=excess, where=readings > 0.0)
    return excess


def spread_curves(curves: Sequence[tuple[str, Vector]]) -> Figure:
    """Return the figure of cumulative shares of pairs by relative spread."""
    shares = np.linspace(0.0, 1.0, _POINTS)
    traces = [
        trace(
            title,
            np.maximum(_LEAST_PERCENT, 100.0 * np.quantile(values, shares)),
            100.0 * shares,
            hover="%{y:.0f} % of pairs: at most %{x} %|name",
            mode="lines",
            line={
                "color": COLOURS[number % len(COLOURS)],
                "dash": DASHES[number % len(DASHES)],
                "width": 2,
            },
        )
        for number, (title, values) in enumerate(curves)
    ]
    return figure(
        "spread",
        traces,
        axis("off by at most, share of the reading", unit="%", type="log", dtick=1),
        axis("of all pairs", unit="%", range=[0, 101]),
        caption="Further to the left is better. A curve says for which share of pairs readings are "
        "off by no more than that. Differences between near and far hosts should be well to the "
        "right of it: distances that differ by less than the directions of one pair do are noise.",
        description="cumulative shares of pairs by spread: "
        + ", ".join(f"{title} median {share_text(np.median(v))}" for title, v in curves),
        height_px=360,
    )


def host_dots(subject: Subject, rtt: RttMeasurement) -> Figure:
    """Return the figure of each host's median spread and, if any, share of losses."""
    most = max(rtt.rtt_us)
    readings = rtt.readings_us
    title, matrix = (
        "between directions",
        compute_excess(np.fmax(readings, readings.T), np.fmin(readings, readings.T)),
    )
    if most > rtt.reading:
        title = f"{percentile_name(most)} above {percentile_name(rtt.reading)}"
        matrix = compute_excess(rtt.rtt_us[most], readings)
    dots = [(title, WITHIN, _medians(matrix))]
    if rtt.losses.any():
        dots.append(("losses", BETWEEN, _loss_shares(rtt)))
    sequence = list(subject.sequence)
    traces = [
        trace(
            title,
            range(len(sequence)),
            100.0 * shares[sequence],
            hover="%{text}: %{y} %|name",
            mode="markers",
            text=[subject.labels[host] for host in sequence],
            marker={"color": colour, "size": 8 if len(sequence) <= _FEW else 5},
            yaxis=f"y{'' if number == 1 else number}",
        )
        for number, (title, colour, shares) in enumerate(dots, 1)
    ]
    domains = [[0.45, 1.0], [0.0, 0.33]] if len(dots) > 1 else [[0.0, 1.0]]
    axes = [
        axis(title, unit="%", rangemode="tozero", nticks=5, domain=domain, zeroline=True)
        for (title, _, _), domain in zip(dots, domains, strict=True)
    ]
    more: Json = {"yaxis2": axes[1]} if len(axes) > 1 else {}
    return figure(
        "noisy-hosts",
        traces,
        axis(
            "hosts, in the order of the heat map",
            showgrid=False,
            showticklabels=False,
            anchor="free",
            position=0.0,
        ),
        axes[0],
        caption="A dot is a host: the median over its pairs of how far its readings spread, and "
        "the share of its probes that was lost. One far above the others is busy, or its link is "
        "bad.",
        description=f"spread and losses of {len(subject.names)} hosts",
        height_px=360 if len(traces) > 1 else 260,
        legend=None,
        **more,
    )


def _medians(matrix: Vector) -> Vector:
    """Return the median of all pairs of a host in either direction, (N,); NaN without any."""
    medians = np.full(len(matrix), np.nan)
    for host in range(len(matrix)):
        values = np.concatenate([matrix[host], matrix[:, host]])
        known = values[np.isfinite(values)]
        if known.size:
            medians[host] = np.median(known)
    return medians


def _loss_shares(rtt: RttMeasurement) -> Vector:
    lost = rtt.losses.sum(axis=0) + rtt.losses.sum(axis=1)
    sent = lost + rtt.samples.sum(axis=0) + rtt.samples.sum(axis=1)
    shares: Vector = np.where(sent > 0, lost / np.maximum(sent, 1), np.nan)
    return shares


def _disturbance_facts(rtt: RttMeasurement) -> list[Fact]:
    if rtt.disturbance is None or not np.isfinite(rtt.disturbance).any():
        return []
    known = rtt.disturbance[np.isfinite(rtt.disturbance)]
    disturbed = int((known >= DISTURBED).sum())
    text = f"{disturbed:,} of {known.size:,} directions by other work on their hosts"
    return [("disturbed", [text if disturbed else "none"])]
