"""Report section on bandwidth: between hosts, of links and uplinks, and what limits collectives."""

from __future__ import annotations

import numpy as np

from plink.base.next_command import UNNAMED_FILE, next_command
from plink.base.size import format_size
from plink.base.text import bandwidth_text, format_count, join_texts, seconds_text, share_text
from plink.formats import document
from plink.formats.cluster import Cluster
from plink.model.network import KnownNetwork, build_network, capacity
from plink.optimize.limiting import Limited, find_limits
from plink.show.advice import NextStep
from plink.show.facts import LOWER_BOUND, known_values, rate_text
from plink.show.page.charts import BETWEEN, NO_GROUP_COLOUR, WITHIN
from plink.show.page.matrix import Quantity, matrix_parts
from plink.show.page.parts import (
    AdviceList,
    Bar,
    Bars,
    Folded,
    Paragraph,
    Part,
    Section,
    Table,
    table,
)
from plink.show.page.subject import Subject
from plink.show.scale import Scale, colour
from plink.show.summary import oversubscription
from plink.show.tables import Column, capitalise
from plink.solvers.contention.limiting import HOSTS, LATENCY, Limit

# Rates of links that are alike differ by a few percent; a scale narrower than this would make
# structure of their noise.
_LEAST_RATIO = 3.0

# Hosts whose links are all shown at once, and how many of more are; the others are folded.
_FEW = 16
_SLOWEST = 8
_MOST_ROWS = 512

# One collective of each kind: a ring, a tree, by halves, whole buffers, and of all to all.
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

_RATES = Quantity(
    "rate-map",
    "rates",
    "Gbit/s",
    bandwidth_text,
    lambda position: colour(1.0 - position),
    "A row is a source, a column a destination, bright is fast. A dark row is a host that sends "
    "slowly, a dark column one that receives slowly; dark fields between frames are groups whose "
    "connection is slow.",
)


def bandwidth_section(subject: Subject) -> Section | None:
    """Return the report's section on bandwidths, links, uplinks and what they limit.

    Where nothing is known it says how to measure them.
    """
    cluster = subject.cluster
    if cluster is None or len(subject.names) < 2:
        return None
    parts: list[Part] = []
    if cluster.bandwidth is not None and known_values(cluster.bandwidth.gbit_s).size:
        gbit_s = cluster.bandwidth.gbit_s
        positive = gbit_s[np.isfinite(gbit_s) & (gbit_s > 0.0)]
        high = float(positive.max(initial=0.0)) or _LEAST_RATIO
        scale = Scale(min(float(positive.min(initial=high)), high / _LEAST_RATIO), high)
        beginning = "What each host sent to each other one, as measured"
        parts += matrix_parts(subject, gbit_s, scale, _RATES, beginning)
    if cluster.bandwidth is not None or cluster.uplinks is not None:
        parts += [*_describe_links(subject, cluster), *_describe_uplinks(subject, cluster)]
    network = build_network(cluster, found=subject.distances)
    limits = _tabulate_limits(subject, cluster, network) if network.has_rates else None
    if limits is not None:
        parts.append(limits)
        if network.assumptions:
            assumed = [Paragraph(capitalise(text)) for text in network.assumptions]
            parts.append(Folded("What was assumed where nothing was measured", assumed))
    if not parts:
        file = UNNAMED_FILE if subject.source is None else document.argument(subject.source)
        reason = "Bandwidth was not measured: what links carry, and what limits a collective, is "
        again = next_command("probe", "--resume", file, "--tool", "iperf3", way=cluster.way)
        parts.append(AdviceList([NextStep(f"{reason}not known", again)]))
    return Section("bandwidth", "Bandwidth", parts)


def _describe_links(subject: Subject, cluster: Cluster) -> list[Part]:
    """Return a bar chart of hosts' link rates, the slowest first and the rest folded."""
    known = capacity(cluster, cluster.groups)
    sides = (("send", known.send_gbit_s), ("receive", known.receive_gbit_s))
    rates = np.fmin(known.send_gbit_s, known.receive_gbit_s)
    if not np.isfinite(rates).any():
        return []
    if cluster.bandwidth is not None:
        source = "A host's link is taken to carry as much as the fastest of its transfers did."
    elif cluster.uplinks is not None and cluster.uplinks.links:
        source = (
            "Each host exchanged data by itself when uplinks were measured. Links of a group that "
            "differ by no more than such short transfers do are taken to be equal."
        )
    else:
        source = (
            "Links of hosts were not measured one by one: these are even shares of what the hosts "
            "of a group carry together."
        )
    most = max(float(np.nanmax(side)) for _, side in sides) or 1.0
    slow = {(each.host, each.kind) for each in subject.outliers}
    rows: list[tuple[str, list[Bar | None]]] = []
    # What was not measured is last.
    for host in np.argsort(rates, kind="stable")[:_MOST_ROWS].tolist():
        bars: list[Bar | None] = []
        for kind, side in sides:
            is_slow = (subject.names[host], kind) in slow
            note = " (slow)" if is_slow else ""
            bars.append(_bar(side[host], most, BETWEEN if is_slow else WITHIN, note=note))
        rows.append((subject.names[host], bars))
    header = ("host", "sends", "receives")
    if len(rows) <= _FEW:
        caption = "What each host's link carries, slowest first"
        return [Paragraph(source), Bars(caption, header, rows)]
    hosts = len(subject.names)
    every = f"all {hosts:,}" if len(rows) == hosts else f"the {_MOST_ROWS} slowest"
    some = f"What hosts' links carry, the {_SLOWEST} slowest"
    whole = Bars("What hosts' links carry, slowest first", header, rows)
    return [
        Paragraph(source),
        Bars(some, header, rows[:_SLOWEST]),
        Folded(f"The links of {every} hosts", [whole]),
    ]


def _bar(
    gbit_s: float | None,
    most: float,
    shade: str = WITHIN,
    *,
    note: str = "",
    is_lower_bound: bool = False,
) -> Bar | None:
    if gbit_s is None or not np.isfinite(gbit_s):
        return None
    return Bar(rate_text(float(gbit_s), is_lower_bound) + note, float(gbit_s) / most, shade)


def _describe_uplinks(subject: Subject, cluster: Cluster) -> list[Part]:
    """Return a bar chart of each group's uplink rates, beside what its hosts could reach."""
    uplinks = () if cluster.uplinks is None else cluster.uplinks.uplinks
    rates = [(each.send_gbit_s, each.receive_gbit_s, each.hosts_gbit_s) for each in uplinks]
    known = [rate for row in rates for rate in row if rate is not None]
    if not known:
        unknown = (
            "Uplinks were not measured: what groups can exchange with each other is not known."
        )
        return [Paragraph(unknown)] if len(subject.groups) > 1 else []
    most = max(known) or 1.0
    rows = []
    for uplink, (sends, receives, could) in zip(uplinks, rates, strict=True):
        ratio = oversubscription(uplink)
        note = "" if ratio is None else f" ({ratio:.1f}:1)"
        bars = [
            _bar(sends, most, is_lower_bound=uplink.send_is_lower_bound),
            _bar(receives, most, is_lower_bound=uplink.receive_is_lower_bound),
            _bar(could, most, NO_GROUP_COLOUR, note=note),
        ]
        rows.append((uplink.group, bars))
    caption = "What all hosts of a group together exchange with other groups"
    parts: list[Part] = [Bars(caption, ("group", "sends", "receives", "its hosts could"), rows)]
    if any(uplink.send_is_lower_bound or uplink.receive_is_lower_bound for uplink in uplinks):
        parts.append(Paragraph(f"{LOWER_BOUND}."))
    return parts


def _tabulate_limits(subject: Subject, cluster: Cluster, network: KnownNetwork) -> Table | None:
    """Return the table of what each collective waits for; None if no algorithm can be predicted."""
    sizes = [named.order.cost.size_bytes for named in subject.orders if named.order.cost.size_bytes]
    size_bytes = sizes[0] if sizes else _SIZE_BYTES
    rows = [
        (limited, "as listed") for limited in find_limits(cluster, network, ALGORITHMS, size_bytes)
    ]
    for named in subject.orders:
        if named.order.mesh is None:
            algorithms = [named.order.algorithm]
            limits = find_limits(cluster, network, algorithms, size_bytes, named.order)
            rows += [(limited, named.source) for limited in limits]

    def describe_waits(row: tuple[Limited, str]) -> str:
        seconds = row[0].seconds
        return ", ".join(
            f"{_describe_limit(subject, limit)} ({share_text(limit.seconds / seconds)})"
            for limit in row[0].limits
            if limit.seconds >= _LEAST_SHARE * seconds
        )

    columns: list[Column[tuple[Limited, str]]] = [
        Column("collective", lambda row: row[0].algorithm, is_text=True),
        Column("order", lambda row: row[1], is_text=True),
        Column("takes", lambda row: seconds_text(row[0].seconds)),
        Column("waits for", describe_waits, is_text=True),
    ]
    caption = (
        f"What limits which collective: the predicted time for {format_size(size_bytes)} on each "
        "rank, and what that is spent waiting for"
    )
    return table(caption, columns, rows) if rows else None


def _describe_limit(subject: Subject, limit: Limit) -> str:
    """Return a phrase on what a collective waits for, such as a host's link, with its share."""
    if limit.kind == LATENCY:
        return "round trips"
    what, link, names = "group", "uplink", [group.name for group in subject.groups]
    if limit.kind == HOSTS:
        what, link, names = "host", "link", list(subject.names)
    ends = sorted({*limit.sending, *limit.receiving})
    if len(ends) > _MOST_NAMED:
        every = f"all {what}s" if len(ends) == len(names) else format_count(len(ends), what)
        return f"the {link}s of {every}, about alike"
    owners = join_texts([names[place] for place in ends], "and")
    links = f"the {link}{'s' if len(ends) > 1 else ''} of {owners}"
    if not limit.receiving:
        return f"sending on {links}"
    return links if limit.sending else f"receiving on {links}"
