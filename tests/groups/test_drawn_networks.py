"""Networks that `scripts/bench groups` draws: what they promise of readings and levels."""

from __future__ import annotations

import numpy as np
import pytest

from benchkit.drawn_networks import GROUPED, UNGROUPED, draw


@pytest.mark.parametrize("kind", [*GROUPED, *UNGROUPED])
def test_a_seed_stands_for_one_network(kind: str) -> None:
    network = draw(kind, 7)
    np.testing.assert_array_equal(network.readings_us, draw(kind, 7).readings_us)
    size = len(network.readings_us)
    between = ~np.eye(size, dtype=bool)
    is_read = np.isfinite(network.readings_us)
    assert not is_read[~between].any()
    assert (network.readings_us[is_read] > 0.0).all()
    partners = (is_read | is_read.T).sum(axis=1)
    assert partners.min() >= min(4, size - 1)
    assert bool(network.levels) == (kind in GROUPED)
    for fine, wide in zip(network.levels, network.levels[1:], strict=False):
        # Who is together at a level is together at each wider one.
        apart = wide[:, None] != wide[None, :]
        assert not (apart & (fine[:, None] == fine[None, :])).any()


@pytest.mark.parametrize("kind", ["quiet", "heavy tail", "coarse clock"])
def test_pairs_of_a_rack_are_nearer_by_the_median(kind: str) -> None:
    network = draw(kind, 11)
    together = network.levels[0][:, None] == network.levels[0][None, :]
    readings = network.readings_us
    assert np.nanmedian(readings[together]) < np.nanmedian(readings[~together])
