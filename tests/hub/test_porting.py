"""Weights of ports follow what they carry, and not noise."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from plink.hub.porting import Porting, costs

LOOK_S = 0.03
SHARE_BYTES = 4_000_000


def after(
    porting: Porting, rates_bytes_s: Sequence[Sequence[float]], seconds: float, seed: int = 0
) -> list[int]:
    """Iterations of equal shares over ports of these rates in and out; the iterations of changes.

    An iteration begins when the slowest port of the one before is done, and looks come as they do.
    """
    luck = random.Random(seed)
    carried = np.zeros((len(rates_bytes_s), 2))
    changes, begun_s, iteration, now_s = [], 0.0, 0, 0.0
    while now_s < seconds:
        now_s += LOOK_S * luck.uniform(0.8, 1.6)
        if np.all(carried >= SHARE_BYTES * (iteration + 1)):
            begun_s, iteration = now_s, iteration + 1
        so_far = np.minimum((now_s - begun_s) * np.array(rates_bytes_s), SHARE_BYTES)
        carried = np.maximum(carried, SHARE_BYTES * iteration + so_far)
        if porting.look(now_s, [(int(one), int(other)) for one, other in carried]):
            changes.append(iteration)
    return changes


@pytest.mark.parametrize("way", [0, 1, None])
def test_a_slow_port_gets_what_it_can_carry(way: int | None) -> None:
    fast, slow = [50e6, 50e6], [12.5e6, 12.5e6]
    if way is not None:
        slow = [12.5e6 if way == at else 50e6 for at in range(2)]
    porting = Porting([1.0, 1.0, 1.0, 1.0], 5.0)
    changes = after(porting, [fast, slow, fast, fast], 40.0)
    # Three windows of 5 s, of iterations of 0.32 s.
    assert changes
    assert changes[0] < 60
    assert sum(porting.weights) == pytest.approx(4.0)
    shares = np.array(porting.weights) / 4.0
    assert shares[1] == pytest.approx(1 / 13, abs=0.03)
    assert np.ptp(shares[[0, 2, 3]]) < 0.02


def test_equal_ports_stay_as_they_were_told() -> None:
    for seed in range(5):
        porting = Porting([2.0, 1.0], 5.0)
        luck = random.Random(seed)
        rates = [[50e6 * luck.uniform(0.97, 1.03)] * 2 for _ in range(2)]
        assert after(porting, rates, 60.0, seed) == []
        assert porting.weights == [2.0, 1.0]


def test_what_is_idle_or_begins_anew_says_nothing() -> None:
    assert not costs(np.full((2, 2), 0.1), np.full((2, 2), 9.0)).any()
    assert not costs(np.full((2, 2), 5.0), np.array([[9.0, 9.0], [9.0, 0.0]])).any()
    porting = Porting([1.0, 1.0], 1.0)
    for look in range(400):
        # A service has ended again and again, as if all were less.
        carried = (look % 10) * 1_000_000
        assert not porting.look(look * 0.1, [(carried, carried), (9 * carried, 9 * carried)])
    assert porting.weights == [1.0, 1.0]
