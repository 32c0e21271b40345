"""What was found and what to do about it, in a sentence or two."""

from __future__ import annotations

import numpy as np

from plink.base.text import bandwidth_text, counted, joined, rtt_text, share_text
from plink.files.cluster import Cluster
from plink.model.network import Capacity, capacity
from plink.optimize.orders.quality import doubt
from plink.show.page.links import is_slow, slow_hosts
from plink.show.page.subject import NamedOrder, Subject
from plink.show.terminal.bandwidth import oversubscription
from plink.show.terminal.order import what_for

_MOST_NAMED = 3
# Groups whose hosts can send so many times what their uplink carries.
_OVERSUBSCRIBED = 1.3


def finding(subject: Subject) -> str:
    """The most important of what is known, and what follows."""
    who = groups_text(subject)
    cluster = subject.cluster
    if cluster is not None and cluster.rtt is None and cluster.bandwidth is None:
        return f"{who}. Nothing was measured yet: begin with plink probe."
    slow = None if cluster is None else _slow(subject, capacity(cluster, cluster.groups))
    if slow is not None:
        return f"{who}; {slow}"
    said = next((text for text in map(_order, subject.orders) if text is not None), None)
    if said is None and cluster is not None:
        said = _uplinks(cluster) or _distances(cluster)
    return f"{who}. {said}" if said else f"{who}."


def groups_text(subject: Subject) -> str:
    """How many hosts there are, and in which groups."""
    hosts = counted(len(subject.names), "host")
    if len(subject.names) < 2:
        return hosts
    sizes = [len(group.hosts) for group in subject.groups]
    if not sizes:
        grouping = None if subject.cluster is None else subject.cluster.grouping
        return f"{hosts} in no groups" if grouping is not None else f"{hosts}, not grouped yet"
    if len(sizes) == 1 and sizes[0] == len(subject.names):
        return f"{hosts} in one group"
    spread = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    lone = len(subject.names) - sum(sizes)
    without = f" and {lone:,} in none" if lone else ""
    return f"{hosts} in {counted(len(sizes), 'group')} of {spread}{without}"


def _slow(subject: Subject, known: Capacity) -> str | None:
    hosts = slow_hosts(known)
    if not hosts:
        return None
    behind = [
        (float(np.nanmedian(rates)) / float(rates[hosts[0]]), rates, verb)
        for rates, verb in ((known.send_gbit_s, "send"), (known.receive_gbit_s, "receive"))
        if is_slow(rates)[hosts[0]] and rates[hosts[0]] > 0.0
    ]
    if not behind:
        return None
    # The direction in which the slowest host is furthest behind tells the figures.
    times, rates, _ = max(behind, key=lambda each: each[0])
    one, many = (" and ".join(f"{verb}{ending}" for _, _, verb in behind) for ending in ("s", ""))
    usual, least = bandwidth_text(float(np.nanmedian(rates))), bandwidth_text(rates[hosts[0]])
    if len(hosts) > _MOST_NAMED:
        return (
            f"{len(hosts):,} of them {many} up to {times:.1f} times slower than most ({least} "
            f"against {usual}). A collective is as quick as its slowest host: leave them out, or "
            "give them a job of their own."
        )
    who = joined([subject.names[host] for host in hosts], "and")
    return (
        f"{who} {one if len(hosts) == 1 else many} {times:.1f} times slower than the others "
        f"({least} against {usual}). A collective is as quick as its slowest host: leave "
        f"{'it' if len(hosts) == 1 else 'them'} out, or find out what limits "
        f"{'its link' if len(hosts) == 1 else 'their links'}."
    )


def _order(named: NamedOrder) -> str | None:
    order = named.order
    if len(order.hosts) < 2 or not order.cost_random_us:
        return None
    if doubt(order) is not None:
        return (
            f"For {what_for(order)} the order of ranks makes no difference that can be relied on: "
            "any order will do."
        )
    share = share_text(order.cost_us / order.cost_random_us)
    return (
        f"{named.source} is predicted to cost {share} of a random order for {what_for(order)}: "
        "start the job in that order."
    )


def _uplinks(cluster: Cluster) -> str | None:
    known = () if cluster.uplinks is None else cluster.uplinks.uplinks
    ratios = [ratio for uplink in known if (ratio := oversubscription(uplink)) is not None]
    if not ratios or max(ratios) < _OVERSUBSCRIBED:
        return None
    return (
        f"Hosts of a group can send up to {max(ratios):.1f} times what their group's uplink "
        "carries: order ranks so that few messages leave a group (plink order)."
    )


def _distances(cluster: Cluster) -> str | None:
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
            return "All are about as far from each other: the order of ranks hardly matters."
        return None
    within, between = (float(np.median(values)) for values in zip(*known, strict=True))
    return (
        f"A round trip takes {rtt_text(within)} inside a group and {rtt_text(between)} to the "
        "next one: order ranks so that few messages leave a group (plink order)."
    )
