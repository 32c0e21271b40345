"""Whether an uplink was the limit, against networks whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.uplinks.plan import (
    Flow,
    GroupExchange,
    HostRates,
    may_exceed,
    plan_flows,
    raise_to_seen_rates,
)

RATES = st.sampled_from([0.1, 0.2, 0.4, 0.4, 0.8, 1.6, 10.0])


def fair_rates(paths: Sequence[Sequence[str]], capacity: Mapping[str, float]) -> list[float]:
    """What flows get that share links max-min fairly: the least served first."""
    left = dict(capacity)
    rates = [0.0] * len(paths)
    active = set(range(len(paths)))
    while active:
        users = {link: sum(link in paths[flow] for flow in active) for link in left}
        step = min(left[link] / count for link, count in users.items() if count)
        for flow in active:
            rates[flow] += step
        for link, count in users.items():
            left[link] -= step * count
        active -= {flow for flow in active if any(left[link] < 1e-9 for link in paths[flow])}
    return rates


def exchanges(
    groups: Sequence[Sequence[int]], hosts: Sequence[float], uplinks: Sequence[float]
) -> dict[tuple[int, bool], GroupExchange]:
    """What is measured on a network with these links, the same in both directions."""
    group_of = {host: group for group, members in enumerate(groups) for host in members}
    capacity = {f"host {host}": rate for host, rate in enumerate(hosts)}
    capacity |= {f"group {group}": rate for group, rate in enumerate(uplinks)}

    def path(flow: Flow) -> list[str]:
        ends = (flow.member, flow.partner)
        return [f"host {end}" for end in ends] + [f"group {group_of[end]}" for end in ends]

    found = {}
    for group in range(len(groups)):
        (flows,) = plan_flows(groups, [group])
        rates = fair_rates([path(flow) for flow in flows], capacity)
        for sends in (True, False):
            pairs = list(zip(flows, rates, strict=True))
            found[group, sends] = GroupExchange(group, sends, pairs, is_whole=True)
    return found


def judged(
    sizes: Sequence[int], hosts: Sequence[float], uplinks: Sequence[float]
) -> list[tuple[float, float, bool]]:
    """For every group the measured rate, the true one, and whether the first is a lower bound."""
    groups = [list(range(*ends)) for ends in pairwise([0, *accumulate(sizes)])]
    found = exchanges(groups, hosts, uplinks)
    links = HostRates(dict(enumerate(hosts)), dict(enumerate(hosts)))
    carried = {key: exchange.gbit_s for key, exchange in found.items()}
    return [
        (
            carried[group, True],
            min(uplinks[group], sum(hosts[host] for host in members)),
            may_exceed(found[group, True], groups, links, carried),
        )
        for group, members in enumerate(groups)
    ]


@given(st.lists(st.tuples(st.integers(1, 5), RATES), min_size=2, max_size=5), st.data())
def test_what_is_no_lower_bound_is_the_truth(
    shape: list[tuple[int, float]], data: st.DataObject
) -> None:
    sizes, uplinks = zip(*shape, strict=True)
    hosts = data.draw(st.lists(RATES, min_size=sum(sizes), max_size=sum(sizes)))
    for measured, true, is_lower_bound in judged(sizes, hosts, uplinks):
        assert measured <= true * (1 + 1e-6)
        if not is_lower_bound:
            assert measured >= 0.9 * true - 1e-6


@pytest.mark.parametrize(
    ("sizes", "uplinks", "lower_bounds"),
    [
        ([4, 4, 4, 4], [0.4, 0.4, 0.4, 0.4], []),
        ([4, 4, 4, 4], [0.4, 0.2, 0.4, 0.2], []),
        ([4, 4, 2, 1], [0.4, 0.4, 0.4, 0.4], []),
        # All hosts' links full: the uplink carries whatever they can send.
        ([2, 2, 2, 2], [1.0, 1.0, 1.0, 1.0], []),
        # Two uplinks in a row: either may be the limit.
        ([4, 4], [0.4, 0.4], [0, 1]),
        # More than the others together can take.
        ([4, 2, 2], [1.6, 0.4, 0.4], [0]),
    ],
)
def test_known_shapes(sizes: list[int], uplinks: list[float], lower_bounds: list[int]) -> None:
    found = judged(sizes, [0.4] * sum(sizes), uplinks)
    assert [group for group, (_, _, is_bound) in enumerate(found) if is_bound] == lower_bounds
    for measured, true, is_bound in found:
        assert is_bound or measured == pytest.approx(true)


def test_what_is_not_known_of_a_link_makes_a_lower_bound() -> None:
    groups = [[0, 1], [2, 3], [4, 5]]
    found = exchanges(groups, [0.4] * 6, [0.2] * 3)
    carried = {key: exchange.gbit_s for key, exchange in found.items()}
    links = HostRates(dict.fromkeys(range(6), 0.4), dict.fromkeys(range(6), 0.4))
    assert not may_exceed(found[0, True], groups, links, carried)
    assert may_exceed(found[0, True], groups, HostRates({}, {}), carried)
    assert may_exceed(found[0, True], groups, links, {})
    partial = GroupExchange(0, True, found[0, True].rates, is_whole=False)
    assert may_exceed(partial, groups, links, carried)


def test_what_a_host_was_seen_to_carry_counts_as_its_link() -> None:
    """Measured beside slow neighbours, links seemed slower than they are."""
    groups = [[0, 1], [2, 3], [4, 5]]
    found = exchanges(groups, [0.4] * 6, [0.8] * 3)
    slow = HostRates(dict.fromkeys(range(6), 0.1), {})
    links = raise_to_seen_rates(slow, found.values())
    assert links.send == pytest.approx(dict.fromkeys(range(6), 0.4))
    assert links.receive == pytest.approx(dict.fromkeys(range(6), 0.4))
    assert raise_to_seen_rates(slow, []) == slow


def test_what_ran_beside_fills_the_links_on_the_way() -> None:
    """Two groups that send to a third: its uplink may have been the limit of both."""
    groups = [[0, 1], [2, 3], [4, 5, 6, 7]]
    links = HostRates(dict.fromkeys(range(8), 0.4), dict.fromkeys(range(8), 0.4))
    own, other = ([(flow, 0.1) for flow in flows] for flows in plan_flows(groups, [0, 1]))
    carried = {(2, False): 0.4}
    alone = GroupExchange(0, True, own, is_whole=True)
    beside = GroupExchange(0, True, own, is_whole=True, beside=other)
    assert not may_exceed(alone, groups, links, carried)
    assert may_exceed(beside, groups, links, carried)
    seen = raise_to_seen_rates(HostRates({}, {}), [beside])
    assert seen.send == dict.fromkeys([0, 1], 0.1)
    assert seen.receive == dict.fromkeys([4, 5, 6, 7], 0.1)
