"""Shares of masters and forests are two forms of the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plink.autotune.tuner.masters import (
    Layout,
    Masters,
    NoMastersError,
    forest_of,
    host_loads,
    layout_of,
    masters_of,
    normalise_shares,
    uplink_loads,
)
from plink.plans.check import check
from plink.plans.forest import make_forest
from plink.plans.measures import bytes_between
from plink.solvers.forests.kinds import double_tree, ring

FEW = settings(max_examples=25)
SHARES = st.sampled_from([0.0, 0.1, 1.0, 1.0, 2.5])


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """One group, or two and more of at least two hosts; one rank or more on each host."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=4))
    group_of = np.repeat(np.arange(len(sizes)), sizes)
    ranks = draw(st.lists(st.integers(1, 3), min_size=len(group_of), max_size=len(group_of)))
    return Layout(np.repeat(np.arange(len(group_of)), ranks), group_of)


@st.composite
def masters(draw: st.DrawFn) -> tuple[Layout, Masters]:
    layout = draw(layouts())
    of_groups = np.array([draw(SHARES) for _ in range(layout.groups)])
    of_groups[draw(st.integers(0, layout.groups - 1))] += 1.0
    of_hosts = np.array([draw(SHARES) for _ in range(layout.hosts)])
    for group in range(layout.groups):
        of_hosts[np.flatnonzero(layout.group_of == group)[0]] += 0.5
    return layout, normalise_shares(of_groups, of_hosts, layout)


@FEW
@given(masters())
def test_shares_are_read_back_from_their_forest(given_: tuple[Layout, Masters]) -> None:
    layout, shares = given_
    forest = forest_of(shares, layout)
    check(forest)
    group_of_rank = layout.group_of[layout.host_of]
    found = layout_of(forest, layout.host_of.tolist(), group_of_rank.tolist())
    read = masters_of(forest, layout)
    np.testing.assert_allclose(read.of_groups, shares.of_groups, atol=1e-6)
    np.testing.assert_allclose(read.of_hosts, shares.of_hosts, atol=1e-6)
    if (found.group_of != layout.group_of).any():
        # All GMs on hosts whose LMs are the only ones of their groups: a star at each.
        assert found.groups == 1


@FEW
@given(masters())
def test_loads_are_those_of_the_forest(given_: tuple[Layout, Masters]) -> None:
    layout, shares = given_
    between = bytes_between(forest_of(shares, layout), 1.0)
    over_hosts = np.zeros((layout.hosts, layout.hosts))
    np.add.at(over_hosts, (layout.host_of[:, None], layout.host_of[None, :]), between)
    np.fill_diagonal(over_hosts, 0.0)
    for axis in (0, 1):
        np.testing.assert_allclose(over_hosts.sum(axis=axis), host_loads(shares, layout), atol=1e-6)
    if layout.groups > 1:
        crossing = layout.group_of[:, None] != layout.group_of[None, :]
        sent = np.bincount(layout.group_of, np.where(crossing, over_hosts, 0.0).sum(axis=1))
        np.testing.assert_allclose(sent, uplink_loads(shares, layout), atol=1e-6)


@pytest.mark.parametrize("routes", [ring(range(6)), double_tree(range(6))], ids=["ring", "tree"])
def test_rings_and_trees_have_no_masters(routes) -> None:  # type: ignore[no-untyped-def]
    forest = make_forest(*routes)
    with pytest.raises(NoMastersError, match="no masters"):
        layout_of(forest, range(6), [0, 0, 0, 1, 1, 1])
