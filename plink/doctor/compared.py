"""Finding about job times that grew between two `plink bench` comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from plink.base.size import format_size
from plink.base.text import rtt_text
from plink.doctor.certainty import probability, spread
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.formats.comparison import ComparisonRow

_SLOWER = 1.15
_LEAST_SPREAD = 0.04
_MOST_NAMED = 3


def find(evidence: Evidence) -> list[Finding]:
    """Return one finding on everything that takes longer than in the earlier comparison."""
    now, then = evidence.comparison, evidence.comparison_before
    if now is None or then is None:
        return []
    before = {_key(row): row for row in then.rows}
    shared = [(row, before[_key(row)]) for row in now.rows if _key(row) in before]
    found = sorted(
        ((new.median_s / old.median_s, new, old) for new, old in shared), key=lambda each: -each[0]
    )
    slower = [
        (factor, new, old, sure)
        for factor, new, old in found
        if factor > _SLOWER and (sure := _compute_probability(factor, new, old, len(shared))) > 0.0
    ]
    if not slower:
        return []
    factor, new, old, sure = max(slower, key=lambda each: each[3] * (each[0] - 1.0))
    others = [each for each in slower if each[1] is not new]
    return [
        Finding(
            FindingKind.SLOWER_JOB,
            [],
            f"{_describe_row(new)} takes {_seconds(new.median_s)}, {factor:.2f} times as long as "
            f"in the earlier comparison ({_seconds(old.median_s)})",
            sure,
            factor,
            ["measure the network now, and look at that: plink probe, then plink doctor"],
            evidence=[
                f"{_describe_row(row)}: {times:.2f} times as long"
                for times, row, _, _ in others[:_MOST_NAMED]
            ],
        )
    ]


def _key(row: ComparisonRow) -> tuple[object, ...]:
    return (row.client, row.algorithm, row.plan, row.order, row.collective, row.size_bytes)


def _compute_probability(
    factor: float, new: ComparisonRow, old: ComparisonRow, looked_at: int
) -> float:
    noise = max(_noise(new.samples_s), _noise(old.samples_s))
    count = max(1, min(len(new.samples_s), len(old.samples_s), 9))
    return probability(math.log(factor) / noise * math.sqrt(count), looked_at)


def _noise(samples_s: Sequence[float]) -> float:
    return spread(np.log(np.array(samples_s or [1.0])), _LEAST_SPREAD)


def _describe_row(row: ComparisonRow) -> str:
    order = f" in the order {row.order}" if row.order else ""
    return (
        f"{row.collective} of {format_size(row.size_bytes)} by {row.client} {row.algorithm}{order}"
    )


def _seconds(seconds: float) -> str:
    return rtt_text(1e6 * seconds)
