"""Main finding of a report: what is most important in a sentence or two, with advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from plink.base.text import bandwidth_text, format_count, format_names, rtt_text, share_text
from plink.formats.cluster import Cluster
from plink.model.outliers import Outlier, group_by_host
from plink.optimize.leaving_out import find_limiting
from plink.optimize.orders.quality import doubt
from plink.show.advice import describe_gain
from plink.show.orders import purpose_text
from plink.show.page.subject import NamedOrder, Subject
from plink.show.summary import oversubscription
from plink.show.tables import capitalise

_MOST_NAMED = 3
# Groups whose hosts can send so many times what their uplink carries.
_OVERSUBSCRIBED = 1.3
# Nine tenths of the distances are at most so many times those of the nearest tenth.
_ALIKE = 1.3


def main_finding(subject: Subject) -> str:
    """Return the report's most important finding and what follows from it."""
    hosts = groups_text(subject)
    cluster = subject.cluster
    if cluster is not None and cluster.rtt is None and cluster.bandwidth is None:
        return f"{hosts}. Nothing was measured yet: begin with plink probe."
    outlying = _outlier_advice(subject)
    if outlying is not None:
        return " ".join([f"{hosts}; {outlying}", *_gain_sentences(subject)])
    advice = next((text for text in map(_order_advice, subject.orders) if text is not None), None)
    if advice is None and cluster is not None:
        advice = _uplink_advice(cluster) or _distance_advice(subject, cluster)
    return f"{hosts}. {advice}" if advice else f"{hosts}."


def groups_text(subject: Subject) -> str:
    """Return a sentence on the number of hosts and their groups."""
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
    """Return the sizes of groups, at least one, as text, and the number of hosts in none."""
    sizes = [len(group.hosts) for group in subject.groups]
    least, most = min(sizes), max(sizes)
    return f"{least}" if least == most else f"{least} to {most}", len(subject.names) - sum(sizes)


def _outlier_advice(subject: Subject) -> str | None:
    """Return a sentence on slow hosts, else on far ones, with advice."""
    slow = [each for each in subject.outliers if each.kind != "round trip"]
    if slow:
        return _slow_host_advice(slow)
    if not subject.outliers:
        return None
    hosts = group_by_host(subject.outliers)
    worst = subject.outliers[0]
    return (
        f"{format_names(list(hosts), _MOST_NAMED)} {'is' if len(hosts) == 1 else 'are'} "
        f"{worst.factor:.1f} times as far from the others as these are from each other "
        f"({rtt_text(worst.value)} against {rtt_text(worst.usual)}). Leave "
        f"{'it' if len(hosts) == 1 else 'them'} out where round trips matter."
    )


def _gain_sentences(subject: Subject) -> Iterator[str]:
    """Yield sentences on the gain of the first order without the outlying hosts."""
    if subject.cluster is None or not subject.orders:
        return
    order = subject.orders[0].order
    limits = find_limiting(subject.cluster, order)
    for each in describe_gain(limits, order, subject.source or "")[:1]:
        yield capitalise(each.text)


def _slow_host_advice(slow: Sequence[Outlier]) -> str:
    hosts, worst = group_by_host(slow), slow[0]
    kinds = [kind for kind in ("send", "receive") if any(each.kind == kind for each in slow)]
    is_one = len(hosts) == 1
    does = " and ".join(f"{kind}s" if is_one else kind for kind in kinds)
    return (
        f"{format_names(list(hosts), _MOST_NAMED)} {does} {'' if is_one else 'up to '}"
        f"{worst.factor:.1f} times slower than the others ({bandwidth_text(worst.value)} against "
        f"{bandwidth_text(worst.usual)}). A collective is as quick as its slowest host: leave "
        f"{'it' if is_one else 'them'} out, or find out what limits "
        f"{'its link' if is_one else 'their links'}."
    )


def _order_advice(named: NamedOrder) -> str | None:
    order = named.order
    if len(order.hosts) < 2 or not order.cost.random_us:
        return None
    if doubt(order) is not None:
        return (
            f"For {purpose_text(order)} the order of ranks makes no difference that can be relied "
            "on: any order will do."
        )
    share = share_text(order.cost.cost_us / order.cost.random_us)
    measure = "latency score" if order.is_score else "predicted cost"
    return (
        f"{named.source} has {share} of a random order's {measure} for {purpose_text(order)}: "
        "start the job in that order."
    )


def _uplink_advice(cluster: Cluster) -> str | None:
    known = () if cluster.uplinks is None else cluster.uplinks.uplinks
    ratios = [ratio for uplink in known if (ratio := oversubscription(uplink)) is not None]
    if not ratios or max(ratios) < _OVERSUBSCRIBED:
        return None
    return (
        f"Hosts of a group can send up to {max(ratios):.1f} times what their group's uplink "
        "carries: order ranks so that few messages leave a group (plink order)."
    )


def _distance_advice(subject: Subject, cluster: Cluster) -> str | None:
    quality = () if cluster.grouping is None else cluster.grouping.quality
    known = [
        (each.within_us, each.between_us)
        for each in quality
        if each.within_us is not None and each.between_us is not None
    ]
    if not known:
        looked = cluster.grouping is not None and not cluster.groups
        is_one = len(cluster.groups) == 1 and len(cluster.groups[0].hosts) == len(cluster.hosts)
        if looked or (is_one and len(cluster.hosts) > 1):
            return _ungrouped_advice(subject)
        return None
    within, between = (float(np.median(values)) for values in zip(*known, strict=True))
    return (
        f"A round trip takes {rtt_text(within)} inside a group and {rtt_text(between)} to the "
        "next one: order ranks so that few messages leave a group (plink order)."
    )


def _ungrouped_advice(subject: Subject) -> str | None:
    if subject.distances is None or len(subject.names) < 2:
        return None
    matrix_us = subject.distances.matrix_us
    near_us, far_us = np.quantile(matrix_us[~np.eye(len(matrix_us), dtype=bool)], (0.1, 0.9))
    if far_us <= _ALIKE * near_us:
        return "All are about as far from each other: the order of ranks hardly matters."
    return (
        "Distances differ, but show no groups: plink order tells what an order of ranks gains all "
        "the same."
    )
