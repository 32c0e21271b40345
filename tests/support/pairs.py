"""The pairs of a probe run."""

from __future__ import annotations

from probes.samples import Wanted


def all_pairs(hosts: int) -> Wanted:
    """Both directions of every pair of `hosts` hosts, by index."""
    return frozenset((i, j) for i in range(hosts) for j in range(hosts) if i != j)
