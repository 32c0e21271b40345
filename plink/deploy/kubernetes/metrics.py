"""Prometheus metrics of a cluster's round-trip measurement, as text for a node exporter."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from plink.base.text import parse_time
from plink.deploy.kubernetes.tiers import find_tiers
from plink.formats.cluster import Cluster, require_rtt
from plink.formats.matrices import median_rows

_S_PER_US = 1e-6

# Name, help, and a line's labels and value each.
Values = list[tuple[dict[str, str], float]]
Family = tuple[str, str, Values]


def render(cluster: Cluster) -> str:
    """Return a cluster's round-trip times, losses and tiers as metrics in Prometheus' format.

    Raises:
        NotMeasuredError: no round trips were measured.
        WrongUseError: its groups are not nested.
    """
    return "".join(_text(family) for family in families(cluster))


def families(cluster: Cluster) -> Iterator[Family]:
    """Yield (name, help, values with labels) of each Prometheus metric."""
    rtt = require_rtt(cluster)
    readings_us = np.array(rtt.readings_us, dtype=float)
    np.fill_diagonal(readings_us, np.nan)
    hosts = len(cluster.hosts)
    missing = hosts * (hosts - 1) - int(np.isfinite(readings_us).sum())
    for name, text, value in (
        ("measured_timestamp_seconds", "When the measurement began", _seconds(rtt.started)),
        ("probing_seconds", "How long it took", rtt.seconds),
        ("hosts", "Hosts that were measured", hosts),
        ("unreachable_hosts", "Listed hosts that were not reached", len(cluster.unreachable)),
        ("pairs_missing", "Directed pairs without a reading", missing),
        ("probes_lost", "Probes without an answer", int(np.sum(rtt.losses))),
    ):
        yield name, text, [({}, value)]
    tiers: Values = [
        ({"tier": str(n)}, len(tier.domains)) for n, tier in enumerate(find_tiers(cluster))
    ]
    yield "tier_domains", "Domains of each tier, 0 the finest", tiers
    medians_us = zip(cluster.names, median_rows(readings_us).tolist(), strict=True)
    medians = [
        ({"host": name}, median_us * _S_PER_US)
        for name, median_us in medians_us
        if np.isfinite(median_us)
    ]
    yield "host_rtt_seconds", "Median round trip to the other hosts", medians


def _seconds(iso: str | None) -> float:
    moment = parse_time(iso or "")
    return 0.0 if moment is None else moment.timestamp()


def _text(family: Family) -> str:
    name, text, values = family
    lines = [f"# HELP plink_{name} {text}", f"# TYPE plink_{name} gauge"]
    for labels, value in values:
        told = ",".join(f'{key}="{text}"' for key, text in labels.items())
        where = f"{{{told}}}" if told else ""
        lines.append(f"plink_{name}{where} {float(value)!r}")
    return "\n".join(lines) + "\n"
