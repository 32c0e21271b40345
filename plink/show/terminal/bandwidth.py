"""What a cluster file says of bandwidth, in numbers and as facts for its page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from plink.base.text import bandwidth_text, counted
from plink.files.bandwidth import BandwidthMeasurement
from plink.files.cluster import Cluster
from plink.files.measurement import without_nones
from plink.show.terminal.facts import Fact, failures, how, notes
from plink.show.terminal.uplinks import oversubscription

_SHOWN = 3


def bandwidth_facts(cluster: Cluster) -> list[Fact]:
    """The extremes and the middle, the slowest directions, and what failed; none without any."""
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
    lines.append(f"{values.size:,} of {counted(size * (size - 1), 'direction')} measured")
    rows: list[Fact] = [("bandwidth", lines), ("slowest", _slowest(cluster.names, bandwidth))]
    rows += failures("failed", bandwidth.failures) + notes(bandwidth)
    return [row for row in rows if row[1]]


def uplink_facts(cluster: Cluster) -> list[Fact]:
    """What failed when uplinks were measured, and what to know of it."""
    if cluster.uplinks is None:
        return []
    return failures("failed", cluster.uplinks.failures) + notes(cluster.uplinks)


def bandwidth_to_json(cluster: Cluster) -> dict[str, Any]:
    """What `plink show --json` says of bandwidth and uplinks; empty where nothing is known."""
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
        data["uplinks"] = [
            without_nones({**vars(uplink), "oversubscription": oversubscription(uplink)})
            for uplink in cluster.uplinks.uplinks
        ]
    return data


def _slowest(names: Sequence[str], bandwidth: BandwidthMeasurement) -> list[str]:
    flat = bandwidth.gbit_s.ravel()
    known = np.flatnonzero(np.isfinite(flat))
    ranked = known[np.argsort(flat[known], kind="stable")][:_SHOWN]
    pairs = (divmod(int(index), len(names)) for index in ranked)
    return [
        f"{bandwidth_text(float(bandwidth.gbit_s[i, j]))} {names[i]} → {names[j]}" for i, j in pairs
    ]
