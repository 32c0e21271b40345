"""What schedules that were tried tell of collectives' cost beside the line."""

from __future__ import annotations

import numpy as np
import pytest

from overlap.jobs import network_drawn, profile_drawn
from plink.training.overlap.experience import Experience, InForce, predict_duration
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule

EACH_S = 2e-3


def _tried(counts: list[int], each_s: float, noise: float = 0.0) -> float:
    rng = np.random.default_rng(4)
    network = network_drawn(rng)
    profile = profile_drawn(rng, network, 200)
    experience = Experience(2)
    for count in counts:
        cuts = tuple(int(cut) for cut in np.linspace(0, 200, count + 1)[1:])
        what = InForce(profile.names, Schedule(cuts, 2), str(count))
        took_s = predict_duration(what, profile, network, 2) + each_s * count
        experience.add(what, took_s * (1.0 + noise * float(rng.standard_normal())))
    return experience.per_collective_s(profile, network)


def test_many_collectives_tell_what_each_costs() -> None:
    assert _tried([2, 200], EACH_S) == pytest.approx(EACH_S, rel=0.02)
    assert _tried([2, 20, 100], EACH_S) == pytest.approx(EACH_S, rel=0.05)


def test_few_collectives_more_tell_little() -> None:
    assert _tried([2, 4], EACH_S) < 0.4 * EACH_S


def test_one_schedule_tells_nothing_and_a_gain_is_no_cost() -> None:
    assert _tried([20], EACH_S) == 0.0
    assert _tried([2, 200], -EACH_S) == 0.0


def test_another_network_is_another_experience() -> None:
    profile = Profile(("a",), (1,), (0.0,))
    experience = Experience(2)
    what = InForce(profile.names, Schedule((1,), 2), "single")
    experience.add(what, 1.0)
    assert experience.has(what.schedule)
    experience.forget()
    assert not experience.has(what.schedule)
