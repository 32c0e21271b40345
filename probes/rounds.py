"""Rounds of disjoint pairs of hosts: round-robin tournament (Luo 2020, §5.2.2), or parts of it.

Which rounds to take of many hosts: in the circle method two hosts of the turning ring meet in the
round that the sum of their places names, modulo the number of rounds M, which is odd. Two rounds
together are therefore one cycle through all hosts exactly when their distance is coprime to M, and
K rounds are, but for the one host that does not turn, a Cayley sum graph of the integers modulo M:
its eigenvalues are the sums of the characters over the K rounds. The smaller the largest of them
but K itself, the fewer hops lie between any two hosts, and the better the pairs that were not
measured are held by those that were.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random

import numpy as np

from plink.probes.samples import Rounds

# Measured for 64 to 2,000 hosts: with 64 candidates a round the second eigenvalue of 16 rounds and
# more is that of a random regular graph, 2 sqrt(K - 1); more candidates do not lower it.
_CANDIDATES = 64
# What is left of a character's sum by rounding must not decide between equals.
_DIGITS = 6


def count_rounds(hosts: int) -> int:
    """Return the number of rounds in which all pairs of N hosts occur: N - 1, or N if odd."""
    return hosts - 1 + hosts % 2 if hosts > 1 else 0


def round_robin(hosts: int) -> Rounds:
    """Return rounds of disjoint pairs in which every two hosts occur once (circle method).

    They are N - 1 rounds of N/2 pairs (lower index, higher index) for even N, and for odd N as
    many as hosts, each host sitting out once.
    """
    return [list_round_pairs(hosts, turn) for turn in range(count_rounds(hosts))]


def build_disjoint_rounds(pairs: Iterable[tuple[int, int]]) -> Rounds:
    """Arrange pairs into rounds of disjoint pairs, each in the first round where both are free."""
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


def find_round(hosts: int, pair: tuple[int, int]) -> int:
    """Return the number, from 0, of the round of `round_robin` that contains a pair."""
    turns = hosts + hosts % 2 - 1
    low, high = min(pair) - 1, max(pair) - 1
    # Places on the turning ring: those that meet have the same sum, modulo its length, as long as
    # neither is the host that does not turn; the host that would meet itself meets that one.
    places = 2 * high if low < 0 else low + high
    # list_round_pairs has the sum 2 * turn - 2, and (turns + 1) / 2 is the inverse of 2.
    return ((places + 2) * (turns + 1) // 2) % turns


def list_round_pairs(hosts: int, turn: int) -> list[tuple[int, int]]:
    """Return the disjoint pairs (lower, higher) of round `turn`, from 0, of `round_robin`."""
    seats = hosts + hosts % 2
    circle = [0] + [1 + (seat + turn) % (seats - 1) for seat in range(seats - 1)]
    pairs = [(circle[k], circle[seats - 1 - k]) for k in range(seats // 2)]
    return [(min(a, b), max(a, b)) for a, b in pairs if max(a, b) < hosts]


def sample_rounds(hosts: int, rounds: int, seed: int) -> Rounds:
    """Return K rounds of the tournament whose pairs connect all hosts well, as the seed decides.

    For even N every host is in every round. For odd N one host sits out each round, and no host
    more than once. The pairs connect all hosts if there are at least 2 rounds.

    Args:
        seed: decides which host has which place in the tournament, and which rounds are taken.
            The first rounds of a longer sample with the same hosts and seed are the same.
    """
    if rounds >= count_rounds(hosts):
        return round_robin(hosts)
    chance = Random(seed)
    place = _shuffle(hosts, chance)
    return [
        sorted((min(place[a], place[b]), max(place[a], place[b])) for a, b in pairs)
        for pairs in (
            list_round_pairs(hosts, turn) for turn in _choose_spread_rounds(hosts, rounds, chance)
        )
    ]


def _choose_spread_rounds(hosts: int, rounds: int, chance: Random) -> list[int]:
    """Choose round numbers so that the graph of their pairs has a large spectral gap."""
    turns = count_rounds(hosts)
    left = _shuffle(turns, chance)
    chosen = [left.pop(0)]
    places = np.arange(turns)
    roots = np.exp(2j * np.pi * places / turns)
    # The other half of the characters are their conjugates, as large.
    characters = places[1 : (turns + 1) // 2]
    sums = roots[characters * chosen[0] % turns]
    while len(chosen) < rounds:
        candidates = left[:_CANDIDATES]
        if len(chosen) == 1:
            candidates = [turn for turn in left if math.gcd(turn - chosen[0], turns) == 1]
            candidates = candidates[:_CANDIDATES]
        of_candidates = sums + roots[np.outer(candidates, characters) % turns]
        largest = np.abs(of_candidates).max(axis=1).round(_DIGITS)
        best = candidates[int(np.argmin(largest))]
        left.remove(best)
        chosen.append(best)
        sums = sums + roots[characters * best % turns]
    return chosen


def _shuffle(size: int, chance: Random) -> list[int]:
    """Return 0 to size - 1 in random order, the same in all versions of Python."""
    keys = [chance.random() for _ in range(size)]
    return sorted(range(size), key=keys.__getitem__)
