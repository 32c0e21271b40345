"""First and last sections of a report: essentials, next steps, sources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink import __version__
from plink.base.text import bandwidth_text, format_count, range_text, rtt_text, share_text
from plink.files.groups import Uplink
from plink.files.measurements import BandwidthMeasurement, Measurement, percentile_name
from plink.show.facts import how_measured
from plink.show.findings import next_steps
from plink.show.orders import has_bound, purpose_text
from plink.show.page.finding import finding
from plink.show.page.parts import NextSteps, Paragraph, Part, Section, Table
from plink.show.page.subject import NamedOrder, Subject
from plink.show.summary import oversubscription


def overview_section(subject: Subject) -> Section:
    """Return the section with the main finding, the advice and the essentials."""
    return Section(
        "overview",
        "In short",
        [
            Paragraph(finding(subject), is_lead=True),
            Table("The essentials", ("what", "found"), facts_of(subject)),
        ],
    )


def next_section(subject: Subject) -> Section:
    """Return the section with the next steps and their commands."""
    steps = next_steps(
        subject.cluster,
        subject.source,
        [(named.source, named.order) for named in subject.orders],
    )
    parts: list[Part] = [
        NextSteps([(step.text, step.command) for step in steps]),
        Paragraph("Run these in the folder that holds the files; the page does not say which."),
    ]
    if not steps:
        parts = [Paragraph("Nothing: all that this report shows is known.")]
    return Section("next", "What to do next", parts)


def origin_section(subject: Subject) -> Section:
    """Return the section on files, measuring tools and the version of plink."""
    rows = [("plink", __version__)]
    cluster = subject.cluster
    if cluster is not None:
        rows.append(("cluster", str(subject.source)))
        measurements: Sequence[tuple[str, Measurement | None]] = (
            ("round trips", cluster.rtt),
            ("bandwidth", cluster.bandwidth),
            ("uplinks", cluster.uplinks),
            ("routes", cluster.routes),
        )
        rows += [(title, how_measured(found)) for title, found in measurements if found is not None]
    rows += [
        (
            "order",
            _found_by(named),
        )
        for named in subject.orders
    ]
    return Section("origin", "Made from", [Table("Files and tools", ("what", "how"), rows)])


def facts_of(subject: Subject) -> list[tuple[str, str]]:
    """Return a label and a sentence for each known fact."""
    cluster = subject.cluster
    rows = [("hosts", f"{len(subject.names):,}")]
    if cluster is not None and cluster.unreachable:
        rows.append(("unreachable", format_count(len(cluster.unreachable), "host")))
    if cluster is not None and cluster.rtt is not None and subject.distances is not None:
        values = cluster.rtt.readings_us[np.isfinite(cluster.rtt.readings_us)]
        size = len(subject.names)
        reading = percentile_name(cluster.rtt.reading)
        spread = f"{rtt_text(values.min())} to {rtt_text(values.max())} ({reading})"
        measured = f"{values.size:,} of {format_count(size * (size - 1), 'direction')} measured"
        rows.append(("round trips", f"{spread}, {measured}"))
    if cluster is not None and cluster.bandwidth is not None:
        rows += [("bandwidth", text) for text in _bandwidth(cluster.bandwidth)]
    if cluster is not None and cluster.uplinks is not None:
        rows += [("uplinks", text) for text in _uplinks(cluster.uplinks.uplinks)]
    rows.append(("groups", _groups(subject)))
    rows += [
        ("order", _gain_sentence(named)) for named in subject.orders if named.order.cost.random_us
    ]
    return rows


def _bandwidth(bandwidth: BandwidthMeasurement) -> list[str]:
    values = bandwidth.gbit_s[np.isfinite(bandwidth.gbit_s)]
    if not values.size:
        return []
    size = len(bandwidth.gbit_s)
    spread = f"{bandwidth_text(float(values.min()))} to {bandwidth_text(float(values.max()))}"
    return [f"{spread}, {values.size:,} of {format_count(size * (size - 1), 'direction')} measured"]


def _uplinks(uplinks: Sequence[Uplink]) -> list[str]:
    rates = [
        rate
        for uplink in uplinks
        for rate in (uplink.send_gbit_s, uplink.receive_gbit_s)
        if rate is not None
    ]
    if not rates:
        return []
    ratios = [ratio for uplink in uplinks if (ratio := oversubscription(uplink)) is not None]
    times = f", oversubscribed up to {max(ratios):.1f}:1" if ratios else ""
    return [f"{bandwidth_text(min(rates))} to {bandwidth_text(max(rates))}{times}"]


def _gain_sentence(named: NamedOrder) -> str:
    order = named.order
    cost, least = (
        share_text(part / order.cost.random_us)
        for part in (order.cost.cost_us, order.cost.lower_bound_us)
    )
    measure = "latency score" if order.is_score else "predicted cost"
    bound = f"lower bound {least}" if has_bound(order) else "no lower bound known"
    if order.cost.range_us is not None:
        limits_us = order.cost.range_us
        bound = (
            f"{bound}; the {order.cost_name} is {range_text(limits_us.low_us, limits_us.high_us)}"
        )
    return f"{named.source}: {purpose_text(order)}, {cost} of a random order's {measure}, {bound}"


def _found_by(named: NamedOrder) -> str:
    solver = named.order.solver
    return (
        f"{named.source}: {solver.name}, seed {solver.seed}, {named.order.seconds:.2f} s, ended by "
        f"{solver.ended_by}"
    )


def _groups(subject: Subject) -> str:
    if not subject.groups:
        cluster = subject.cluster
        looked = cluster is not None and cluster.grouping is not None
        return "none found" if looked else "not known yet"
    sizes = [len(group.hosts) for group in subject.groups]
    spread = str(sizes[0]) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    lone = len(subject.names) - sum(sizes)
    without = f", {format_count(lone, 'host')} in no group" if lone else ""
    return f"{len(sizes)} of {spread} hosts{without}"
