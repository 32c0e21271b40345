"""Facts about the measurements in a cluster file: round trips, bandwidths, uplinks and routes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from plink.base.text import (
    bandwidth_text,
    format_count,
    options_text,
    rtt_text,
    share_text,
    time_text,
)
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink
from plink.formats.measurements import Failure, Measurement
from plink.show.summary import Summary, oversubscription, rank_pairs, summarise_routes
from plink.show.tables import UNKNOWN, Column, Fact, join_some, table_lines

_SHOWN = 3
LOWER_BOUND = "≥: at least; something else, as the other groups' links, may be the limit"


def directions_text(count: int, hosts: int) -> str:
    """Format a number of directed pairs beside that of all: `54 of 56 directions`."""
    return f"{count:,} of {format_count(hosts * (hosts - 1), 'direction')}"


def known_values(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the finite values of a matrix as a vector, (M,): those that were measured."""
    values: npt.NDArray[np.float64] = matrix[np.isfinite(matrix)]
    return values


def spread_text(values: npt.NDArray[np.float64], text: Callable[[float], str]) -> str:
    """Format the least, largest and median of values: `1 ms to 3 ms, median 2 ms`."""
    least, middle, most = (text(float(value)) for value in np.quantile(values, [0.0, 0.5, 1.0]))
    return f"{least} to {most}, median {middle}"


def describe_measurement(measurement: Measurement) -> str:
    """Return the tool, options, time and duration of a measurement in words."""
    # The percentile that is shown stands elsewhere, and may be another than that of the run.
    options = {
        name: value
        for name, value in measurement.options.items()
        if value is not None and name != "percentile"
    }
    parts = [f"by {measurement.tool}" + (f" ({options_text(options)})" if options else "")]
    if measurement.started is not None:
        parts.append(time_text(measurement.started))
    if measurement.seconds:
        parts.append(f"{measurement.seconds:.1f} s")
    return " · ".join(parts)


def failure_facts(label: str, failures: Sequence[Failure]) -> list[Fact]:
    """Return table rows (name, lines) on failures by reason, the most frequent first."""
    if not failures:
        return []
    by_reason: dict[str, list[str]] = {}
    for failure in failures:
        ends = filter(None, (failure.source, failure.destination))
        by_reason.setdefault(failure.reason, []).append(" → ".join(ends))
    most_first = sorted(by_reason.items(), key=lambda entry: -len(entry[1]))
    lines = [f"{join_some(ends, _SHOWN)}: {reason}" for reason, ends in most_first[:_SHOWN]]
    if len(most_first) > _SHOWN:
        lines.append(format_count(len(most_first) - _SHOWN, "other reason"))
    return [(label, lines)]


def doubt_facts(measurement: Measurement) -> list[Fact]:
    """Return table rows (name, lines) on a measurement's failures and reasons for caution."""
    notes = [("notes", measurement.notes[:_SHOWN])] if measurement.notes else []
    return failure_facts("failed", measurement.failures) + notes


def rtt_facts(summary: Summary) -> list[Fact]:
    """Return table rows (name, lines) on round trips: modes, extremes, asymmetry, losses, gaps."""
    nearest, farthest = (
        [f"{rtt_text(pair.rtt_us)} {pair.source} – {pair.destination}" for pair in pairs[:_SHOWN]]
        for pairs in (summary.nearest, summary.farthest)
    )
    asymmetry = ["no pair has readings above 0 both ways"]
    if summary.asymmetry is not None:
        worst = summary.asymmetry
        ends = f"{worst.source} → {worst.destination}"
        both = [f"median {share_text(worst.median)}", f"worst {share_text(worst.worst)} {ends}"]
        asymmetry = both if worst.worst else ["none"]
    losses = missing = ["none"]
    if summary.lost:
        of = f"{summary.lost:,} of {summary.sent:,} ({share_text(summary.lost / summary.sent)})"
        losses = [f"{of}, {format_count(summary.lossy_pairs, 'direction')}"]
        losses += [
            f"{loss.lost:,} of {loss.sent:,} {loss.source} → {loss.destination}"
            for loss in summary.losses[:_SHOWN]
        ]
    if gaps := summary.pairs - summary.measured:
        missing = [f"{gaps:,} of {format_count(summary.pairs, 'direction')}"]
        missing += [] if summary.sample is None else [f"sampled: {summary.sample}"]
        missing += [f"{gap.pairs:,} with {gap.host}" for gap in summary.gaps[:_SHOWN]]
    return [
        (
            "modes",
            [f"{rtt_text(mode.rtt_us)} ({share_text(mode.share)})" for mode in summary.modes],
        ),
        ("nearest", nearest),
        ("farthest", farthest),
        ("asymmetry", asymmetry),
        ("losses", losses),
        ("missing", missing),
    ]


def bandwidth_facts(cluster: Cluster) -> list[Fact]:
    """Return table rows (name, lines) on bandwidths: extremes, slowest directions, failures."""
    bandwidth = cluster.bandwidth
    if bandwidth is None:
        return []
    values = known_values(bandwidth.gbit_s)
    lines = [describe_measurement(bandwidth)]
    if values.size:
        lines.append(spread_text(values, bandwidth_text))
    lines.append(f"{directions_text(values.size, len(cluster.hosts))} measured")
    facts: list[Fact] = [("bandwidth", lines)]
    names, gbit_s = cluster.names, bandwidth.gbit_s
    slowest = [
        f"{bandwidth_text(float(gbit_s[i, j]))} {names[i]} → {names[j]}"
        for i, j in rank_pairs(gbit_s)[:_SHOWN]
    ]
    if slowest:
        facts.append(("slowest", slowest))
    return facts + doubt_facts(bandwidth)


def uplink_lines(cluster: Cluster) -> list[str]:
    """Return the lines of the table of uplinks, heading first; empty if none was measured."""
    if cluster.uplinks is None:
        return []
    sizes = {group.name: str(len(group.hosts)) for group in cluster.groups}

    def oversubscription_text(uplink: Uplink) -> str:
        ratio = oversubscription(uplink)
        if ratio is None:
            return UNKNOWN
        directions = (
            (uplink.send_gbit_s, uplink.send_is_lower_bound),
            (uplink.receive_gbit_s, uplink.receive_is_lower_bound),
        )
        # The ratio is that of the slower direction, whose lower bound makes an upper one of it.
        _, is_upper_bound = min((rate, is_least) for rate, is_least in directions if rate)
        return f"{'≤ ' if is_upper_bound else ''}{ratio:.1f}:1"

    columns: list[Column[Uplink]] = [
        Column("group", lambda uplink: uplink.group, is_text=True),
        Column("hosts", lambda uplink: sizes[uplink.group]),
        Column("sends", lambda uplink: rate_text(uplink.send_gbit_s, uplink.send_is_lower_bound)),
        Column(
            "receives",
            lambda uplink: rate_text(uplink.receive_gbit_s, uplink.receive_is_lower_bound),
        ),
        Column("hosts' links", lambda uplink: rate_text(uplink.hosts_gbit_s)),
        Column("oversubscribed", oversubscription_text),
    ]
    uplinks = cluster.uplinks.uplinks
    lines = table_lines(columns, uplinks)
    if any(uplink.send_is_lower_bound or uplink.receive_is_lower_bound for uplink in uplinks):
        lines.append(LOWER_BOUND)
    return lines


def rate_text(gbit_s: float | None, is_lower_bound: bool = False) -> str:
    """Format a rate in Gbit/s, marked by `≥` if it is a lower bound; `-` for None."""
    if gbit_s is None:
        return UNKNOWN
    return f"{'≥ ' if is_lower_bound else ''}{bandwidth_text(gbit_s)}"


def route_facts(cluster: Cluster) -> list[Fact]:
    """Return table rows (name, lines) on routes: hops, distinct routes, oddities, failures."""
    routes = cluster.routes
    if routes is None:
        return []
    summary = summarise_routes(routes)
    hops = [describe_measurement(routes)]
    if summary.median_hops is not None:
        ends = f"{summary.min_hops} to {format_count(summary.max_hops or 0, 'hop')}"
        hops.append(f"{ends}, median {summary.median_hops:g}")
    hops.append(f"{directions_text(summary.measured, len(cluster.hosts))} measured")
    distinct = [format_count(summary.distinct, "route")]
    if summary.with_silent:
        distinct.append(f"{summary.with_silent:,} with routers that do not show themselves")
    if summary.with_repeated:
        distinct.append(f"{summary.with_repeated:,} past the same router twice")
    facts: list[Fact] = [("hops", hops), ("routes", distinct)]
    return facts + doubt_facts(routes)
