"""Report: its title and sections in order, with the essentials, next steps and sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plink import __version__
from plink.autotune.log.history import History
from plink.base.text import bandwidth_text, format_count, range_text, rtt_text, share_text
from plink.formats.groups import Uplink
from plink.formats.measurements import Measurement, percentile_name
from plink.show.advice import next_steps
from plink.show.facts import describe_measurement, directions_text, known_values
from plink.show.orders import has_bound, purpose_text
from plink.show.page.bandwidth import bandwidth_section
from plink.show.page.groups import groups_section
from plink.show.page.main_finding import group_sizes, groups_text, main_finding
from plink.show.page.matrix import distances_section
from plink.show.page.orders import costs_section, ring_section
from plink.show.page.parts import AdviceList, Paragraph, Section, facts_table
from plink.show.page.points import map_section
from plink.show.page.quality import quality_section
from plink.show.page.subject import NamedOrder, Subject
from plink.show.page.timeline import timeline_sections
from plink.show.page.tuned import tuned_sections
from plink.show.summary import oversubscription
from plink.show.tables import Fact
from plink.training.timeline.merging import Timeline


def report(
    subject: Subject | History | Timeline, sources: Sequence[str]
) -> tuple[str, list[Section]]:
    """Return the title and sections of a report on a subject.

    Args:
        subject: what it is about.
        sources: the files that it was read from, as the report calls them.
    """
    if isinstance(subject, History):
        hosts = format_count(len(subject.hosts), "host")
        return f"plink autotune: {hosts}, {', '.join(sources)}", tuned_sections(subject, sources)
    if isinstance(subject, Timeline):
        ranks = format_count(len(subject.ranks), "rank")
        return f"plink timeline: {ranks}", timeline_sections(subject, sources)
    source = subject.source or ", ".join(named.source for named in subject.orders)
    return f"plink: {groups_text(subject)}, {source}", build_sections(subject)


def build_sections(subject: Subject) -> list[Section]:
    """Return all sections of a report that are not empty."""
    return [section for build in SECTIONS if (section := build(subject)) is not None]


def overview_section(subject: Subject) -> Section:
    """Return the report's section with the main finding, advice and key facts."""
    lead = Paragraph(main_finding(subject), is_lead=True)
    return Section(
        "overview", "In short", [lead, facts_table("The essentials", essentials(subject))]
    )


def next_section(subject: Subject) -> Section:
    """Return the report's section with the next steps and their commands."""
    orders = [(named.source, named.order) for named in subject.orders]
    steps = next_steps(subject.cluster, subject.source, orders)
    where = "Run these in the folder that holds the files; the page does not say which."
    if not steps:
        return _next([Paragraph("Nothing: all that this report shows is known.")])
    return _next([AdviceList(steps), Paragraph(where)])


def _next(parts: Sequence[AdviceList | Paragraph]) -> Section:
    return Section("next", "What to do next", parts)


def origin_section(subject: Subject) -> Section:
    """Return the report's section on files, measuring tools and plink's version."""
    facts: list[Fact] = [("plink", [__version__])]
    cluster = subject.cluster
    if cluster is not None:
        facts.append(("cluster", [str(subject.source)]))
        measurements: Sequence[tuple[str, Measurement | None]] = (
            ("round trips", cluster.rtt),
            ("bandwidth", cluster.bandwidth),
            ("uplinks", cluster.uplinks),
            ("routes", cluster.routes),
        )
        facts += [
            (label, [describe_measurement(measurement)])
            for label, measurement in measurements
            if measurement is not None
        ]
    for named in subject.orders:
        solver = named.order.solver
        search = f"{solver.name}, seed {solver.seed}, {named.order.seconds:.2f} s"
        facts.append(("order", [f"{named.source}: {search}, ended by {solver.ended_by}"]))
    return Section("origin", "Made from", [facts_table("Files and tools", facts, "how")])


# Each returns a section, or None where the subject has nothing of its kind.
SECTIONS: Sequence[Callable[[Subject], Section | None]] = (
    overview_section,
    next_section,
    distances_section,
    bandwidth_section,
    groups_section,
    map_section,
    costs_section,
    ring_section,
    quality_section,
    origin_section,
)


def essentials(subject: Subject) -> list[Fact]:
    """Return the report's key facts on hosts, measurements, groups and orders."""
    cluster = subject.cluster
    size = len(subject.names)
    facts: list[Fact] = [("hosts", [f"{size:,}"])]
    if cluster is not None and cluster.unreachable:
        facts.append(("unreachable", [format_count(len(cluster.unreachable), "host")]))
    if cluster is not None and cluster.rtt is not None and subject.distances is not None:
        values = known_values(cluster.rtt.readings_us)
        reading = percentile_name(cluster.rtt.reading)
        spread = f"{rtt_text(values.min())} to {rtt_text(values.max())} ({reading})"
        facts.append(("round trips", [f"{spread}, {directions_text(values.size, size)} measured"]))
    if cluster is not None and cluster.bandwidth is not None:
        values = known_values(cluster.bandwidth.gbit_s)
        if values.size:
            spread = f"{bandwidth_text(values.min())} to {bandwidth_text(values.max())}"
            measured = directions_text(values.size, size)
            facts.append(("bandwidth", [f"{spread}, {measured} measured"]))
    if cluster is not None and cluster.uplinks is not None:
        facts += [("uplinks", [text]) for text in _uplink_texts(cluster.uplinks.uplinks)]
    facts.append(("groups", [_group_sizes_text(subject)]))
    return facts + [
        ("order", [_gain_sentence(named)]) for named in subject.orders if named.order.cost.random_us
    ]


def _uplink_texts(uplinks: Sequence[Uplink]) -> list[str]:
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


def _group_sizes_text(subject: Subject) -> str:
    if not subject.groups:
        is_grouped = subject.cluster is not None and subject.cluster.grouping is not None
        return "none found" if is_grouped else "not known yet"
    sizes, lone = group_sizes(subject)
    without = f", {format_count(lone, 'host')} in no group" if lone else ""
    return f"{len(subject.groups)} of {sizes} hosts{without}"
