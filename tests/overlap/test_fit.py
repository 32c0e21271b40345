"""Networks found again from timings, with noise, outliers, drift, and where little can be told."""

from __future__ import annotations

import numpy as np
import pytest

from overlap.jobs import Noise, far_from, network_drawn, profile_drawn, timed
from plink.training.overlap.fit import Fitted, NetworkFit
from plink.training.overlap.heuristics import wfbp
from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timings import Timings, begun_in_order

NETWORK = Network(8e-4, 2e-4, 1e-8, 7e-9)
PREDICTION = Network(1.6e-3, 2e-4, 2e-8, 2e-8)
CLEAN = Noise(0.0, 0.0)


def _fitted(seed: int, in_flight: int, noise: Noise) -> tuple[Network, Profile, Fitted]:
    rng = np.random.default_rng(seed)
    network = network_drawn(rng)
    profile = profile_drawn(rng, network, int(rng.integers(5, 40)))
    schedule = Schedule(wfbp(profile).cuts, in_flight)
    fit = NetworkFit(far_from(network, rng))
    for _ in range(3):
        fitted = fit.add(timed(profile, schedule, network, noise, rng))
    return network, profile, fitted


# What noise adds in the median is what collectives usually take, and no error.
@pytest.mark.parametrize(
    ("noise", "usual", "most"),
    [
        (CLEAN, 0.0, 0.01),
        (Noise(0.03, 0.05), 0.02, 0.025),
        (Noise(0.03, 0.2), 0.026, 0.04),
        (Noise(0.05, 0.1, is_heavy=True), 0.044, 0.06),
    ],
    ids=["clean", "5 % outliers", "20 % outliers", "heavy tails"],
)
@pytest.mark.parametrize("in_flight", [1, 2])
def test_networks_are_found_again(noise: Noise, usual: float, most: float, in_flight: int) -> None:
    alone, line = [], []
    for seed in range(2000, 2004):
        network, profile, fitted = _fitted(seed, in_flight, noise)
        for size_bytes in (min(profile.sizes_bytes), max(profile.sizes_bytes)):
            found_s = fitted.network.alone_s(size_bytes)
            alone.append(abs(found_s / network.alone_s(size_bytes) - 1.0 - usual))
        if fitted.has_line:
            size_bytes = max(profile.sizes_bytes)
            found_s = fitted.network.line_s(size_bytes)
            line.append(abs(found_s / network.line_s(size_bytes) - 1.0 - usual))
    assert np.quantile(alone, 0.9) <= most
    assert bool(line) == (in_flight > 1)
    if line:
        assert np.quantile(line, 0.9) <= 2.0 * most


def _at(sizes_bytes: list[int], ready_s: list[float]) -> Profile:
    return Profile(tuple(map(str, range(len(sizes_bytes)))), tuple(sizes_bytes), tuple(ready_s))


def _of(profile: Profile, in_flight: int, noise: Noise, steps: int = 10) -> Fitted:
    rng = np.random.default_rng(3)
    schedule = Schedule(wfbp(profile).cuts, in_flight)
    fit = NetworkFit(PREDICTION)
    for _ in range(3):
        fitted = fit.add(timed(profile, schedule, NETWORK, noise, rng, steps=steps))
    return fitted


def test_one_size_does_not_tell_startup_from_rate() -> None:
    profile = _at([100_000] * 8, [0.01 * i for i in range(8)])
    fitted = _of(profile, 2, Noise())
    assert not fitted.has_startup
    # What it takes itself is known all the same.
    assert fitted.network.alone_s(1e5) == pytest.approx(NETWORK.alone_s(1e5), rel=0.05)


def test_hardly_different_sizes_do_not_either() -> None:
    sizes = [100_000 + 100 * i for i in range(8)]
    assert not _of(_at(sizes, [0.01 * i for i in range(8)]), 1, Noise()).has_startup


def test_two_exact_ones_are_enough() -> None:
    fitted = _of(_at([1000, 1_000_000], [0.0, 0.1]), 1, CLEAN, steps=1)
    assert fitted.has_startup
    assert not fitted.has_line
    assert fitted.network.startup_s == pytest.approx(NETWORK.startup_s, rel=1e-3)
    assert fitted.network.s_per_byte == pytest.approx(NETWORK.s_per_byte, rel=1e-3)


def test_with_large_ones_only_the_rate_is_known() -> None:
    fitted = _of(_at([10_000_000, 20_000_000, 15_000_000], [0.0, 1.0, 2.0]), 1, Noise())
    assert fitted.network.s_per_byte == pytest.approx(NETWORK.s_per_byte, rel=0.06)


def test_overlapped_ones_only_tell_what_the_line_takes() -> None:
    sizes = [1_000_000] * 4 + [3_000_000] * 4 + [10_000] * 4
    fitted = _of(_at(sizes, [0.0] * 12), 2, Noise())
    assert fitted.has_line
    assert fitted.network.line_s(3e6) == pytest.approx(NETWORK.line_s(3e6), rel=0.06)
    assert fitted.network.alone_s(3e6) == pytest.approx(NETWORK.alone_s(3e6), rel=0.06)


def test_one_after_the_other_does_not_tell_what_the_line_takes() -> None:
    assert not _of(_at([1_000_000, 3_000_000, 10_000] * 4, [0.0] * 12), 1, Noise()).has_line


def _windows(networks: list[Network], noise: Noise) -> list[Fitted]:
    rng = np.random.default_rng(11)
    profile = _at([10_000, 300_000, 3_000_000, 1_000_000] * 3, [0.02 * i for i in range(12)])
    schedule = Schedule(wfbp(profile).cuts, 2)
    fit = NetworkFit(PREDICTION)
    return [fit.add(timed(profile, schedule, one, noise, rng)) for one in networks]


def test_another_network_is_noticed_at_once_and_the_old_one_forgotten() -> None:
    slow = Network(8e-4, 2e-4, 4e-8, 2.8e-8)
    found = _windows([NETWORK] * 6 + [slow] * 2, Noise())
    assert [one.is_new for one in found] == [False] * 6 + [True, False]
    assert found[-1].network.s_per_byte == pytest.approx(4e-8, rel=0.06)


def test_a_slower_startup_is_noticed_too() -> None:
    found = _windows([NETWORK] * 5 + [Network(4e-3, 2e-4, 1e-8, 7e-9)], Noise())
    assert found[-1].is_new
    assert found[-1].network.startup_s == pytest.approx(4.2e-3, rel=0.1)


def test_drift_is_followed_without_an_alarm() -> None:
    factors = [1.02**place for place in range(20)]
    found = _windows([Network(8e-4, 2e-4, f * 1e-8, f * 7e-9) for f in factors], Noise())
    assert not any(one.is_new for one in found)
    assert found[-1].network.s_per_byte == pytest.approx(factors[-1] * 1e-8, rel=0.06)


def test_the_same_network_stays_the_same() -> None:
    assert not any(one.is_new for one in _windows([NETWORK] * 30, Noise(0.03, 0.05)))


def test_a_rank_that_waited_for_others_does_not_count() -> None:
    sizes = np.array([1e4, 1e6])
    ended_s = np.array([[1.0, 2.0]])
    early = Timings(sizes, np.array([[0.1, 1.4]]), ended_s)
    late = Timings(sizes, np.array([[0.9, 1.3]]), ended_s)
    least = np.minimum(early.durations_s, late.durations_s)
    both = early.shortened_to(least)
    assert both.begun_s == pytest.approx(np.array([[0.9, 1.4]]))


def test_what_waits_for_its_turn_begins_when_another_ends() -> None:
    begun_s = begun_in_order([0.0, 0.1, 0.2, 5.0], [1.0, 0.5, 1.5, 6.0], 2)
    assert begun_s == [0.0, 0.1, 0.5, 5.0]


def test_others_in_flight_are_counted() -> None:
    timings = Timings(np.ones(3), np.array([[0.0, 1.0, 2.0]]), np.array([[1.5, 3.0, 4.0]]))
    assert timings.others.tolist() == [[0.0, 1.0, 1.0]]


def test_shapes_have_to_fit() -> None:
    with pytest.raises(ValueError, match="size of each"):
        Timings(np.ones(2), np.zeros((1, 3)), np.ones((1, 3)))
    with pytest.raises(ValueError, match="beginning and an end"):
        Timings(np.ones(3), np.zeros((1, 3)), np.ones((2, 3)))
