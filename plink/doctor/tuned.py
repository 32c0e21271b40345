"""Finding that a job became slower under `plink autotune`, from the tuner's log."""

from __future__ import annotations

import math
from datetime import datetime, timezone

import numpy as np

from plink.autotune.log.history import History
from plink.base.text import format_names, rtt_text
from plink.doctor.certainty import Floats, probability, spread
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind

# Windows on either side of the change.
_LEAST_WINDOWS = 3
_SLOWER = 1.15
_LEAST_SPREAD = 0.03
# A host whose masters were taken away sends this much less, beside the others.
_LESS = 0.75


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding if iterations take longer from some window to the end."""
    run = evidence.tuned
    if run is None or run.windows < 2 * _LEAST_WINDOWS:
        return []
    logs: Floats = np.log(run.iteration_s)
    split = _split(logs)
    before, after = logs[:split], logs[split:]
    factor = math.exp(float(np.median(after) - np.median(before)))
    if factor < _SLOWER:
        return []
    noise = max(spread(before, _LEAST_SPREAD), spread(after, _LEAST_SPREAD))
    hosts = _find_lower_shares(run, split)
    when = datetime.fromtimestamp(float(run.at_s[split]), timezone.utc)
    says = (
        f"iterations take {rtt_text(1e6 * math.exp(float(np.median(after))))} since "
        f"{when:%Y-%m-%d %H:%M} UTC, {factor:.2f} times as long as before"
    )
    if hosts:
        says += f"; the tuner has let {format_names(hosts)} send less since then"
    reasons = [
        f"the tuner, after window {change.window + 1}: {change.reason}"
        for change in run.changes
        if change.window >= split - 1 and change.reason
    ]
    return [
        Finding(
            FindingKind.SLOWER_JOB,
            hosts,
            says,
            probability(
                math.log(factor) / noise * math.sqrt(min(len(before), len(after), 9)), run.windows
            ),
            factor,
            ["measure now, and look at that: plink probe, then plink doctor of the cluster file"],
            evidence=reasons[:3],
        )
    ]


def _split(logs: Floats) -> int:
    """Return the window at which a series of iteration times best splits into two levels."""
    costs = {
        split: float(
            np.abs(logs[:split] - np.median(logs[:split])).sum()
            + np.abs(logs[split:] - np.median(logs[split:])).sum()
        )
        for split in range(_LEAST_WINDOWS, len(logs) - _LEAST_WINDOWS + 1)
    }
    return min(costs, key=lambda split: costs[split])


def _find_lower_shares(run: History, split: int) -> list[str]:
    """Return the hosts whose share of the traffic is lower than before."""
    parts = run.sent_bytes / np.maximum(run.sent_bytes.sum(axis=1, keepdims=True), 1.0)
    then, now = np.median(parts[:split], axis=0), np.median(parts[split:], axis=0)
    return [
        name
        for name, old, new in zip(run.hosts, then, now, strict=True)
        if old > 0.0 and new < _LESS * old
    ]
