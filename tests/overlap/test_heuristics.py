"""Schedules of others: as they say, and as PyTorch does."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overlap.drawn import networks, profiles
from plink.training.overlap.asc import asc
from plink.training.overlap.asc_printed import (
    MERGED,
    NORMAL,
    SIMULTANEOUS,
    asc_printed,
    layer_types,
)
from plink.training.overlap.heuristics import ddp, lazy, mg_wfbp
from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile


def _profile(sizes_bytes: list[int], ready_s: list[float]) -> Profile:
    return Profile(tuple(map(str, range(len(ready_s)))), tuple(sizes_bytes), tuple(ready_s))


def test_buckets_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    from torch.distributed import _compute_bucket_assignment_by_size

    rng = random.Random(2)
    for _ in range(20):
        counts = [rng.randint(1, 3000) for _ in range(40)]
        profile = _profile([4 * count for count in counts], [0.0] * len(counts))
        tensors = [torch.empty(count) for count in counts]
        buckets, _ = _compute_bucket_assignment_by_size(tensors, [2000, 20_000])
        ends = [max(bucket) + 1 for bucket in buckets]
        assert list(ddp(profile, 20_000, 2000).cuts) == ends


@given(profiles(), st.integers(0, 20_000))
@settings(deadline=None)
def test_lazily_each_but_the_last_has_more_than_theta(profile: Profile, theta_bytes: int) -> None:
    groups = lazy(profile, theta_bytes).groups(profile)
    assert all(group.size_bytes > theta_bytes for group in groups[:-1])
    before = [group.size_bytes - profile.sizes_bytes[group.end - 1] for group in groups]
    assert all(size_bytes <= theta_bytes for size_bytes in before)


def test_greedily_merged_are_those_that_come_within_a_startup() -> None:
    profile = _profile([100, 100, 100, 100], [0.0, 0.4, 0.9, 5.0])
    network = Network(0.5, 0.0, 0.01, 0.01)
    # The second comes within the first one's startup; these begin at 0.4, and the third at 0.9.
    assert mg_wfbp(profile, network).cuts == (2, 3, 4)


def test_corrected_it_merges_sends_at_once_or_waits() -> None:
    network = Network(0.5, 0.0, 0.01, 0.005)
    # The first is over before the second comes; the third comes while the second starts up.
    profile = _profile([10, 100, 100, 1000], [0.0, 1.0, 1.2, 2.9])
    assert asc(profile, network).cuts == (1, 3, 4)
    assert asc(profile, network).in_flight == 2


@given(profiles(12), networks())
@settings(deadline=None)
def test_every_gradient_is_in_one_collective(profile: Profile, network: Network) -> None:
    a_s = network.startup_s + 1e-3
    for schedule in (asc(profile, network), asc_printed(profile, a_s, network.s_per_byte, 1.5)):
        assert sum(group.size_bytes for group in schedule.groups(profile)) == profile.total_bytes


# Worked out on paper from lines 1 to 36, with a = 1, b = 0.01, gamma = 1.5.
GOLDEN = (
    ([100, 100], [1.0, 2.0], [MERGED, SIMULTANEOUS]),
    ([100, 100], [1.0, 9.0], [NORMAL, SIMULTANEOUS]),
    ([100, 100], [1.0, 3.5], [SIMULTANEOUS, SIMULTANEOUS]),
    ([100, 100, 100], [1.0, 2.0, 3.0], [SIMULTANEOUS, MERGED, SIMULTANEOUS]),
)


@pytest.mark.parametrize(("sizes_bytes", "ready_s", "types"), GOLDEN)
def test_the_print_to_the_letter(
    sizes_bytes: list[int], ready_s: list[float], types: list[str]
) -> None:
    assert layer_types(_profile(sizes_bytes, ready_s), 1.0, 0.01, 1.5) == types
