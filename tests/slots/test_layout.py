"""How ranks fill hosts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.solvers.slots.layout import RankLayout


@given(st.data())
def test_ranks_fill_the_order_from_the_front(data):
    slots = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    layout = RankLayout(slots, data.draw(st.integers(1, sum(slots))))
    order = data.draw(st.permutations(range(len(slots))))
    placement = layout.placement(order).tolist()
    assert placement == [host for host in order for _ in range(slots[host])][: layout.ranks]
    used = layout.count_used(order)
    assert list(dict.fromkeys(placement)) == list(order)[:used]
    assert layout.fewest_hosts <= used
    if layout.takes_all_hosts:
        assert used == len(slots)
    if layout.is_even:
        assert [order[place] for place in layout.position_by_rank] == placement
        assert used == layout.fewest_hosts


def test_the_largest_hosts_are_the_fewest():
    assert RankLayout([1, 4, 2, 4], 8).fewest_hosts == 2
    assert RankLayout([1, 4, 2, 4], 9).fewest_hosts == 3
    assert not RankLayout([1, 4, 2, 4], 10).takes_all_hosts
    assert RankLayout([1, 4, 2, 4], 11).takes_all_hosts


@pytest.mark.parametrize(("slots", "ranks"), [([2, 2], 5), ([2, 2], 0), ([], 1), ([2, 0], 1)])
def test_what_does_not_fit_is_refused(slots, ranks):
    with pytest.raises(ValueError, match="slot"):
        RankLayout(slots, ranks)
