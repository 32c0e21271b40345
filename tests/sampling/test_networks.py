"""Samples that follow the question find generated racks, on seeds that nothing was tuned on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from benchkit.sampled import (
    Network,
    agreement,
    by_chance,
    data_center,
    draw_following,
    fill_distances,
    plane,
    racks,
    ring_on,
)

SECONDS = 0.2


def groups_agree(network: Network, labels: np.ndarray | None) -> float:
    assert labels is not None
    return labels_agree(network.rack_of, labels)


def labels_agree(truth: np.ndarray, found: np.ndarray) -> float:
    from sklearn.metrics import adjusted_mutual_info_score

    return float(adjusted_mutual_info_score(truth, found))


def test_eight_flat_racks_and_their_ring() -> None:
    network = racks([16] * 8, 1100)
    sample = draw_following(network, 0.2, 1100)
    assert sample.share <= 0.2
    assert groups_agree(network, sample.labels) == 1.0
    matrix = fill_distances(sample.readings_us)
    assert agreement(matrix, network.rack_of) == 1.0
    best = ring_on(network.readings_us, network, SECONDS)
    ring = ring_on(matrix, network, SECONDS)
    assert best.leaving == ring.leaving == 8
    assert ring.cost_us <= 1.02 * best.cost_us


def test_as_many_pairs_by_chance_do_not_find_them() -> None:
    network = racks([16] * 8, 1100)
    sample = by_chance(network, 0.2, 1100)
    assert sample.share >= 0.2
    assert agreement(fill_distances(sample.readings_us), network.rack_of) < 0.95


def test_racks_in_rows_take_a_small_share() -> None:
    network = racks([16] * 24, 1101, row=4)
    sample = draw_following(network, 0.1, 1101)
    assert sample.share <= 0.1
    assert agreement(fill_distances(sample.readings_us), network.rack_of) > 0.99


def test_three_levels() -> None:
    network = racks([8] * 32, 1100, row=4, hall=4)
    sample = draw_following(network, 0.15, 1100)
    assert agreement(fill_distances(sample.readings_us), network.rack_of) > 0.99


def test_readings_with_noise_to_both_sides_and_detours() -> None:
    network = data_center("uniform", 256, 1100)
    sample = draw_following(network, 0.14, 1100)
    assert agreement(fill_distances(sample.readings_us), network.rack_of) > 0.98


@pytest.mark.parametrize(
    "make", [partial(racks, [96]), partial(racks, [1] * 96), partial(plane, 96)]
)
def test_where_there_is_no_structure_none_is_claimed(make: Callable[[int], Network]) -> None:
    sample = draw_following(make(1100), 0.2, 1100)
    assert sample.labels is None
    assert 0.18 < sample.share <= 0.2


def test_dead_hosts_and_lost_pairs_cost_little() -> None:
    network = racks([16] * 8, 1103)
    dead = {3, 77}
    asked: dict[tuple[int, int], int] = {}

    def is_lost(one: int, other: int) -> bool:
        asked[one, other] = asked.get((one, other), 0) + 1
        return bool({one, other} & dead) or (one * 131 + other * 17) % 20 == 0

    sample = draw_following(network, 0.2, 1103, is_lost)
    assert max(asked.values()) == 1
    for host in dead:
        assert sum(host in pair for pair in asked) <= 8
    alive = [host for host in range(128) if host not in dead]
    assert sample.labels is not None
    assert labels_agree(network.rack_of[alive], sample.labels[alive]) > 0.98


def test_no_host_meets_many_more_others_than_most() -> None:
    network = racks([1, 40, 3, 20, 36, 12, 16], 1104)
    sample = draw_following(network, 0.2, 1104)
    assert sample.most <= 2 * 0.2 * 128 + 2
