"""What a diagnosis could look at, so that silence about the rest is not taken for health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.text import counted
from plink.doctor.evidence import Evidence


@dataclass(frozen=True)
class LookedAt:
    """What was there to look at, and what was not, a clause each."""

    present: Sequence[str]
    missing: Sequence[str]


def looked_at(evidence: Evidence) -> LookedAt:
    """What the evidence holds."""
    cluster = evidence.cluster
    present: list[str] = []
    missing: list[str] = []

    def tell(what: str, count: str | None) -> None:
        (missing if count is None else present).append(
            what if count is None else f"{what} ({count})"
        )

    if cluster.hosts:
        rtt, bandwidth, uplinks = cluster.rtt, cluster.bandwidth, cluster.uplinks
        pairs = 0 if rtt is None else int(np.isfinite(rtt.readings_us).sum())
        tell("round trips and losses", counted(pairs, "directed pair") if pairs else None)
        tell("hosts' links", counted(len(evidence.links), "host") if evidence.links else None)
        both = 0 if bandwidth is None else int(np.isfinite(bandwidth.gbit_s).sum())
        tell("bandwidths of pairs", counted(both, "directed pair") if both else None)
        known = [] if uplinks is None else list(uplinks.uplinks)
        tell("groups' uplinks", counted(len(known), "group") if known else None)
        twice = sum(each.both_gbit_s is not None for each in known)
        tell("uplinks both ways at once", counted(twice, "group") if twice else None)
        said = len(evidence.conditions)
        tell("settings, processors and clocks", counted(said, "host") if said else None)
        before = evidence.before
        tell("an earlier file", None if before is None else counted(len(before.hosts), "host"))
    if evidence.tuned is not None:
        present.append(f"a tuned job's log ({counted(evidence.tuned.windows, 'window')})")
    if evidence.comparison is not None:
        present.append(f"a comparison ({counted(len(evidence.comparison.rows), 'row')})")
    return LookedAt(present, missing)
