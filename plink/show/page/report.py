"""Report: its title and sections in order, with the main finding, next steps and sources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from plink import __version__
from plink.autotune.log.history import History
from plink.base.text import (
    bandwidth_text,
    format_count,
    format_names,
    range_text,
    rtt_text,
    share_text,
)
from plink.formats.cluster import Cluster
from plink.formats.measurements import Measurement, percentile_name
from plink.model.outliers import group_by_host
from plink.optimize.leaving_out import find_limiting
from plink.optimize.orders.quality import doubt
from plink.show.advice import describe_gain, next_steps
from plink.show.facts import describe_measurement, directions_text, known_values
from plink.show.orders import has_bound, purpose_text, share_of_random
from plink.show.page.bandwidth import bandwidth_section
from plink.show.page.groups import groups_section, map_section
from plink.show.page.matrix import distances_section
from plink.show.page.orders import costs_section, ring_section
from plink.show.page.parts import AdviceList, Paragraph, Part, Section, facts_table
from plink.show.page.quality import quality_section
from plink.show.page.subject import NamedOrder, Subject
from plink.show.page.timeline import timeline_sections
from plink.show.page.tuned import tuned_sections
from plink.show.summary import oversubscription
from plink.show.tables import Fact, capitalise
from plink.training.timeline.merging import Timeline

# Groups whose hosts can send so many times what their uplink carries.
_OVERSUBSCRIBED = 1.3
# Nine tenths of the distances are at most so many times those of the nearest tenth.
_ALIKE = 1.3


def main_finding(subject: Subject) -> str:
    """Return a sentence on the report's most important finding and what to do about it."""
    hosts = groups_text(subject)
    cluster = subject.cluster
    if cluster is not None and cluster.rtt is None and cluster.bandwidth is None:
        return f"{hosts}. Nothing was measured yet: begin with plink probe."
    if subject.outliers:
        return " ".join([f"{hosts}; {_describe_outliers(subject)}", *_describe_gain(subject)])
    advice = next(filter(None, map(_advise_order, subject.orders)), None)
    if advice is None and cluster is not None:
        advice = _advise_grouping(subject, cluster)
    return f"{hosts}. {advice}" if advice else f"{hosts}."


def groups_text(subject: Subject) -> str:
    """Return the numbers of hosts and groups as text: `16 hosts in 4 groups of 4`."""
    hosts = format_count(len(subject.names), "host")
    if len(subject.names) < 2:
        return hosts
    if not subject.groups:
        grouping = None if subject.cluster is None else subject.cluster.grouping
        return f"{hosts} in no groups" if grouping is not None else f"{hosts}, not grouped yet"
    sizes, lone = group_sizes(subject)
    if len(subject.groups) == 1 and not lone:
        return f"{hosts} in one group"
    without = f" and {lone:,} in none" if lone else ""
    return f"{hosts} in {format_count(len(subject.groups), 'group')} of {sizes}{without}"


def group_sizes(subject: Subject) -> tuple[str, int]:
    """Return the groups' sizes as text (`4 to 8`), and the number of hosts in no group."""
    sizes = [len(group.hosts) for group in subject.groups]
    least, most = min(sizes), max(sizes)
    return f"{least}" if least == most else f"{least} to {most}", len(subject.names) - sum(sizes)


def _describe_outliers(subject: Subject) -> str:
    """Return a sentence on slow hosts, else on far ones, with advice."""
    slow = [each for each in subject.outliers if each.kind != "round trip"]
    outliers = slow or subject.outliers
    worst, hosts = outliers[0], list(group_by_host(outliers))
    names, is_one = format_names(hosts), len(hosts) == 1
    them = "it" if is_one else "them"
    if not slow:
        return (
            f"{names} {'is' if is_one else 'are'} {worst.factor:.1f} times as far from the others "
            f"as these are from each other ({rtt_text(worst.value)} against "
            f"{rtt_text(worst.usual)}). Leave {them} out where round trips matter."
        )
    kinds = [kind for kind in ("send", "receive") if any(each.kind == kind for each in slow)]
    does = " and ".join(f"{kind}s" if is_one else kind for kind in kinds)
    return (
        f"{names} {does} {'' if is_one else 'up to '}{worst.factor:.1f} times slower than the "
        f"others ({bandwidth_text(worst.value)} against {bandwidth_text(worst.usual)}). A "
        f"collective is as quick as its slowest host: leave {them} out, or find out what limits "
        f"{'its link' if is_one else 'their links'}."
    )


def _describe_gain(subject: Subject) -> list[str]:
    """Return sentences on the gain of the first order without the outlying hosts."""
    if subject.cluster is None or not subject.orders:
        return []
    order = subject.orders[0].order
    gain = describe_gain(find_limiting(subject.cluster, order), order, subject.source or "")
    return [capitalise(each.why) for each in gain[:1]]


def _advise_order(named: NamedOrder) -> str | None:
    order = named.order
    if len(order.hosts) < 2 or not order.cost.random_us:
        return None
    if doubt(order) is not None:
        return (
            f"For {purpose_text(order)} the order of ranks makes no difference that can be relied "
            "on: any order will do."
        )
    return (
        f"{named.source} has {share_of_random(order)} for {purpose_text(order)}: "
        "start the job in that order."
    )


def _advise_grouping(subject: Subject, cluster: Cluster) -> str | None:
    """Return advice from the first that is known: uplinks, distances of groups, all distances."""
    order = "order ranks so that few messages leave a group (plink order)."
    uplinks = () if cluster.uplinks is None else cluster.uplinks.uplinks
    ratio = max((oversubscription(uplink) or 0.0 for uplink in uplinks), default=0.0)
    if ratio >= _OVERSUBSCRIBED:
        return (
            f"Hosts of a group can send up to {ratio:.1f} times what their group's uplink "
            f"carries: {order}"
        )
    quality = () if cluster.grouping is None else cluster.grouping.quality
    known = [
        (each.within_us, each.between_us)
        for each in quality
        if each.within_us is not None and each.between_us is not None
    ]
    if known:
        within, between = (float(np.median(values)) for values in zip(*known, strict=True))
        return (
            f"A round trip takes {rtt_text(within)} inside a group and {rtt_text(between)} to the "
            f"next one: {order}"
        )
    size = len(cluster.hosts)
    is_one = [len(group.hosts) for group in cluster.groups] == [size]
    is_ungrouped = is_one or (cluster.grouping is not None and not cluster.groups)
    if not is_ungrouped or subject.distances is None or size < 2:
        return None
    matrix_us = subject.distances.matrix_us
    near_us, far_us = np.quantile(matrix_us[~np.eye(size, dtype=bool)], (0.1, 0.9))
    if far_us <= _ALIKE * near_us:
        return "All are about as far from each other: the order of ranks hardly matters."
    return (
        "Distances differ, but show no groups: plink order tells what an order of ranks gains all "
        "the same."
    )


def report(
    subject: Subject | History | Timeline, sources: Sequence[str]
) -> tuple[str, list[Section]]:
    """Return the title and sections of a report on a subject, read from files called `sources`."""
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
    """Return the report's first section: the main finding, advice and key facts."""
    lead = Paragraph(main_finding(subject), is_lead=True)
    facts = facts_table("The essentials", essentials(subject))
    return Section("overview", "In short", [lead, facts])


def next_section(subject: Subject) -> Section:
    """Return the report's section with the next steps and their commands."""
    orders = [(named.source, named.order) for named in subject.orders]
    steps = next_steps(subject.cluster, subject.source, orders)
    parts: list[Part] = [Paragraph("Nothing: all that this report shows is known.")]
    if steps:
        where = "Run these in the folder that holds the files; the page does not say which."
        parts = [AdviceList(steps), Paragraph(where)]
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
        facts += [(label, [describe_measurement(each)]) for label, each in measurements if each]
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
    """Return table rows (name, lines) on a report's hosts, measurements, groups and orders."""
    cluster = subject.cluster
    size = len(subject.names)

    def format_range(values: Iterable[float], text: Callable[[float], str]) -> str:
        return f"{text(min(values))} to {text(max(values))}"

    facts: list[Fact] = [("hosts", [f"{size:,}"])]
    grouped = "not known yet"
    if cluster is not None:
        if cluster.unreachable:
            facts.append(("unreachable", [format_count(len(cluster.unreachable), "host")]))
        if cluster.rtt is not None and subject.distances is not None:
            values = known_values(cluster.rtt.readings_us)
            spread = f"{format_range(values, rtt_text)} ({percentile_name(cluster.rtt.reading)})"
            measured = directions_text(values.size, size)
            facts.append(("round trips", [f"{spread}, {measured} measured"]))
        gbit_s = (
            np.empty(0) if cluster.bandwidth is None else known_values(cluster.bandwidth.gbit_s)
        )
        if gbit_s.size:
            measured = directions_text(gbit_s.size, size)
            spread = format_range(gbit_s, bandwidth_text)
            facts.append(("bandwidth", [f"{spread}, {measured} measured"]))
        uplinks = () if cluster.uplinks is None else cluster.uplinks.uplinks
        both = [rate for each in uplinks for rate in (each.send_gbit_s, each.receive_gbit_s)]
        if rates := [rate for rate in both if rate is not None]:
            ratios = [ratio for each in uplinks if (ratio := oversubscription(each)) is not None]
            times = f", oversubscribed up to {max(ratios):.1f}:1" if ratios else ""
            facts.append(("uplinks", [f"{format_range(rates, bandwidth_text)}{times}"]))
        grouped = grouped if cluster.grouping is None else "none found"
    if subject.groups:
        sizes, lone = group_sizes(subject)
        without = f", {format_count(lone, 'host')} in no group" if lone else ""
        grouped = f"{len(subject.groups)} of {sizes} hosts{without}"
    facts.append(("groups", [grouped]))
    for named in subject.orders:
        order, limits_us = named.order, named.order.cost.range_us
        if not order.cost.random_us:
            continue
        least = share_text(order.cost.lower_bound_us / order.cost.random_us)
        bound = f"lower bound {least}" if has_bound(order) else "no lower bound known"
        if limits_us is not None:
            limits = range_text(limits_us.low_us, limits_us.high_us)
            bound += f"; the {order.cost_name} is {limits}"
        text = f"{named.source}: {purpose_text(order)}, {share_of_random(order)}, {bound}"
        facts.append(("order", [text]))
    return facts
