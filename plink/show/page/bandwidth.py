"""Report section on bandwidth: between hosts, of links and uplinks, and what limits collectives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.base.next_command import UNNAMED_FILE, next_command
from plink.base.size import format_size
from plink.base.text import bandwidth_text, format_count, join_texts, rtt_text, share_text
from plink.formats import document
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink
from plink.formats.matrices import Matrix
from plink.model.network import Capacity, KnownNetwork, build_network, capacity
from plink.optimize.limiting import Limited, find_limits
from plink.show.advice import Advice
from plink.show.facts import directions_text, known_values, rate_text, spread_text
from plink.show.page.charts import BETWEEN, NO_GROUP_COLOUR, WITHIN
from plink.show.page.matrix import (
    LEGEND_TICKS,
    log_stops,
    matrix_figure,
    matrix_legend,
    matrix_table,
)
from plink.show.page.parts import (
    AdviceList,
    Bar,
    Bars,
    Figure,
    Folded,
    Paragraph,
    Part,
    Section,
    Table,
    table,
)
from plink.show.page.subject import Subject
from plink.show.scale import colour
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


def bandwidth_section(subject: Subject) -> Section | None:
    """Return the report's section on bandwidths, links, uplinks and what they limit.

    Where nothing is known it says how to measure them.
    """
    cluster = subject.cluster
    if cluster is None or len(subject.names) < 2:
        return None
    parts: list[Part] = []
    if cluster.bandwidth is not None or cluster.uplinks is not None:
        parts = [*_rates(subject, cluster), *_links(subject, cluster), *_uplinks(subject, cluster)]
    network = build_network(cluster, found=subject.distances)
    limits = limits_table(subject, network)
    if limits is not None:
        parts.append(limits)
        if network.assumptions:
            assumed = [Paragraph(capitalise(text)) for text in network.assumptions]
            parts.append(Folded("What was assumed where nothing was measured", assumed))
    if not parts:
        file = UNNAMED_FILE if subject.source is None else document.argument(subject.source)
        reason = "Bandwidth was not measured: what links carry, and what limits a collective, is "
        again = next_command("probe", "--resume", file, "--tool", "iperf3", way=cluster.way)
        parts.append(AdviceList([Advice(f"{reason}not known", again)]))
    return Section("bandwidth", "Bandwidth", parts)


def _rates(subject: Subject, cluster: Cluster) -> list[Part]:
    if cluster.bandwidth is None or not np.isfinite(cluster.bandwidth.gbit_s).any():
        return []
    gbit_s = cluster.bandwidth.gbit_s
    values, size = known_values(gbit_s), len(gbit_s)
    missing = size * (size - 1) - values.size
    spread = spread_text(values, bandwidth_text)
    sentence = f"What each host sent to each other one, as measured: {spread}."
    if missing:
        sentence += f" {directions_text(missing, size)} were not measured."
    return [
        Paragraph(sentence),
        matrix_legend(_ticks(*_ends(gbit_s)), _rate_colour, has_gaps=missing > 0),
        rate_map(subject, gbit_s),
        matrix_table(subject, gbit_s, "rates", bandwidth_text),
    ]


def _rate_colour(place: float) -> str:
    return colour(1.0 - place)


def _ticks(low: float, high: float) -> list[str]:
    """Return the tick values of the colour scale of rates."""
    steps = [step / (LEGEND_TICKS - 1) for step in range(LEGEND_TICKS)]
    texts = [bandwidth_text(low * (high / low) ** step).split() for step in steps]
    following = [*(unit for _, unit in texts[1:]), ""]
    return [
        number if unit == next_unit else f"{number} {unit}"
        for (number, unit), next_unit in zip(texts, following, strict=True)
    ]


def rate_map(subject: Subject, gbit_s: Matrix) -> Figure:
    """Return the heat map of bandwidths between hosts.

    Args:
        subject: the report's subject.
        gbit_s: (N, N), [source][destination], NaN where not measured; one above 0 at least.
    """
    low, high = _ends(gbit_s)
    least = float(np.nanmin(np.where(gbit_s > 0.0, gbit_s, np.nan), initial=low))
    return matrix_figure(
        subject,
        gbit_s,
        name="rate-map",
        unit="Gbit/s",
        high=high,
        stops=log_stops(least, low, high, _rate_colour),
        caption="A row is a source, a column a destination, bright is fast. A dark row is a host "
        "that sends slowly, a dark column one that receives slowly; dark fields between frames "
        "are groups whose connection is slow.",
        description=f"heat map of rates between {len(subject.names)} hosts; its numbers are in "
        "the table that follows",
    )


def _ends(gbit_s: Matrix) -> tuple[float, float]:
    """Return the slowest and the fastest rate of the colour scale."""
    known = gbit_s[np.isfinite(gbit_s) & (gbit_s > 0.0)]
    if not known.size:
        return 1.0, _LEAST_RATIO
    high = float(known.max())
    return min(float(known.min()), high / _LEAST_RATIO), high


def _links(subject: Subject, cluster: Cluster) -> list[Part]:
    bars = host_bars(subject, capacity(cluster, cluster.groups))
    if not bars:
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
    return [Paragraph(source), *bars]


def host_bars(subject: Subject, known: Capacity) -> list[Part]:
    """Return two bars per host, the slowest first and the rest folded; empty without rates."""
    rates = np.fmin(known.send_gbit_s, known.receive_gbit_s)
    if not np.isfinite(rates).any():
        return []
    # What was not measured is last.
    ranked = [int(host) for host in np.argsort(rates, kind="stable")]
    if len(ranked) <= _FEW:
        return [_host_bars(subject, known, ranked, "What each host's link carries, slowest first")]
    some = f"What hosts' links carry, the {_SLOWEST} slowest"
    shown = ranked[:_MOST_ROWS]
    every = f"all {len(ranked):,}" if len(shown) == len(ranked) else f"the {_MOST_ROWS} slowest"
    whole = _host_bars(subject, known, shown, "What hosts' links carry, slowest first")
    return [
        _host_bars(subject, known, ranked[:_SLOWEST], some),
        Folded(f"The links of {every} hosts", [whole]),
    ]


def _host_bars(subject: Subject, known: Capacity, hosts: Sequence[int], caption: str) -> Bars:
    sides = (("send", known.send_gbit_s), ("receive", known.receive_gbit_s))
    most = max(float(np.nanmax(rates)) for _, rates in sides)
    slow = {(each.host, each.kind) for each in subject.outliers}
    rows = []
    for host in hosts:
        name = subject.names[host]
        bars = [
            _bar(float(rates[host]), most, is_slow=(name, kind) in slow) for kind, rates in sides
        ]
        rows.append((name, bars))
    return Bars(caption, ("host", "sends", "receives"), rows)


def _bar(gbit_s: float, most: float, *, is_slow: bool) -> Bar | None:
    if not np.isfinite(gbit_s):
        return None
    text = bandwidth_text(gbit_s) + (" (slow)" if is_slow else "")
    return Bar(text, gbit_s / (most or 1.0), BETWEEN if is_slow else WITHIN)


def _uplinks(subject: Subject, cluster: Cluster) -> list[Part]:
    uplinks = () if cluster.uplinks is None else cluster.uplinks.uplinks
    bars = uplink_bars(uplinks)
    if bars is None:
        unknown = (
            "Uplinks were not measured: what groups can exchange with each other is not known."
        )
        return [Paragraph(unknown)] if len(subject.groups) > 1 else []
    parts: list[Part] = [bars]
    if any(uplink.send_is_lower_bound or uplink.receive_is_lower_bound for uplink in uplinks):
        bound = "≥: at least; something else, as the other groups' links, may have been the limit."
        parts.append(Paragraph(bound))
    return parts


def uplink_bars(uplinks: Sequence[Uplink]) -> Bars | None:
    """Return the bars of each group's uplink rates, beside what its hosts could reach."""
    known = [
        rate
        for uplink in uplinks
        for rate in (uplink.send_gbit_s, uplink.receive_gbit_s, uplink.hosts_gbit_s)
        if rate is not None
    ]
    if not known:
        return None
    most = max(known) or 1.0

    def bar(gbit_s: float | None, text: str, shade: str = WITHIN) -> Bar | None:
        return None if gbit_s is None else Bar(text, gbit_s / most, shade)

    rows = []
    for uplink in uplinks:
        ratio = oversubscription(uplink)
        could = rate_text(uplink.hosts_gbit_s) + ("" if ratio is None else f" ({ratio:.1f}:1)")
        sends = rate_text(uplink.send_gbit_s, uplink.send_is_lower_bound)
        receives = rate_text(uplink.receive_gbit_s, uplink.receive_is_lower_bound)
        bars = [
            bar(uplink.send_gbit_s, sends),
            bar(uplink.receive_gbit_s, receives),
            bar(uplink.hosts_gbit_s, could, NO_GROUP_COLOUR),
        ]
        rows.append((uplink.group, bars))
    caption = "What all hosts of a group together exchange with other groups"
    return Bars(caption, ("group", "sends", "receives", "its hosts could"), rows)


def limits_table(subject: Subject, network: KnownNetwork) -> Table | None:
    """Return the table of what each collective waits for; None if no link rate is known."""
    cluster = subject.cluster
    if cluster is None or not network.has_rates or len(subject.names) < 2:
        return None
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
    columns: list[Column[tuple[Limited, str]]] = [
        Column("collective", lambda row: row[0].algorithm, is_text=True),
        Column("order", lambda row: row[1], is_text=True),
        Column("takes", lambda row: rtt_text(1e6 * row[0].seconds)),
        Column("waits for", lambda row: _waits_text(subject, row[0]), is_text=True),
    ]
    caption = (
        f"What limits which collective: the predicted time for {format_size(size_bytes)} on each "
        "rank, and what that is spent waiting for"
    )
    return table(caption, columns, rows) if rows else None


def _waits_text(subject: Subject, limited: Limited) -> str:
    return ", ".join(
        f"{limit_text(subject, limit)} ({share_text(limit.seconds / limited.seconds)})"
        for limit in limited.limits
        if limit.seconds >= _LEAST_SHARE * limited.seconds
    )


def limit_text(subject: Subject, limit: Limit) -> str:
    """Return what a collective waits for, such as a host's link, as a phrase."""
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
    owners = join_texts([names[place] for place in both], "and")
    links = f"the {link}{'s' if len(both) > 1 else ''} of {owners}"
    if not limit.receiving:
        return f"sending on {links}"
    if not limit.sending:
        return f"receiving on {links}"
    return links
