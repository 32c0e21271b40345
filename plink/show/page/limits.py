"""Report section on what limits each collective, as a table."""

from __future__ import annotations

from plink.base.size import format_size
from plink.base.text import format_count, join_texts, rtt_text, share_text
from plink.model.network import KnownNetwork
from plink.optimize.limiting import Limited, what_limits
from plink.show.page.parts import Part, Table
from plink.show.page.subject import Subject
from plink.solvers.contention.limiting import HOSTS, LATENCY, Limit

# A kind of each: a ring, a tree, by halves, whole buffers, and of all to all.
ALGORITHMS = (
    "nccl-ring",
    "nccl-tree",
    "openmpi-rabenseifner",
    "openmpi-recursive-doubling",
    "all-to-all",
)
_SIZE_BYTES = 100_000_000
_MOST_NAMED = 3
# Shorter waits are not worth a word.
_LEAST_SHARE = 0.05


def limits_table(subject: Subject, network: KnownNetwork) -> list[Part]:
    """Return the table; empty if no link rate is known."""
    cluster = subject.cluster
    if cluster is None or not network.has_rates or len(subject.names) < 2:
        return []
    sizes = [named.order.cost.size_bytes for named in subject.orders if named.order.cost.size_bytes]
    size_bytes = sizes[0] if sizes else _SIZE_BYTES
    rows = [
        (each.algorithm, "as listed", *_limit_row(subject, each))
        for each in what_limits(cluster, network, ALGORITHMS, size_bytes)
    ]
    for named in subject.orders:
        if named.order.mesh is None:
            rows += [
                (each.algorithm, named.source, *_limit_row(subject, each))
                for each in what_limits(
                    cluster, network, [named.order.algorithm], size_bytes, named.order
                )
            ]
    if not rows:
        return []
    caption = (
        f"What limits which collective: the predicted time for {format_size(size_bytes)} on each "
        "rank, and what that is spent waiting for"
    )
    header = ("collective", "order", "takes", "waits for")
    return [Table(caption, header, rows, numbers=(2,))]


def _limit_row(subject: Subject, each: Limited) -> tuple[str, str]:
    shown = [limit for limit in each.limits if limit.seconds >= _LEAST_SHARE * each.seconds]
    waits = ", ".join(
        f"{limit_text(subject, limit)} ({share_text(limit.seconds / each.seconds)})"
        for limit in shown
    )
    return rtt_text(1e6 * each.seconds), waits


def limit_text(subject: Subject, limit: Limit) -> str:
    """Return a phrase on what a collective waits for."""
    if limit.kind == LATENCY:
        return "round trips"
    is_hosts = limit.kind == HOSTS
    names = subject.names if is_hosts else [group.name for group in subject.groups]
    link = "link" if is_hosts else "uplink"
    both = sorted({*limit.sending, *limit.receiving})
    if len(both) > _MOST_NAMED:
        what = "hosts" if is_hosts else "groups"
        every = f"all {what}" if len(both) == len(names) else format_count(len(both), what[:-1])
        return f"the {link}s of {every}, about alike"
    whose = join_texts([names[place] for place in both], "and")
    plural = "s" if len(both) > 1 else ""
    if not limit.receiving:
        return f"sending on the {link}{plural} of {whose}"
    if not limit.sending:
        return f"receiving on the {link}{plural} of {whose}"
    return f"the {link}{plural} of {whose}"
