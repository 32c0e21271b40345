"""Who meets whom, and when: the round-robin tournament (Luo 2020, §5.2.2)."""

from __future__ import annotations

from collections.abc import Iterable

from probes.samples import Rounds


def rounds_in_all(hosts: int) -> int:
    """The rounds in which every two of `hosts` hosts meet once: N - 1, or N where N is odd."""
    return hosts - 1 + hosts % 2 if hosts > 1 else 0


def round_robin(hosts: int) -> Rounds:
    """Rounds of disjoint pairs in which every two hosts meet exactly once (circle method).

    Args:
        hosts: the number of hosts, at least 0.

    Returns:
        N - 1 rounds of N/2 pairs for even N; N rounds of (N - 1)/2 pairs for odd N, each host
        sitting out once. A pair is (lower index, higher index).
    """
    return [pairs_of_round(hosts, turn) for turn in range(rounds_in_all(hosts))]


def disjoint_rounds(pairs: Iterable[tuple[int, int]]) -> Rounds:
    """Any pairs in rounds of disjoint ones, at most twice as many as a host has partners."""
    rounds: list[list[tuple[int, int]]] = []
    busy: list[set[int]] = []
    for pair in pairs:
        number = next((i for i, ends in enumerate(busy) if ends.isdisjoint(pair)), len(busy))
        if number == len(busy):
            rounds.append([])
            busy.append(set())
        rounds[number].append(pair)
        busy[number].update(pair)
    return rounds


def round_of(hosts: int, pair: tuple[int, int]) -> int:
    """The number of the round of `round_robin` in which two of `hosts` hosts meet."""
    turns = hosts + hosts % 2 - 1
    low, high = min(pair) - 1, max(pair) - 1
    # Places on the turning ring: those that meet have the same sum, modulo its length, as long as
    # nobody meets the host that does not turn; who does, meets it instead of itself.
    places = 2 * high if low < 0 else low + high
    # pairs_of_round has the sum 2 * turn - 2, and (turns + 1) / 2 is the inverse of 2.
    return ((places + 2) * (turns + 1) // 2) % turns


def pairs_of_round(hosts: int, turn: int) -> list[tuple[int, int]]:
    """The pairs of one round of `round_robin`; `turn` counts from 0."""
    seats = hosts + hosts % 2
    circle = [0] + [1 + (seat + turn) % (seats - 1) for seat in range(seats - 1)]
    pairs = [(circle[k], circle[seats - 1 - k]) for k in range(seats // 2)]
    return [(min(a, b), max(a, b)) for a, b in pairs if max(a, b) < hosts]
