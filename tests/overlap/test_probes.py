"""How often is probed, and what probes tell that a training's collectives do not."""

from __future__ import annotations

import numpy as np
import pytest

from overlap.jobs import Noise, probed, timed
from plink.training.overlap.fit import NetworkFit
from plink.training.overlap.heuristics import ddp
from plink.training.overlap.network import Network
from plink.training.overlap.probes import Budget
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule

# ResNet-152's gradients, 0.03 as long, on 400 Mbit/s: two buckets, of which the first ends before
# the second begins, so that a startup of nothing and a line for two fitted as well.
NETWORK = Network(1.7e-4, 3e-5, 3.67e-8, 3.67e-8)
GUESS = Network(1e-4, 1e-4, 2e-8, 2e-8)
SIZES_BYTES = tuple([15_000] * 467)
PROFILE = Profile(
    tuple(map(str, range(467))), SIZES_BYTES, tuple(0.09 + 0.0003 * place for place in range(467))
)


def test_two_large_buckets_do_not_tell_the_startup_but_probes_do() -> None:
    rng = np.random.default_rng(5)
    fit = NetworkFit(GUESS)
    buckets = Schedule(ddp(PROFILE).cuts, 2)
    assert len(buckets.cuts) == 2
    for _ in range(2):
        fitted = fit.add(timed(PROFILE, buckets, NETWORK, Noise(), rng, steps=5))
    assert not fitted.has_startup
    assert not fitted.has_line
    fitted = fit.add_probes(probed(NETWORK, Noise(), rng))
    assert fitted.has_startup
    assert fitted.has_line
    # They are not forgotten as windows are.
    for _ in range(10):
        fitted = fit.add(timed(PROFILE, buckets, NETWORK, Noise(), rng, steps=5))
    assert fitted.network.startup_s == pytest.approx(NETWORK.startup_s, rel=0.3)
    assert fitted.network.line_s_per_byte == pytest.approx(NETWORK.line_s_per_byte, rel=0.06)


def test_probes_of_another_network_are_forgotten_and_those_after_the_change_are_kept() -> None:
    rng = np.random.default_rng(6)
    slow = Network(1.7e-4, 3e-5, 2e-7, 2e-7)
    fit = NetworkFit(GUESS)
    schedule = Schedule((*tuple(range(20, 460, 20)), 467), 2)
    fit.add(timed(PROFILE, schedule, NETWORK, Noise(), rng, steps=5))
    fit.add_probes(probed(NETWORK, Noise(), rng))
    for _ in range(2):
        fit.add(timed(PROFILE, schedule, NETWORK, Noise(), rng, steps=5))
    assert fit.add(timed(PROFILE, schedule, slow, Noise(), rng, steps=5)).is_new
    fitted = fit.add_probes(probed(slow, Noise(), rng))
    assert fitted.network.s_per_byte == pytest.approx(slow.s_per_byte, rel=0.06)
    assert fitted.has_line


def test_probes_are_few_and_come_again() -> None:
    budget = Budget(most=2, windows=10)
    granted = [budget.grants(True, 0) for _ in range(30)]
    assert granted[:2] == [True, True]
    assert sum(granted) == 5
    assert budget.is_spent
    assert not budget.grants(False, 1)
    assert budget.grants(True, 1)
