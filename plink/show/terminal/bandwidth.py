"""Bandwidths of a cluster file: facts between hosts, a table of groups' uplinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plink.base.text import bandwidth_text, format_count, printable
from plink.files.cluster import Cluster
from plink.files.groups import Uplink
from plink.files.measurements import BandwidthMeasurement
from plink.files.structs import encode
from plink.show.terminal.facts import Fact, align_columns, failures, how, notes

_SHOWN = 3
UPLINK_HEADER = ("group", "hosts", "sends", "receives", "hosts' links", "oversubscribed")
_UNKNOWN = "-"


def bandwidth_facts(cluster: Cluster) -> list[Fact]:
    """Return facts on bandwidths: extremes, median, slowest directions, failures.

    Empty without any.
    """
    bandwidth = cluster.bandwidth
    if bandwidth is None:
        return []
    values = bandwidth.gbit_s[np.isfinite(bandwidth.gbit_s)]
    lines = [how(bandwidth)]
    if values.size:
        least, middle, most = (
            bandwidth_text(float(value))
            for value in (values.min(), np.median(values), values.max())
        )
        lines.append(f"{least} to {most}, median {middle}")
    size = len(cluster.hosts)
    lines.append(f"{values.size:,} of {format_count(size * (size - 1), 'direction')} measured")
    rows: list[Fact] = [("bandwidth", lines), ("slowest", _slowest(cluster.names, bandwidth))]
    rows += failures("failed", bandwidth.failures) + notes(bandwidth)
    return [row for row in rows if row[1]]


def uplink_facts(cluster: Cluster) -> list[Fact]:
    """Return failures and notes of the measurement of uplinks."""
    if cluster.uplinks is None:
        return []
    return failures("failed", cluster.uplinks.failures) + notes(cluster.uplinks)


def bandwidth_to_json(cluster: Cluster) -> dict[str, Any]:
    """Return bandwidths and uplinks for `plink show --json`; empty if unknown."""
    data: dict[str, Any] = {}
    bandwidth = cluster.bandwidth
    if bandwidth is not None:
        values = bandwidth.gbit_s[np.isfinite(bandwidth.gbit_s)]
        extremes = (values.min(), np.median(values), values.max()) if values.size else (None,) * 3
        least, middle, most = (None if value is None else float(value) for value in extremes)
        data["bandwidth"] = {
            "tool": bandwidth.tool,
            "options": dict(bandwidth.options),
            "measured": int(values.size),
            "min_gbit_s": least,
            "median_gbit_s": middle,
            "max_gbit_s": most,
        }
    if cluster.uplinks is not None:
        data["uplinks"] = [_uplink_to_json(uplink) for uplink in cluster.uplinks.uplinks]
    return data


def _uplink_to_json(uplink: Uplink) -> dict[str, Any]:
    ratio = oversubscription(uplink)
    return {**encode(uplink), **({} if ratio is None else {"oversubscription": ratio})}


def _slowest(names: Sequence[str], bandwidth: BandwidthMeasurement) -> list[str]:
    flat = bandwidth.gbit_s.ravel()
    known = np.flatnonzero(np.isfinite(flat))
    ranked = known[np.argsort(flat[known], kind="stable")][:_SHOWN]
    pairs = (divmod(int(index), len(names)) for index in ranked)
    return [
        f"{bandwidth_text(float(bandwidth.gbit_s[i, j]))} {names[i]} → {names[j]}" for i, j in pairs
    ]


def uplink_lines(cluster: Cluster) -> list[str]:
    """Return the lines of the uplink table, heading first; empty if none was measured."""
    if cluster.uplinks is None:
        return []
    lines = align_columns([UPLINK_HEADER, *uplink_rows(cluster)])
    if any(uplink.send_is_lower_bound or uplink.receive_is_lower_bound for uplink in _all(cluster)):
        lines.append("≥: at least; something else, as the other groups' links, may be the limit")
    return lines


def uplink_rows(cluster: Cluster) -> list[tuple[str, ...]]:
    """Return a row for each uplink, under `UPLINK_HEADER`."""
    sizes = {group.name: len(group.hosts) for group in cluster.groups}
    return [_row(uplink, sizes.get(uplink.group)) for uplink in _all(cluster)]


def oversubscription(uplink: Uplink) -> float | None:
    """Return the ratio of the hosts' summed rates to their uplink's rate."""
    carried = [rate for rate in (uplink.send_gbit_s, uplink.receive_gbit_s) if rate]
    if uplink.hosts_gbit_s is None or not carried:
        return None
    return max(1.0, uplink.hosts_gbit_s / min(carried))


def _all(cluster: Cluster) -> Sequence[Uplink]:
    return () if cluster.uplinks is None else cluster.uplinks.uplinks


def _row(uplink: Uplink, hosts: int | None) -> tuple[str, ...]:
    ratio = oversubscription(uplink)
    # The ratio is of the smaller direction; what that one has as its least is the ratio's most.
    least = min((rate, bound) for rate, bound in _directions(uplink)) if ratio else (0.0, False)
    return (
        printable(uplink.group),
        _UNKNOWN if hosts is None else str(hosts),
        _rate(uplink.send_gbit_s, is_lower_bound=uplink.send_is_lower_bound),
        _rate(uplink.receive_gbit_s, is_lower_bound=uplink.receive_is_lower_bound),
        _rate(uplink.hosts_gbit_s),
        _UNKNOWN if ratio is None else f"{'≤ ' if least[1] else ''}{ratio:.1f}:1",
    )


def _directions(uplink: Uplink) -> list[tuple[float, bool]]:
    both = (
        (uplink.send_gbit_s, uplink.send_is_lower_bound),
        (uplink.receive_gbit_s, uplink.receive_is_lower_bound),
    )
    return [(rate, bound) for rate, bound in both if rate]


def _rate(gbit_s: float | None, *, is_lower_bound: bool = False) -> str:
    if gbit_s is None:
        return _UNKNOWN
    return f"{'≥ ' if is_lower_bound else ''}{bandwidth_text(gbit_s)}"
