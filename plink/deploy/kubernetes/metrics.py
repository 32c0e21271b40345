"""Prometheus metrics of a cluster's measurement, as text for a node exporter."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import numpy as np

from plink.deploy.kubernetes.tiers import find_tiers
from plink.formats.cluster import Cluster, require_rtt

_S_PER_US = 1e-6

# Name, help, and a line's labels and value each.
Family = tuple[str, str, list[tuple[dict[str, str], float]]]


def render(cluster: Cluster) -> str:
    """Return the metrics of a cluster's round-trip times in Prometheus' text format.

    Raises:
        NotMeasuredError: no round trips were measured.
        WrongUseError: its groups are not nested.
    """
    return "".join(_text(family) for family in families(cluster))


def families(cluster: Cluster) -> Iterator[Family]:
    """Yield the metrics: name, help, and every value with its labels."""
    rtt = require_rtt(cluster)
    readings_us = np.array(rtt.readings_us, dtype=float)
    np.fill_diagonal(readings_us, np.nan)
    pairs = len(cluster.hosts) * (len(cluster.hosts) - 1)
    alone: dict[str, str] = {}
    yield (
        "measured_timestamp_seconds",
        "When the measurement began",
        [(alone, _seconds(rtt.started))],
    )
    yield "probing_seconds", "How long it took", [(alone, rtt.seconds)]
    yield "hosts", "Hosts that were measured", [(alone, len(cluster.hosts))]
    yield (
        "unreachable_hosts",
        "Listed hosts that were not reached",
        [(alone, len(cluster.unreachable))],
    )
    yield (
        "pairs_missing",
        "Directed pairs without a reading",
        [(alone, pairs - int(np.isfinite(readings_us).sum()))],
    )
    yield "probes_lost", "Probes without an answer", [(alone, int(np.sum(rtt.losses)))]
    yield (
        "tier_domains",
        "Domains of each tier, 0 the finest",
        [({"tier": str(n)}, len(tier.domains)) for n, tier in enumerate(find_tiers(cluster))],
    )
    medians_us = [
        (name, row[np.isfinite(row)]) for name, row in zip(cluster.names, readings_us, strict=True)
    ]
    yield (
        "host_rtt_seconds",
        "Median round trip to the other hosts",
        [
            ({"host": name}, float(np.median(known)) * _S_PER_US)
            for name, known in medians_us
            if len(known)
        ],
    )


def _seconds(iso: str | None) -> float:
    try:
        return datetime.fromisoformat((iso or "").replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _text(family: Family) -> str:
    name, text, values = family
    lines = [f"# HELP plink_{name} {text}", f"# TYPE plink_{name} gauge"]
    for labels, value in values:
        told = ",".join(f'{key}="{text}"' for key, text in labels.items())
        where = f"{{{told}}}" if told else ""
        lines.append(f"plink_{name}{where} {float(value)!r}")
    return "\n".join(lines) + "\n"
