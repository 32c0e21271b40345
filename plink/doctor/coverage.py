"""Inputs that a diagnosis had or lacked: no findings do not mean health where little was known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np

from plink.base.text import format_count, parse_time
from plink.doctor.evidence import Evidence
from plink.formats.cluster import Cluster
from plink.formats.measurements import Measurement


@dataclass(frozen=True)
class Coverage:
    """Inputs of a diagnosis that were present, with their date, and those that were missing."""

    present: Sequence[str]
    missing: Sequence[str]


def list_coverage(evidence: Evidence) -> Coverage:
    """Return phrases on the inputs that the evidence has, with their dates, or lacks."""
    cluster = evidence.cluster
    present: list[str] = []
    missing: list[str] = []

    def tell(what: str, number: int, one: str, measurement: Measurement | None) -> None:
        if number == 0:
            missing.append(what)
        else:
            when = _describe_time(measurement, evidence.asked_at)
            present.append(f"{what} ({format_count(number, one)}, {when})")

    if cluster.hosts:
        rtt, bandwidth, uplinks = cluster.rtt, cluster.bandwidth, cluster.uplinks
        pairs = 0 if rtt is None else int(np.isfinite(rtt.readings_us).sum())
        tell("round trips and losses", pairs, "directed pair", rtt)
        links_from = uplinks if uplinks is not None and uplinks.links else bandwidth
        tell("hosts' links", len(evidence.links), "host", links_from)
        both = 0 if bandwidth is None else int(np.isfinite(bandwidth.gbit_s).sum())
        tell("bandwidths of pairs", both, "directed pair", bandwidth)
        known = [] if uplinks is None else list(uplinks.uplinks)
        tell("groups' uplinks", len(known), "group", uplinks)
        twice = sum(each.both_gbit_s is not None for each in known)
        tell("uplinks both ways at once", twice, "group", uplinks)
        conditions = len(evidence.conditions)
        tell("settings, processors and clocks", conditions, "host", cluster.conditions)
        before = evidence.before or Cluster(())
        first = before.rtt or before.uplinks or before.bandwidth or before.conditions
        tell("an earlier file", len(before.hosts), "host", first)
    if evidence.tuned is not None:
        present.append(f"a tuned job's log ({format_count(evidence.tuned.windows, 'window')})")
    if evidence.comparison is not None:
        present.append(f"a comparison ({format_count(len(evidence.comparison.rows), 'row')})")
    return Coverage(present, missing)


def _describe_time(measurement: Measurement | None, asked_at: datetime | None) -> str:
    """Return "measured now" for a measurement begun since `asked_at`, else its date."""
    started = parse_time("" if measurement is None else measurement.started or "")
    if started is None:
        return "from a file, undated"
    # Times without a zone are in UTC.
    started = started.replace(tzinfo=timezone.utc)
    if asked_at is not None and started >= asked_at:
        return "measured now"
    return f"from a file, {started:%Y-%m-%d %H:%M} UTC"
