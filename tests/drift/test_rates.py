"""What a check says of rates: networks that did not change, slow hosts, and cut uplinks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from plink.formats.groups import HostLink, Uplink, UplinkMeasurement
from plink.formats.hosts import Group
from plink.formats.matrices import Matrix
from plink.measure.drift.judge import keep_nearer
from plink.measure.drift.rates import (
    LinkJudgement,
    RateChange,
    choose_other_transfers,
    choose_transfers,
    find_changed_uplinks,
    judge_links,
    keep_nearer_uplinks,
    limit_by_hosts,
    predict_gbit_s,
    sort_groups_by_share,
)

SIZES = (3, 5, 8)
GROUPS = [
    Group(f"r{rack}", [f"n{rack}{host}" for host in range(n)]) for rack, n in enumerate(SIZES)
]
NAMES = [name for group in GROUPS for name in group.hosts]
RACK = np.repeat(np.arange(len(SIZES)), SIZES)
REPETITIONS = range(20)


def truth(links: Matrix, uplink: float = 0.2) -> Matrix:
    """(N, N): what a transfer achieves; across racks no more than an uplink carries."""
    rates = np.minimum(links[:, None], links[None, :])
    found: Matrix = np.where(RACK[:, None] == RACK[None, :], rates, np.minimum(rates, uplink))
    np.fill_diagonal(found, np.nan)
    return found


def read(rates: Matrix, seed: Sequence[int]) -> Matrix:
    """Readings of a second: some 8 % of noise, and one in twelve that went wrong."""
    rng = np.random.default_rng(seed)
    noisy = rates * np.minimum(1.02, rng.lognormal(-0.02, 0.08, rates.shape))
    went_wrong = rng.random(rates.shape) < 1.0 / 12.0
    return np.where(went_wrong, noisy * rng.uniform(0.4, 1.0, rates.shape), noisy)


def check(file: Matrix, now: Matrix, seed: int) -> LinkJudgement:
    """The course of a check: of every host a pair, and again what seems changed, twice."""
    rounds = choose_transfers(file, 64, seed)
    seen = measured(now, rounds, [seed, 1])
    found = judge_links(NAMES, file, seen)
    for number in range(2):
        if not found.changed.any():
            break
        again = choose_other_transfers(file, found.changed, found.compared, seed + number)
        seen = keep_nearer(file, seen, measured(now, again, [seed, 2 + number]))
        found = judge_links(NAMES, file, seen)
    return found


def measured(rates: Matrix, rounds: Sequence[Sequence[tuple[int, int]]], seed: list[int]) -> Matrix:
    readings = read(rates, seed)
    known = np.full(rates.shape, np.nan)
    for a, b in (pair for pairs in rounds for pair in pairs):
        known[a, b], known[b, a] = readings[a, b], readings[b, a]
    return known


USUAL = np.full(len(NAMES), 0.4)


def test_every_host_is_in_a_pair_that_shows_its_link() -> None:
    file = read(truth(USUAL), [1])
    rounds = choose_transfers(file, 64, 0)
    pairs = [pair for found in rounds for pair in found]
    assert {host for pair in pairs for host in pair} == set(range(len(NAMES)))
    assert all(RACK[a] == RACK[b] for a, b in pairs)
    assert len(pairs) <= len(NAMES) // 2 + len(SIZES)
    for found in rounds:
        hosts = [host for pair in found for host in pair]
        assert len(hosts) == len(set(hosts))
    # The slowest come first where there are too many.
    links = USUAL.copy()
    links[7] = 0.05
    few = choose_transfers(truth(links), 2, 0)
    assert 7 in few[0][0]
    assert sum(map(len, few)) == 1


@pytest.mark.parametrize("factor", [1.0, 0.8, 1.2])
def test_a_network_that_did_not_change_is_never_called_changed(factor: float) -> None:
    for seed in REPETITIONS:
        file = read(truth(USUAL), [seed])
        found = check(file, factor * truth(USUAL), seed)
        assert not found.is_changed, found.changes


@pytest.mark.parametrize(("before", "after"), [(0.4, 0.05), (0.05, 0.4), (0.4, 0.1)])
def test_a_host_whose_link_carries_another_amount_is_named_and_no_other(
    before: float, after: float
) -> None:
    with_others = 0
    for seed in REPETITIONS:
        host = seed % len(NAMES)
        was, now = USUAL.copy(), USUAL.copy()
        was[host], now[host] = before, after
        found = check(read(truth(was), [seed]), truth(now), seed)
        assert found.is_changed
        own = [change for change in found.changes if change.name == NAMES[host]]
        with_others += len(own) < len(found.changes)
        assert {change.sends for change in own} == {True, False}
        for change in own:
            assert (change.now_gbit_s < change.file_gbit_s) == (after < before)
    # In a rack of three, a reading of the file that went wrong may accuse a neighbour.
    assert with_others <= 1


def test_two_hosts_of_which_one_changed_are_both_named() -> None:
    names = ["a", "b"]
    file = np.array([[np.nan, 1.0], [1.0, np.nan]])
    found = judge_links(names, file, 0.1 * file)
    # Everything changed alike.
    assert found.common_factor == pytest.approx(0.1)
    assert found.is_changed
    one_way = np.array([[np.nan, 0.1], [1.0, np.nan]])
    found = judge_links(names, file, one_way)
    assert {(each.name, each.sends) for each in found.changes} == {("a", True), ("b", False)}


def test_nothing_is_said_of_what_was_not_measured() -> None:
    unknown = np.full((3, 3), np.nan)
    found = judge_links(NAMES[:3], unknown, unknown)
    assert not found.changes
    assert not found.is_changed
    assert choose_transfers(unknown, 64, 0) == []


UPLINKS = [Uplink(group.name, 0.2, 0.2) for group in GROUPS]
LINKS = [HostLink(name, 0.4, 0.4) for name in NAMES]


def test_links_that_uplinks_came_with_are_compared_inside_groups() -> None:
    known = UplinkMeasurement(uplinks=UPLINKS, links=LINKS, tool="uplinks")
    expected = predict_gbit_s(NAMES, None, GROUPS, known)
    inside = (RACK[:, None] == RACK[None, :]) & ~np.eye(len(NAMES), dtype=bool)
    assert (np.isfinite(expected) == inside).all()
    assert np.nanmin(expected) == np.nanmax(expected) == 0.4
    pairs = truth(USUAL)
    assert np.array_equal(predict_gbit_s(NAMES, pairs, GROUPS, known), pairs, equal_nan=True)


def ways(factor: float, seed: int) -> dict[tuple[str, bool], float]:
    rng = np.random.default_rng(seed)
    return {
        (uplink.group, sends): 0.2 * factor * float(rng.lognormal(-0.03, 0.08))
        for uplink in UPLINKS
        for sends in (True, False)
    }


def test_uplinks_are_named_only_where_they_changed() -> None:
    for seed in REPETITIONS:
        now = ways(1.0, seed)
        assert find_changed_uplinks(UPLINKS, now, {}) == []
        now["r1", True] = 0.02
        assert find_changed_uplinks(UPLINKS, now, {}) == [RateChange("r1", True, True, 0.2, 0.02)]
    bound = [Uplink("r1", 0.2, 0.2, send_is_lower_bound=True)]
    # What may have carried more all along did not become faster.
    assert find_changed_uplinks(bound, {("r1", True): 2.0}, {}) == []
    assert len(find_changed_uplinks(bound, {("r1", True): 0.02}, {})) == 1


def test_a_cut_host_explains_what_its_group_exchanges() -> None:
    small = [Uplink("r0", 1.2, 1.2)]
    cut = [RateChange("n00", False, True, 0.4, 0.05)]
    explained = limit_by_hosts(GROUPS, LINKS, cut)
    assert explained == {("r0", True): pytest.approx(0.85)}
    assert find_changed_uplinks(small, {("r0", True): 0.8}, explained) == []
    assert len(find_changed_uplinks(small, {("r0", True): 0.1}, explained)) == 1
    assert len(find_changed_uplinks(small, {("r0", True): 0.8}, {})) == 1
    assert limit_by_hosts(GROUPS, [], cut) == {}


def test_groups_whose_hosts_have_least_come_first() -> None:
    uplinks = [Uplink("r0", 0.2, 0.2), Uplink("r1", 0.2, 0.1), Uplink("r2", 4.0, 4.0)]
    assert [group.name for group in sort_groups_by_share(GROUPS, uplinks)] == ["r1", "r0", "r2"]
    assert sort_groups_by_share(GROUPS, uplinks[:1]) == GROUPS[:1]


def test_the_nearer_of_two_figures_counts() -> None:
    first, second = {("r0", True): 0.02}, {("r0", True): 0.19}
    assert keep_nearer_uplinks(UPLINKS, first, second) == second
    assert keep_nearer_uplinks(UPLINKS, second, first) == {("r0", True): 0.19}
