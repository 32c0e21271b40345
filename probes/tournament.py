"""Who meets whom, and when: the round-robin tournament (Luo 2020, §5.2.2)."""

from __future__ import annotations

from probes.samples import Rounds


def round_robin(hosts: int) -> Rounds:
    """Rounds of disjoint pairs in which every two hosts meet exactly once (circle method).

    Args:
        hosts: the number of hosts, at least 0.

    Returns:
        N - 1 rounds of N/2 pairs for even N; N rounds of (N - 1)/2 pairs for odd N, each host
        sitting out once. A pair is (lower index, higher index).
    """
    if hosts < 2:
        return []
    seats = hosts + hosts % 2
    rounds = []
    for turn in range(seats - 1):
        circle = [0] + [1 + (seat + turn) % (seats - 1) for seat in range(seats - 1)]
        pairs = [(circle[k], circle[seats - 1 - k]) for k in range(seats // 2)]
        rounds.append([(min(a, b), max(a, b)) for a, b in pairs if max(a, b) < hosts])
    return rounds
