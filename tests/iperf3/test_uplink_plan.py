"""Which transfers show what a group's uplink carries."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.uplinks.plan import (
    MAX_FLOWS,
    interleave,
    number_transfers,
    plan_flows,
    plan_links,
)

SIZES = st.lists(st.integers(1, 20), min_size=2, max_size=8)


def groups_of(sizes: list[int]) -> list[list[int]]:
    return [list(range(*ends)) for ends in pairwise([0, *accumulate(sizes)])]


@given(SIZES, st.data())
def test_every_host_takes_part_and_loads_are_even(sizes: list[int], data: st.DataObject) -> None:
    groups = groups_of(sizes)
    group = data.draw(st.integers(0, len(groups) - 1))
    (flows,) = plan_flows(groups, [group])
    members, others = set(groups[group]), set(range(sum(sizes))) - set(groups[group])
    of_member = Counter(flow.member for flow in flows)
    of_partner = Counter(flow.partner for flow in flows)
    assert of_member.keys() <= members
    assert of_partner.keys() <= others
    assert max(of_partner.values()) <= MAX_FLOWS
    assert max(of_member.values()) - min(of_member.values()) <= 1
    assert len(set(flows)) == len(flows)
    if len(members) <= MAX_FLOWS * len(others):
        assert of_member.keys() == members
        assert len(set(of_member.values())) == 1
    loads = [of_partner[host] for host in others]
    assert max(loads) - min(loads) <= 1


def test_partners_are_spread_over_the_other_groups() -> None:
    groups = groups_of([4, 4, 2, 1])
    (flows,) = plan_flows(groups, [0])
    assert [flow.member for flow in flows] == [0, 1, 2, 3]
    assert [flow.partner for flow in flows] == [4, 8, 10, 5]
    ((one, other),) = plan_flows(groups, [3])
    assert (one.member, other.member) == (10, 10)
    assert (one.partner, other.partner) == (0, 4)


@pytest.mark.parametrize(
    ("sizes", "flows"), [([2, 2], 2), ([4, 4, 4, 4], 8), ([9, 2], 9), ([30, 2], 16)]
)
def test_as_many_transfers_as_partners_allow(sizes: list[int], flows: int) -> None:
    assert len(plan_flows(groups_of(sizes), [0])[0]) == flows


@given(SIZES)
def test_turns_take_everyone_once(sizes: list[int]) -> None:
    assert sorted(interleave(groups_of(sizes))) == list(range(sum(sizes)))


@given(st.lists(st.integers(0, 3)))
def test_no_two_transfers_of_a_sender_share_a_slot(senders: list[int]) -> None:
    found = list(zip(senders, number_transfers(senders), strict=True))
    assert len(set(found)) == len(found)


@given(SIZES, st.data())
def test_groups_at_the_same_time_share_partners_evenly(
    sizes: list[int], data: st.DataObject
) -> None:
    groups = groups_of(sizes)
    count = st.integers(1, len(groups) - 1)
    together = data.draw(st.permutations(range(len(groups))))[: data.draw(count)]
    found = plan_flows(groups, together)
    flows = [flow for some in found for flow in some]
    partners = {host for g, hosts in enumerate(groups) if g not in together for host in hosts}
    for group, some in zip(together, found, strict=True):
        assert {flow.member for flow in some} <= set(groups[group])
    of_partner = Counter(flow.partner for flow in flows)
    assert of_partner.keys() <= partners
    loads = [of_partner[host] for host in partners]
    assert max(loads) - min(loads) <= 1
    if sum(len(groups[group]) for group in together) <= len(partners):
        assert max(loads) == 1
        assert {flow.member for flow in flows} == {
            host for group in together for host in groups[group]
        }


@given(SIZES)
def test_the_links_of_all_hosts_are_measured_without_an_uplink(sizes: list[int]) -> None:
    groups = groups_of(sizes)
    group_of = {host: group for group, hosts in enumerate(groups) for host in hosts}
    sent: set[int] = set()
    received: set[int] = set()
    for pairs in plan_links(groups):
        senders, receivers = ([pair[end] for pair in pairs] for end in (0, 1))
        assert len(set(senders)) == len(senders)
        assert len(set(receivers)) == len(receivers)
        sent.update(senders)
        received.update(receivers)
        for i, j in pairs:
            alone = 1 in {sizes[group_of[i]], sizes[group_of[j]]}
            assert (group_of[i] == group_of[j]) != alone
    assert sent == received == set(range(sum(sizes)))


def test_a_host_alone_meets_one_that_does_nothing_else() -> None:
    assert plan_links(groups_of([2, 1])) == [[(0, 1), (1, 0)], [(2, 0), (0, 2)]]
    assert plan_links(groups_of([1, 1, 2])) == [[(2, 3), (3, 2), (0, 1), (1, 0)]]
