"""Findings about pairs that are slower than both hosts' other pairs."""

from __future__ import annotations

import math

import numpy as np

from plink.base.text import bandwidth_text
from plink.doctor.certainty import Floats, probability, spread
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.formats.matrices import Matrix

_SLOW = 0.6
_LEAST_SPREAD = 0.08
_LEAST_COMPARED = 3
_MOST_FINDINGS = 8
_MOST_SHARE = 0.1


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each pair slower than its hosts' other pairs, the slowest first."""
    measured = evidence.cluster.bandwidth
    if measured is None:
        return []
    with np.errstate(divide="ignore"):
        logs: Matrix = np.where(measured.gbit_s > 0.0, np.log(measured.gbit_s), np.nan)
    np.fill_diagonal(logs, np.nan)
    usual = _predict_log_rates(evidence, logs)
    below = usual - logs
    known = np.isfinite(below)
    if not known.any():
        return []
    noise = spread(below[known], _LEAST_SPREAD)
    slow = np.argwhere(known & (np.nan_to_num(below) > -math.log(_SLOW))).tolist()
    if len(slow) > max(1, int(_MOST_SHARE * known.sum())):
        return []
    slow = sorted(slow, key=lambda pair: -below[pair[0], pair[1]])
    return [
        _finding(
            (evidence.names[one], evidence.names[other]),
            float(np.exp(logs[one, other])),
            float(np.exp(usual[one, other])),
            probability(float(below[one, other]) / noise, int(known.sum())),
        )
        for one, other in slow[:_MOST_FINDINGS]
    ]


def _predict_log_rates(evidence: Evidence, logs: Matrix) -> Matrix:
    """Return the log rate of each pair that its hosts' other pairs predict, (N, N)."""
    same = evidence.group_by_host[:, None] == evidence.group_by_host[None, :]
    usual = np.full(logs.shape, np.nan)
    for inside in (True, False):
        side = np.where(same == inside, logs, np.nan)
        sent, received = _medians(side)[:, None], _medians(side.T)[None, :]
        usual = np.where(np.isfinite(side), np.fmin(sent, received), usual)
    return usual


def _medians(matrix: Matrix) -> Floats:
    """Return the median of each row; NaN with too few known values."""
    rows = np.sort(matrix, axis=1)
    known = np.isfinite(rows).sum(axis=1)
    places = np.arange(len(rows))
    low, high = (rows[places, np.maximum(known - 1 + more, 0) // 2] for more in (0, 1))
    medians: Floats = np.where(known >= _LEAST_COMPARED, (low + high) / 2.0, np.nan)
    return medians


def _finding(pair: tuple[str, str], here: float, there: float, sure: float) -> Finding:
    source, destination = pair
    return Finding(
        FindingKind.SLOW_PAIR,
        [source, destination],
        f"{source} sends {bandwidth_text(here)} to {destination}, though both do "
        f"{bandwidth_text(there)} with others of the same groups",
        sure,
        there / here,
        [
            (
                "look for what lies on that way alone: one of several equal routes (ECMP) "
                "that is ill, a policer or firewall between the two"
            ),
            "compare routes: plink probe with the tool trace",
        ],
    )
