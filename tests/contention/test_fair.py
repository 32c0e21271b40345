"""Flows that share links evenly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.solvers.contention.fair import ends_s, fair_rates


def test_what_a_short_flow_leaves_goes_to_the_long_one() -> None:
    crossed = np.zeros((2, 1), dtype=int)
    ends = ends_s(np.array([1.0, 3.0]), crossed, np.array([1.0]))
    assert ends == pytest.approx([2.0, 4.0])


def test_a_link_is_idle_where_its_last_flow_waits_for_another_link() -> None:
    # Flow 0 crosses links 0 and 1; flow 1 shares 0 with it and ends early; two more share 1.
    crossed = np.array([[0, 1], [0, -1], [1, -1], [1, -1]])
    sizes, rates = np.array([4.0, 2.0, 1.0, 1.0]), np.array([1.0, 1.0])
    # A third each on link 1, and two thirds on link 0 for flow 1; all these end at 3, when flow 0
    # has sent 1 and goes on alone for 3.
    assert ends_s(sizes, crossed, rates) == pytest.approx([6.0, 3.0, 3.0, 3.0], rel=1e-2)
    assert ends_s(np.array([1.0, 0.0]), np.array([[-1], [0]]), np.array([np.inf])).tolist() == [
        0,
        0,
    ]


@st.composite
def shared(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    links = draw(st.integers(1, 5))
    flows = draw(st.integers(1, 12))
    chosen = [
        draw(st.lists(st.integers(0, links - 1), min_size=1, max_size=3, unique=True))
        for _ in range(flows)
    ]
    crossed = np.array([each + [-1] * (3 - len(each)) for each in chosen])
    rates = draw(st.lists(st.floats(0.1, 10.0), min_size=links, max_size=links))
    return crossed, np.array(rates)


@given(shared())
def test_every_flow_has_a_full_link_on_which_none_is_faster(
    case: tuple[np.ndarray, np.ndarray],
) -> None:
    crossed, room = case
    rates = fair_rates(crossed, room)
    used = np.array([rates[(crossed == link).any(axis=1)].sum() for link in range(len(room))])
    assert (used <= room * (1 + 1e-9)).all()
    for flow, rate in enumerate(rates):
        assert any(
            used[link] == pytest.approx(room[link])
            and rate >= rates[(crossed == link).any(axis=1)].max() * (1 - 1e-9)
            for link in crossed[flow]
            if link >= 0
        )


@given(shared(), st.lists(st.floats(0.1, 10.0), min_size=12, max_size=12))
def test_flows_take_no_less_than_their_busiest_link(
    case: tuple[np.ndarray, np.ndarray], sizes: list[float]
) -> None:
    crossed, room = case
    size_bytes = np.array(sizes[: len(crossed)])
    bound_s = max(
        size_bytes[(crossed == link).any(axis=1)].sum() / room[link] for link in range(len(room))
    )
    ends = ends_s(size_bytes, crossed, room)
    assert ends.max() >= bound_s * (1 - 2e-3)
    if len(room) == 1:
        assert ends.max() == pytest.approx(bound_s, rel=2e-3)
