"""Selection of iperf3 transfers that check a cluster file's link rates, one pair per host.

A host's link shows with the partner with which the host did best: what racks share is least in the
way there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.files.groups import UplinkMeasurement
from plink.files.hosts import Group
from plink.files.matrices import Matrix
from plink.measure.drift.sample import Mask, Pair

# A host's link shows where it does at least this share of its best.
_NEARLY_BEST = 0.7


def expected_gbit_s(
    names: Sequence[str],
    gbit_s: Matrix | None,
    groups: Sequence[Group],
    uplinks: UplinkMeasurement | None,
) -> Matrix:
    """Return the rates that the file predicts in Gbit/s, [source][destination]; NaN if unknown.

    Bandwidths as they were measured, else inside groups what both hosts' links allow.

    Args:
        names: names of the N hosts.
        gbit_s: (N, N) bandwidths; None where the file has none of plink's own.
        groups: groups of the hosts.
        uplinks: with the hosts' links.
    """
    size = len(names)
    expected = np.full((size, size), np.nan)
    if gbit_s is not None:
        expected = np.where(gbit_s > 0.0, gbit_s, np.nan)
    elif uplinks is not None:
        place_of = {name: place for place, name in enumerate(names)}
        send, receive = np.full(size, np.nan), np.full(size, np.nan)
        for link in uplinks.links:
            send[place_of[link.host]] = link.send_gbit_s or np.nan
            receive[place_of[link.host]] = link.receive_gbit_s or np.nan
        for group in groups:
            places = np.ix_(*2 * ([place_of[host] for host in group.hosts],))
            expected[places] = np.minimum(*np.ix_(send, receive))[places]
    np.fill_diagonal(expected, np.nan)
    return expected


def pairs_to_transfer(expected: Matrix, most: int, seed: int) -> list[list[Pair]]:
    """Return rounds of disjoint pairs that load every host's link once, mostly one round.

    The hosts with the slowest links come first, each with the partner with which it did best.

    Args:
        expected: (N, N) in Gbit/s, NaN for pairs that cannot be compared.
        most: hosts.
        seed: decides among equals.
    """
    both = np.fmin(expected, expected.T)
    known = np.where(np.isnan(both), -np.inf, both)
    best = known.max(axis=1)
    chance = np.random.default_rng(seed).permutation(len(best))
    slowest_first = [host for host in np.lexsort((chance, best)).tolist() if best[host] > 0.0]
    rounds: list[list[Pair]] = [[]]
    met: list[set[int]] = [set()]
    seen: set[int] = set()
    for host in slowest_first:
        if host in seen or len(seen) >= most:
            continue
        partners = np.flatnonzero(known[host] > 0.0)
        is_taken = np.isin(partners, list(met[0]))
        # Better a second round than a partner with which something else may be the limit.
        is_poor = known[host, partners] < _NEARLY_BEST * best[host]
        by_merit = np.lexsort((chance[partners], -known[host, partners], is_taken, is_poor))
        partner = int(partners[by_merit[0]])
        _into_a_round(rounds, met, (min(host, partner), max(host, partner)))
        seen |= {host, partner}
    return [pairs for pairs in rounds if pairs]


def others_to_transfer(
    expected: Matrix, changed: Mask, compared: Mask, seed: int
) -> list[list[Pair]]:
    """Return rounds with the changed pairs, and with their hosts paired with others.

    Others show whose change it is: partners whose own pairs did not change are taken, with which
    the host did best.

    Args:
        expected: (N, N) in Gbit/s, NaN for pairs that cannot be compared.
        changed, compared: (N, N) directed pairs so far.
        seed: decides among equals.
    """
    is_suspect: Mask = np.asarray((changed | changed.T).any(axis=1))
    is_seen: Mask = compared | compared.T
    both = np.fmin(expected, expected.T)
    chance = np.random.default_rng(seed).permutation(len(both))
    rounds: list[list[Pair]] = [[]]
    met: list[set[int]] = [set()]
    for a, b in np.argwhere(np.triu(changed | changed.T)).tolist():
        _into_a_round(rounds, met, (a, b))
    for host in np.flatnonzero(is_suspect).tolist():
        partners = np.flatnonzero(~np.isnan(both[host]) & ~is_seen[host])
        if not partners.size:
            continue
        by_merit = np.lexsort((chance[partners], -both[host, partners], is_suspect[partners]))
        partner = int(partners[by_merit[0]])
        _into_a_round(rounds, met, (min(host, partner), max(host, partner)))
    return [pairs for pairs in rounds if pairs]


def _into_a_round(rounds: list[list[Pair]], met: list[set[int]], pair: Pair) -> None:
    """Add a pair to the first round in which both hosts are free, unless a round has it."""
    if any(pair in pairs for pairs in rounds):
        return
    for pairs, hosts in zip(rounds, met, strict=True):
        if hosts.isdisjoint(pair):
            pairs.append(pair)
            hosts.update(pair)
            return
    rounds.append([pair])
    met.append(set(pair))
