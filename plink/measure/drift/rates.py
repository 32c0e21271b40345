"""Judgement of which hosts' links and groups' uplinks changed, from new rates of transfers.

A host's link is named in a direction when most of its pairs changed in that direction, and no other
host explains them better. As with round trips, a factor common to all is no change unless it is
large, and only what lasts counts (`keep_nearer`).

One pair of each host is transferred again: a host's link shows with the partner with which the host
did best, since what racks share is least in the way there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plink.formats.groups import HostLink, Uplink, UplinkMeasurement
from plink.formats.hosts import Group
from plink.formats.matrices import Matrix
from plink.measure.drift.judge import LEAST_CEILING, MAX_COMMON_FACTOR, Mask, Pair, fit_common_shift
from plink.probes.rounds import build_disjoint_rounds
from plink.probes.samples import Rounds

# A host's link shows where it does at least this share of its best.
_NEARLY_BEST = 0.7


def predict_gbit_s(
    names: Sequence[str],
    gbit_s: Matrix | None,
    groups: Sequence[Group],
    uplinks: UplinkMeasurement | None,
) -> Matrix:
    """Return the rate in Gbit/s that a cluster file expects of each directed pair, (N, N), or NaN.

    These are its bandwidths (N, N), or without any what both hosts' links allow inside groups.
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


def choose_transfers(expected: Matrix, most: int, seed: int) -> Rounds:
    """Return rounds of pairs that test up to `most` hosts, slowest links first, with fast partners.

    Args:
        expected: (N, N) in Gbit/s, NaN for pairs that cannot be compared.
    """
    both = np.fmin(expected, expected.T)
    known = np.where(np.isnan(both), -np.inf, both)
    best = known.max(axis=1)
    chance = np.random.default_rng(seed).permutation(len(best))
    slowest_first = [host for host in np.lexsort((chance, best)).tolist() if best[host] > 0.0]
    pairs: list[Pair] = []
    in_first_round: set[int] = set()
    seen: set[int] = set()
    for host in slowest_first:
        if host in seen or len(seen) >= most:
            continue
        partners = np.flatnonzero(known[host] > 0.0)
        is_taken = np.isin(partners, list(in_first_round))
        # Better a second round than a partner with which something else may be the limit.
        is_poor = known[host, partners] < _NEARLY_BEST * best[host]
        by_merit = np.lexsort((chance[partners], -known[host, partners], is_taken, is_poor))
        partner = int(partners[by_merit[0]])
        pairs.append((min(host, partner), max(host, partner)))
        if in_first_round.isdisjoint(pairs[-1]):
            in_first_round.update(pairs[-1])
        seen |= {host, partner}
    return build_disjoint_rounds(pairs)


def choose_other_transfers(expected: Matrix, changed: Mask, compared: Mask, seed: int) -> Rounds:
    """Return rounds that repeat changed pairs and pair their hosts anew, to find whose link it is.

    New partners, whose own pairs did not change, show it.

    Args:
        expected: (N, N) in Gbit/s, NaN for pairs that cannot be compared.
        changed, compared: (N, N) directed pairs so far.
    """
    is_suspect: Mask = np.asarray((changed | changed.T).any(axis=1))
    is_seen: Mask = compared | compared.T
    both = np.fmin(expected, expected.T)
    chance = np.random.default_rng(seed).permutation(len(both))
    pairs: list[Pair] = [(a, b) for a, b in np.argwhere(np.triu(changed | changed.T)).tolist()]
    for host in np.flatnonzero(is_suspect).tolist():
        partners = np.flatnonzero(~np.isnan(both[host]) & ~is_seen[host])
        if not partners.size:
            continue
        by_merit = np.lexsort((chance[partners], -both[host, partners], is_suspect[partners]))
        partner = int(partners[by_merit[0]])
        pairs.append((min(host, partner), max(host, partner)))
    return build_disjoint_rounds(dict.fromkeys(pairs))


# A file whose pairs differ by direction may be so noisy, on a log scale, or more: then some of its
# links differ by direction, which is no noise.
_MOST_CEILING = 0.7
_NOISE_QUANTILE = 0.9
# More than this share has to have changed of a host's pairs in a direction that were compared.
_LEAST_SHARE = 0.5
_LEAST_PAIRS = 2


@dataclass(frozen=True)
class RateChange:
    """Link of a host, or uplink of a group, whose rate in one direction differs from the file's.

    Args:
        name: name of the host, or of the group whose uplink it is.
        sends: what it sends changed; else what it receives.
        file_gbit_s, now_gbit_s: rate of the transfer that shows it best; of an uplink, the rate of
            all its hosts.
    """

    name: str
    is_uplink: bool
    sends: bool
    file_gbit_s: float
    now_gbit_s: float


@dataclass(frozen=True)
class LinkJudgement:
    """Verdict on which hosts' links changed their rate since a cluster file was written.

    Args:
        changes: links that changed, the most changed first.
        changed: (N, N) directed pairs that changed, whether a host explains it or not.
        common_factor: new over old rate of those that did not change.
    """

    changes: Sequence[RateChange]
    changed: Mask
    compared: Mask
    common_factor: float

    @property
    def is_changed(self) -> bool:
        """Whether a link changed, or all rates by more than a factor of 2."""
        limit = MAX_COMMON_FACTOR
        return bool(self.changes) or not 1.0 / limit <= self.common_factor <= limit


def judge_links(names: Sequence[str], expected: Matrix, now: Matrix) -> LinkJudgement:
    """Judge which hosts' links changed, by expected and new pair rates (N, N), NaN if unknown."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shifts = np.where((expected > 0.0) & (now > 0.0), np.log(now / expected), np.nan)
    compared: Mask = ~np.isnan(shifts)
    if not compared.any():
        return LinkJudgement((), compared & False, compared, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(expected / expected.T))
    known = apart[np.isfinite(apart)]
    noise = float(np.quantile(known, _NOISE_QUANTILE)) if known.size else 0.0
    # The largest log ratio to expect of unchanged rates measured twice.
    ceiling = min(_MOST_CEILING, max(LEAST_CEILING, noise))
    common = fit_common_shift(shifts, np.full(shifts.shape, ceiling), compared)
    changed: Mask = compared & (np.abs(np.nan_to_num(shifts) - common) > ceiling)
    changes = _blame_links(names, expected, now, changed, compared)
    return LinkJudgement(changes, changed, compared, float(np.exp(common)))


def _blame_links(
    names: Sequence[str], expected: Matrix, now: Matrix, changed: Mask, compared: Mask
) -> list[RateChange]:
    """Return the hosts' links that explain the changed pairs, by direction, most changed first."""
    open_ = compared.copy()
    changes: list[RateChange] = []
    while (hit := open_ & changed).any():
        ends = [
            (hits[host] / pairs[host], int(hits[host]), sends, host)
            for sends, axis in ((True, 1), (False, 0))
            for hits, pairs in ((hit.sum(axis=axis), open_.sum(axis=axis)),)
            for host in np.flatnonzero(hits).tolist()
            if hits[host] >= _LEAST_PAIRS
        ]
        share, _, sends, host = max(ends, key=lambda end: end[:2], default=(0.0, 0, True, 0))
        if share <= _LEAST_SHARE:
            break
        others = np.flatnonzero(hit[host] if sends else hit[:, host]).tolist()
        ways = [(host, other) if sends else (other, host) for other in others]
        best = max(ways, key=lambda way: float(now[way]))
        changes.append(_build_change(names, expected, now, best, sends=sends))
        if sends:
            open_[host] = False
        else:
            open_[:, host] = False
    # Where two hosts have nobody else to be compared with, both are named.
    partners = (~np.isnan(expected) | ~np.isnan(expected.T)).sum(axis=1)
    for a, b in np.argwhere(open_ & changed).tolist():
        if partners[a] == partners[b] == 1:
            changes += [
                _build_change(names, expected, now, (a, b), sends=sends) for sends in (True, False)
            ]
    return sorted(changes, key=_compute_log_change, reverse=True)


def _build_change(
    names: Sequence[str], expected: Matrix, now: Matrix, way: tuple[int, int], *, sends: bool
) -> RateChange:
    name = names[way[0] if sends else way[1]]
    return RateChange(name, False, sends, float(expected[way]), float(now[way]))


def _compute_log_change(change: RateChange) -> float:
    return abs(float(np.log(change.now_gbit_s / change.file_gbit_s)))


GroupDirection = tuple[str, bool]
"""A group's name, and whether it sends."""


def sort_groups_by_share(groups: Sequence[Group], uplinks: Sequence[Uplink]) -> list[Group]:
    """Return the groups with an uplink, the least Gbit/s per host (slower direction) first."""
    rates = {known.group: (known.send_gbit_s, known.receive_gbit_s) for known in uplinks}
    return sorted(
        (group for group in groups if group.name in rates),
        key=lambda group: min(filter(None, rates[group.name]), default=np.inf) / len(group.hosts),
    )


def find_changed_uplinks(
    uplinks: Sequence[Uplink],
    now_gbit_s: Mapping[GroupDirection, float],
    explained_gbit_s: Mapping[GroupDirection, float],
) -> list[RateChange]:
    """Return uplinks whose rate changed beyond what hosts' links explain, largest change first.

    Args:
        explained_gbit_s: what links of hosts that were named leave to groups, where they do.
    """
    changes = []
    for uplink in uplinks:
        for sends, before, is_least in (
            (True, uplink.send_gbit_s, uplink.send_is_lower_bound),
            (False, uplink.receive_gbit_s, uplink.receive_is_lower_bound),
        ):
            now = now_gbit_s.get((uplink.group, sends))
            if not before or not now:
                continue
            least = min(before, explained_gbit_s.get((uplink.group, sends), before))
            is_slower = np.log(now / least) < -LEAST_CEILING
            is_faster = np.log(now / before) > LEAST_CEILING and not is_least
            if is_slower or is_faster:
                changes.append(RateChange(uplink.group, True, sends, before, now))
    return sorted(changes, key=_compute_log_change, reverse=True)


def limit_by_hosts(
    groups: Sequence[Group], links: Sequence[HostLink], changes: Sequence[RateChange]
) -> dict[GroupDirection, float]:
    """Return the sum of hosts' link rates in Gbit/s by (group, sends), where a link changed."""
    limits: dict[GroupDirection, float] = {}
    for sends in (True, False):
        file = {each.host: each.send_gbit_s if sends else each.receive_gbit_s for each in links}
        now = {each.name: each.now_gbit_s for each in changes if each.sends == sends}
        for group in groups:
            rates = [now.get(host, file.get(host)) for host in group.hosts]
            known = [rate for rate in rates if rate is not None]
            if len(known) == len(rates) and not now.keys().isdisjoint(group.hosts):
                limits[group.name, sends] = sum(known)
    return limits


def keep_nearer_uplinks(
    uplinks: Sequence[Uplink],
    first: Mapping[GroupDirection, float],
    second: Mapping[GroupDirection, float],
) -> dict[GroupDirection, float]:
    """Return, per uplink and direction, the one of two new rates that is nearer to the file's."""
    known = {(uplink.group, True): uplink.send_gbit_s for uplink in uplinks}
    known |= {(uplink.group, False): uplink.receive_gbit_s for uplink in uplinks}

    def off(way: GroupDirection, rate: float) -> float:
        return abs(float(np.log(rate / (known[way] or rate))))

    return {
        way: rate if off(way, rate) < off(way, first[way]) else first[way]
        for way, rate in second.items()
    }
