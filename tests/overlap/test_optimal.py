"""The best schedule, against all schedules of few gradients and against what others use."""

from __future__ import annotations

import os
import random
from itertools import product
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overlap.drawn import least_s, networks, profiles
from plink.base.replacing import replace
from plink.training.overlap.asc import asc
from plink.training.overlap.asc_printed import asc_printed
from plink.training.overlap.bound import lower_bound_s
from plink.training.overlap.heuristics import ddp, lazy, mg_wfbp, single, wfbp
from plink.training.overlap.network import Network
from plink.training.overlap.optimal import optimal
from plink.training.overlap.profile import Profile
from plink.training.overlap.timeline import Sharing, communicated_s
from support.cpu_time import least_cpu_s

_ROUNDING = 1.0 + 1e-9
_SOAK = 10_000 if os.environ.get("PLINK_SOAK") else 25

_IN_ORDER: tuple[Sharing, ...] = ("fifo", "serial")


@pytest.mark.timeout(3600 if _SOAK > 1000 else 120)
@given(profiles(), networks(), st.integers(1, 3), st.sampled_from(_IN_ORDER))
@settings(max_examples=_SOAK, deadline=None)
def test_no_schedule_ends_sooner(
    profile: Profile, network: Network, in_flight: int, sharing: Sharing
) -> None:
    best = optimal(profile, network, in_flight, sharing, gap=0.0)
    assert best.in_flight == in_flight
    least = least_s(profile, network, in_flight, sharing)
    assert communicated_s(profile, best, network, sharing) <= least * _ROUNDING


@pytest.mark.skipif(_SOAK < 1000, reason="it takes minutes: PLINK_SOAK=1")
@given(profiles(12), networks(), st.integers(1, 3))
@settings(max_examples=300, deadline=None)
def test_no_schedule_of_twelve_gradients_ends_sooner(
    profile: Profile, network: Network, in_flight: int
) -> None:
    best = optimal(profile, network, in_flight, gap=0.0)
    least = least_s(profile, network, in_flight, "fifo")
    assert communicated_s(profile, best, network) <= least * _ROUNDING


@given(profiles(6), networks(), st.integers(1, 3))
@settings(max_examples=max(_SOAK // 3, 15), deadline=None)
def test_shared_fairly_it_is_near_the_best(
    profile: Profile, network: Network, in_flight: int
) -> None:
    best = optimal(profile, network, in_flight, "fair")
    least = least_s(profile, network, in_flight, "fair")
    assert communicated_s(profile, best, network, "fair") <= 1.1 * least


@given(profiles(7), networks(), st.integers(1, 4), st.sampled_from(("serial", "fair", "fifo")))
@settings(max_examples=_SOAK, deadline=None)
def test_nothing_ends_before_the_bound(
    profile: Profile, network: Network, in_flight: int, sharing: Sharing
) -> None:
    assert (
        lower_bound_s(profile, network) <= least_s(profile, network, in_flight, sharing) * _ROUNDING
    )


def _drawn(rng: random.Random, gradients: int) -> Profile:
    """Sizes as of a convolutional network: few are large."""
    ready_s = sorted(rng.uniform(0.0, 0.2) for _ in range(gradients))
    sizes_bytes = [int(rng.lognormvariate(9.0, 2.0)) for _ in ready_s]
    return Profile(tuple(map(str, range(gradients))), tuple(sizes_bytes), tuple(ready_s))


@pytest.mark.parametrize("in_flight", [1, 2, 3])
def test_with_many_gradients_no_other_schedule_ends_sooner(in_flight: int) -> None:
    rng = random.Random(in_flight)
    networks = ((1.4e-3, 1.7e-9), (1e-4, 1e-8), (1e-5, 3e-9))
    for gradients, (a_s, b_s_per_byte) in product((161, 449), networks):
        profile = _drawn(rng, gradients)
        network = Network.of_paper(a_s, b_s_per_byte, 1.5, 1e6)
        best_s = communicated_s(profile, optimal(profile, network, in_flight), network)
        assert best_s >= lower_bound_s(profile, network)
        for other in (
            *(wfbp(profile), single(profile), ddp(profile), mg_wfbp(profile, network)),
            *(asc(profile, network), asc_printed(profile, a_s, b_s_per_byte, 1.5)),
            *(lazy(profile, theta) for theta in (1e4, 1e5, 1e6)),
        ):
            if other.in_flight <= in_flight:
                assert best_s <= communicated_s(profile, other, network) * (1.0 + 1e-4)


def test_with_few_pasts_it_is_near_the_best() -> None:
    """In the mean: a few of a thousand end a fifth later than the best."""
    of_least: list[float] = []

    @given(profiles(), networks(), st.integers(2, 3))
    @settings(max_examples=_SOAK, deadline=None)
    def judge(profile: Profile, network: Network, in_flight: int) -> None:
        best = optimal(profile, network, in_flight, width=4)
        best_s = communicated_s(profile, best, network)
        known_s = least_s(profile, network, in_flight, "fifo")
        assert best_s <= 2.0 * known_s
        of_least.append(best_s / known_s if best_s > known_s else 1.0)
        for other in (mg_wfbp(profile, network), single(profile), wfbp(profile)):
            other_s = communicated_s(profile, replace(other, in_flight=in_flight), network)
            assert best_s <= other_s * _ROUNDING

    judge()
    assert fmean(of_least) < 1.05


@pytest.mark.timing
def test_604_gradients_take_a_moment_where_a_proof_takes_seconds() -> None:
    profile = _drawn(random.Random(3), 604)
    # The line carries much more than one collective does, so that many pasts may be the best.
    network = Network(1e-3, 4e-4, 3.2e-8, 2e-8)
    assert least_cpu_s(lambda: optimal(profile, network, 2, width=4), 1.5) < 1.5


@pytest.mark.timing
def test_604_gradients_take_a_moment() -> None:
    profile = _drawn(random.Random(3), 604)
    network = Network.of_paper(1.4e-3, 1.7e-9, 1.5, 1e6)
    # A tenth of that where nothing else runs.
    assert least_cpu_s(lambda: optimal(profile, network, 2), 1.5) < 1.5


def test_one_gradient_is_one_collective() -> None:
    profile = Profile(("w",), (100,), (0.5,))
    assert optimal(profile, Network(0.1, 0.0, 1e-3, 1e-3)).cuts == (1,)
