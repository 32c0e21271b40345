"""Embeddings judged by other readings of the same pairs: racks, what repeats, and triplets."""

from __future__ import annotations

import numpy as np
import pytest

from plink.solvers.embedding.embed import embed
from plink.solvers.embedding.fit import Shape
from plink.solvers.embedding.held_out import choose_simplest, mean_error, split_halves, split_pairs
from plink.solvers.embedding.observations import observe
from plink.solvers.groups.agreement import affinity


def racks_of(sizes, near=20.0, far=32.0):
    """Hosts of racks that are all equally far from each other, and where they stand."""
    rack = np.repeat(np.arange(len(sizes)), sizes)
    distance = np.where(rack[:, None] == rack[None, :], near, far)
    np.fill_diagonal(distance, 0.0)
    return distance, [(int(number), host) for host, number in enumerate(rack)]


def read(distance, noise, seed):
    """Readings that noise makes longer."""
    above = np.triu(np.random.default_rng(seed).exponential(noise, distance.shape), 1)
    return distance * np.exp(above + above.T)


def halves_of(distance, noise, seed):
    return read(distance, noise, [seed, 1]), read(distance, noise, [seed, 2])


def with_gaps(distance, share, seed):
    kept = np.triu(np.random.default_rng(seed).random(distance.shape) < share, 1)
    return np.where(kept | kept.T, distance, np.nan)


@pytest.mark.parametrize("sizes", [[4, 4], [5, 5, 5, 5], [6, 2, 4, 3, 5], [3] * 8])
def test_racks_that_are_all_equally_far_get_heights_and_are_told_apart(sizes):
    distance, positions = racks_of(sizes)
    halves = halves_of(distance, 0.05, 1)
    found = embed(np.minimum(*halves), halves=halves)
    assert found.heights.max() > 5.0
    assert affinity(found.distance, positions).accuracy == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_what_noise_hides_the_embedding_shows_and_says_so(seed):
    distance, positions = racks_of([6, 6, 6, 6])
    halves = halves_of(distance, 0.4, seed)
    least = np.minimum(*halves)
    found = embed(least, halves=halves)
    raw = affinity(least, positions).accuracy
    assert raw < 1.0
    assert affinity(found.distance, positions).accuracy > raw
    assert found.is_better_than_raw


def test_pairs_of_hosts_in_many_racks_are_not_lost_silently():
    """Rounding, which differs between processors, changes some fits: one case says nothing."""
    lost = []
    for seed in range(12):
        distance, positions = racks_of([2, 2, 1, 2, 2, 1, 2, 2])
        halves = halves_of(distance, 0.1, seed)
        least = np.minimum(*halves)
        found = embed(least, halves=halves)
        if found.is_better_than_raw:
            raw = affinity(least, positions).accuracy
            lost.append(raw - affinity(found.distance, positions).accuracy)
    assert np.mean(lost) < 0.02
    assert max(lost) < 0.15


def test_halves_with_gaps_are_judged_by_pairs_that_were_held_out():
    distance, positions = racks_of([16, 16, 16, 16])
    first, second = halves_of(distance, 0.2, 3)
    gaps = np.isnan(with_gaps(distance, 0.4, 4))
    halves = np.where(gaps, np.nan, first), np.where(gaps, np.nan, second)
    splits = split_halves(observe(halves[0]), observe(halves[1]), np.random.default_rng(0))
    assert not any((split.known.is_measured & split.judged).any() for split in splits)
    found = embed(np.fmin(*halves), halves=halves)
    assert affinity(found.distance, positions).accuracy >= 0.99


def test_every_pair_of_few_hosts_is_held_out_once_and_hosts_keep_partners():
    observations = observe(racks_of([4, 4, 4])[0])
    splits = split_pairs(observations, np.random.default_rng(0))
    times = np.sum([split.judged for split in splits], axis=0)
    assert times.max() == 1
    assert times.sum() >= 0.9 * 12 * 11
    for split in splits:
        assert (split.judged == split.judged.T).all()
        assert split.known.is_measured.sum(axis=1).min() >= 3


def test_the_simplest_shape_that_is_as_good_is_taken():
    rng = np.random.default_rng(1)
    best = rng.uniform(0.0, 0.1, 400)
    alike = best + rng.normal(0.0, 0.01, 400)
    worse = best + 0.05
    simple, heights = Shape(3, False), Shape(3, True)
    alike += best.mean() - alike.mean() + 1e-6
    assert choose_simplest({Shape(8, True): best, Shape(5, True): alike, heights: worse}) == Shape(
        5, True
    )
    assert choose_simplest({simple: best, heights: best}) == heights
    assert choose_simplest({simple: best, heights: worse}) == simple
    assert mean_error(np.empty(0)) == np.inf


def test_halves_of_other_hosts_are_refused():
    distance, _ = racks_of([4, 4])
    fewer = distance[:7, :7]
    with pytest.raises(ValueError, match="8 and 7 hosts, expected 8"):
        embed(distance, halves=(distance, fewer))
