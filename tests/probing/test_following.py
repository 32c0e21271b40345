"""Pairs that the readings ask for: from nothing to the groups of a large cluster, without hosts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import FollowedSample, Measurement, RoundSample, find_sample
from plink.measure.probing.collectors import RttCollector
from plink.measure.probing.passes import (
    AdaptiveSampler,
    FurtherRounds,
    StoppingPolicy,
    choose_sample,
)
from plink.measure.probing.tools import FOLLOWED_ROUNDS
from plink.optimize.groups.finding import find_groups
from plink.optimize.groups.request import GroupRequest
from plink.probes.options import RttOptions
from plink.probes.samples import PairLoss, RttReading
from plink.solvers.groups.agreement import adjusted_mutual_information


def racks(sizes, seed):
    """Each host's rack, and times in µs with noise as measured in the lab."""
    rng = np.random.default_rng(seed)
    rack = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    least = np.where(rack[:, None] == rack[None, :], 21.0, 34.0)
    return rack, least * rng.uniform(1.0, 1.3, least.shape)


def collector_of(hosts):
    cluster = Cluster([Host(f"h{i}", f"10.0.0.{i}") for i in range(hosts)])
    return RttCollector(cluster, range(hosts), (10.0, 50.0, 99.0))


def meet(collector, rounds, times_us, lost=()):
    for pairs in rounds:
        for i, j in pairs:
            for source, destination in ((i, j), (j, i)):
                if {source, destination} & set(lost):
                    collector.pair_lost(PairLoss(source, destination, "is silent"))
                    continue
                rtt_us = float(times_us[source, destination])
                collector.reading(
                    RttReading(
                        source, destination, 100, 100, dict.fromkeys((10.0, 50.0, 99.0), rtt_us)
                    )
                )


def followed(collector, times_us, sample, lost=()):
    following = AdaptiveSampler(collector, sample)
    while rounds := following.next():
        for pairs in rounds:
            ends = [end for pair in pairs for end in pair]
            assert len(set(ends)) == len(ends)
        meet(collector, rounds, times_us, lost)
    return following


def cluster_of(collector):
    return collector.result(Measurement(tool="echo"))[0]


def test_the_racks_of_128_hosts_are_found_in_a_fifth_of_the_pairs():
    rack, times_us = racks([16] * 8, seed=1001)
    collector = collector_of(128)
    sample = choose_sample(128, FOLLOWED_ROUNDS, 0)
    followed(collector, times_us, sample)
    cluster = cluster_of(collector)
    measured = np.isfinite(cluster.rtt.readings_us).sum() / (128 * 127)
    assert measured <= 0.2
    groups = find_groups(cluster, GroupRequest()).groups
    found = {host: number for number, group in enumerate(groups) for host in group.hosts}
    labels = [found.get(name, name) for name in cluster.names]
    assert adjusted_mutual_information(labels, rack.tolist()) == 1.0


def test_hosts_that_say_nothing_end_no_run():
    rack, times_us = racks([8] * 4, seed=1002)
    collector = collector_of(32)
    following = followed(collector, times_us, FollowedSample(0.6, 0), lost=(3, 17))
    tried = {end for pairs in following.pairs for pair in pairs for end in pair}
    assert {3, 17} <= tried
    assert len(set(rack)) == 4


def test_a_pair_that_only_a_later_pass_read_counts_as_measured():
    _, times_us = racks([8] * 4, seed=1002)
    collector = collector_of(32)
    following = followed(collector, times_us, FollowedSample(0.3, 0))
    before = {pair for pairs in following.pairs for pair in pairs}
    first, second = next(
        pair for pair in itertools.combinations(range(32), 2) if pair not in before
    )
    meet(collector, [[(second, first)]], times_us)
    assert {pair for pairs in following.pairs for pair in pairs} == before | {(first, second)}


def test_a_later_run_goes_on_from_the_readings():
    _, times_us = racks([16] * 8, seed=1003)
    collector = collector_of(128)
    followed(collector, times_us, FollowedSample(0.05, 0))
    before = set(map(tuple, np.argwhere(np.isfinite(cluster_of(collector).rtt.readings_us))))
    following = AdaptiveSampler(collector, FollowedSample(0.2, 0))
    rounds = following.next()
    assert rounds
    assert not {pair for pairs in rounds for pair in pairs} & before


def test_pairs_that_were_asked_for_meet_again_in_a_second_pass():
    _, times_us = racks([8] * 4, seed=1004)
    collector = collector_of(32)
    following = AdaptiveSampler(collector, FollowedSample(0.5, 0))
    first = following.next()
    wanted = frozenset(way for met in first for i, j in met for way in ((i, j), (j, i)))
    visits = FurtherRounds(
        collector, range(32), first, wanted, RttOptions(passes=2), seed=0, following=following
    )
    meet(collector, first, times_us)
    met = []
    while rounds := visits.more():
        met += [pair for pairs in rounds for pair in pairs]
        meet(collector, rounds, times_us)
    passes = cluster_of(collector).rtt.passes
    assert set(passes[passes > 0]) == {2}
    assert len(met) > len(set(met))


@pytest.mark.parametrize(("most", "asked"), [(1, 0), (2, 1)])
def test_nothing_is_asked_after_the_last_pass(most, asked):
    _, times_us = racks([4] * 2, seed=1005)
    collector = collector_of(8)
    heard = []
    policy = StoppingPolicy(answer=heard.append)
    wanted = frozenset((i, j) for i in range(8) for j in range(8) if i != j)
    rounds = [[(i, j)] for i, j in sorted(wanted) if i < j]
    visits = FurtherRounds(
        collector, range(8), rounds, wanted, RttOptions(passes=most), seed=0, policy=policy
    )
    meet(collector, rounds, times_us)
    while more := visits.more():
        meet(collector, more, times_us)
    assert len(heard) == asked


@pytest.mark.parametrize("sample", [FollowedSample(0.05, 7), RoundSample(4, 15, 7)])
def test_a_file_says_what_was_followed(sample):
    assert find_sample(sample.to_options()) == sample


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5, "a", True])
def test_a_share_that_cannot_be_is_no_sample(share):
    assert find_sample({"share": share, "seed": 1}) is None
