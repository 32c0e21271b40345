"""Ranks follow the order: new hosts where they cost least, no gap for those that are gone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plink
from plink.base.replacing import replace
from plink.renumber.assignment import Run, assign_ranks, inserted, kept_and_new
from plink.renumber.members import (
    Member,
    differing_files,
    from_bytes,
    names_of,
    to_bytes,
)
from plink.renumber.numbering import Basis, numbered
from torchrun.networks import RACKS, member, order_of, racks

ORDER = order_of(["c", "a", "d", "b"])
AT_ORDER = Basis(order=ORDER)


def hosts_by_rank(names: list[str], asked: Basis) -> list[str]:
    found = numbered([member(name) for name in names], asked)
    assert sorted(found.new_ranks) == list(range(len(names)))
    assert [found.new_ranks[agent] for agent in found.agents] == list(range(len(names)))
    return [names[agent] for agent in found.agents]


@pytest.mark.parametrize(
    ("there", "ranked"),
    [
        (["a", "b", "c", "d"], ["c", "a", "d", "b"]),
        (["d", "b", "c"], ["c", "d", "b"]),
        (["b"], ["b"]),
        (["a", "b", "a", "c"], ["c", "a", "a", "b"]),
    ],
)
def test_the_order_is_followed_without_gaps(there: list[str], ranked: list[str]) -> None:
    assert hosts_by_rank(there, AT_ORDER) == ranked


def test_hosts_that_nothing_is_known_of_come_last_and_are_named() -> None:
    found = numbered([member(name) for name in ("x", "b", "y", "c")], AT_ORDER)
    assert list(found.agents) == [3, 1, 0, 2]
    assert found.notes == ["x, y: not in the order, and comes last"]


def test_a_host_is_known_by_its_name_with_or_without_domain_and_by_its_address() -> None:
    order = order_of(["n1.example.org", "n2", "n3"])
    agents = [
        Member(["other", "n2.example.org"], [], "", 0),
        Member(["n1"], [], "", 0),
        Member(["strange"], ["192.0.2.1", "10.0.0.2"], "", 0),
        Member(["nobody"], ["192.0.2.1"], "", 0),
    ]
    assert names_of(agents, order.hosts) == ["n2", "n1.example.org", "n3", "nobody"]
    assert [from_bytes(to_bytes(one)) for one in agents] == agents


def test_parts_of_addresses_and_shared_first_names_are_no_names() -> None:
    order = order_of(["10.1.0.1", "10.1.0.2", "gpu.east", "gpu.west"])
    agents = [Member([name], [], "", 0) for name in ("10", "gpu")]
    assert names_of(agents, order.hosts) == ["10", "gpu"]


def test_hosts_whose_files_differ_from_the_first_ones_are_named() -> None:
    agents = [member("a", digest="1"), member("b", digest="2"), member("c", digest="1")]
    assert differing_files(agents) == ["b"]


def test_ranks_of_a_host_that_are_apart_stay_so_where_it_has_an_agent_for_each() -> None:
    order = replace(order_of(["a", "b"], slots=2), host_of_rank=[0, 1, 0, 1])
    asked = Basis(order=order)
    assert numbered([member(name) for name in "abab"], asked).agents == [0, 1, 2, 3]
    assert numbered([member(name) for name in "aabb"], asked).agents == [0, 2, 1, 3]
    assert numbered([member(name) for name in "ba"], asked).agents == [1, 0]
    assert assign_ranks(list("aaab"), [Run("a"), Run("b"), Run("a")]) == [0, 3, 1, 2]


def test_a_new_host_takes_the_place_that_costs_least() -> None:
    asked = Basis(order=order_of(["a0", "a1", "b0", "b1"]), cluster=racks())
    ranked = hosts_by_rank([*RACKS], asked)
    assert ranked[0] == "a0"
    letters = "".join(name[0] for name in ranked)
    assert letters in ("aaabbb", "abbbaa", "aabbba")


def test_an_order_is_found_where_only_the_network_is_known() -> None:
    letters = "".join(name[0] for name in hosts_by_rank(RACKS[1:], Basis(cluster=racks())))
    assert (letters * 2).count("ab") == 2


@settings(max_examples=10)
@given(st.integers(2, 8), st.integers(0, 10**6))
def test_an_order_that_was_found_is_found_again_from_it(size: int, seed: int) -> None:
    """Of the many orders that are equally good here, the ranks keep theirs."""
    rng = np.random.default_rng(seed)
    rtt_us = 10.0 * rng.integers(1, 4, (size, size))
    names = [f"h{host}" for host in range(size)]
    asked = Basis(cluster=plink.MeasuredCluster.from_matrix(names, rtt_us))
    ranked = hosts_by_rank([str(name) for name in rng.permutation(names)], asked)
    assert hosts_by_rank(ranked, asked) == ranked


def test_an_algorithm_that_does_not_take_so_many_ranks_leaves_the_rest_in_order() -> None:
    names = RACKS[:4]
    order = replace(order_of(names), algorithm="halving-doubling")
    there = [names[3], names[0], names[2]]
    found = numbered([member(name) for name in there], Basis(order=order, cluster=racks()))
    assert [there[agent] for agent in found.agents] == [names[0], names[2], names[3]]
    assert found.notes[0].startswith("no better order was looked for: ")


@settings(max_examples=5)
@given(st.integers(2, 16), st.integers(0, 10**6), st.data())
def test_whoever_is_there_costs_hardly_more_than_a_fresh_search(
    size: int, seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.random((size, 2)) * 1000.0
    rtt_us = np.linalg.norm(points[:, None] - points[None], axis=2) + 20.0
    cluster = plink.MeasuredCluster.from_matrix([f"h{host}" for host in range(size)], rtt_us)
    first = data.draw(st.sets(st.sampled_from(cluster.names), min_size=1))
    there = sorted(data.draw(st.sets(st.sampled_from(cluster.names), min_size=2)))
    order = order_of(sorted(first))
    ranked = hosts_by_rank(there, Basis(order=order, cluster=cluster))
    assert sorted(ranked) == there
    if set(there) != first:
        part = [cluster.names.index(name) for name in there]
        fresh = plink.order(
            plink.MeasuredCluster.from_matrix(there, rtt_us[np.ix_(part, part)]), time_limit_s=0.1
        )
        places = [cluster.names.index(name) for name in ranked]
        cost_us = rtt_us[places, np.roll(places, -1)].sum() if len(there) > 1 else 0.0
        assert cost_us <= 1.01 * fresh.cost.cost_us


@given(st.lists(st.integers(0, 12), unique=True), st.lists(st.integers(0, 12), min_size=1))
def test_who_is_kept_and_who_is_new(order: list[int], present: list[int]) -> None:
    kept, new = kept_and_new([str(host) for host in order], [str(host) for host in present])
    assert {*kept, *new} == {str(host) for host in present}
    assert not {*kept} & {*new}
    assert kept == [str(host) for host in order if host in present]


def test_insertion_keeps_the_first_and_adds_least() -> None:
    places = np.array([0.0, 10.0, 20.0, 11.0, 19.0])
    distance = np.abs(places[:, None] - places[None])
    assert inserted([0, 1, 2], [3, 4], distance) in ([0, 1, 3, 4, 2], [0, 1, 3, 2, 4])
    assert inserted([], [2, 1], distance) == [2, 1]
    assert inserted([1], [], distance) == [1]
