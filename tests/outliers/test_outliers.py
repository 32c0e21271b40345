"""Hosts that stand out in random clusters of other shapes than those that limits were chosen on."""

from __future__ import annotations

import numpy as np
import pytest

from outliers.networks import draw, with_links_alone
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import BandwidthMeasurement
from plink.model.outliers import outliers, sentences, summary

# Limits were chosen on seeds from 0, of at most 6 racks of at most 6 hosts.
SEEDS = range(5000, 5060)
MOST = 9


@pytest.mark.parametrize("known", [1.0, 0.5])
def test_where_no_host_is_slow_none_is_named(known: float) -> None:
    alarms = [seed for seed in SEEDS if outliers(draw(seed, most=MOST, known=known).cluster)]
    assert len(alarms) <= 2, alarms


@pytest.mark.parametrize(
    ("odd", "known", "least"),
    [
        ("slow", 1.0, 0.9),
        ("sends", 1.0, 0.85),
        ("receives", 1.0, 0.85),
        ("far", 1.0, 0.9),
        ("slow", 0.7, 0.7),
        ("far", 0.5, 0.75),
    ],
)
def test_a_host_that_stands_out_is_named_and_hardly_ever_another(
    odd: str, known: float, least: float
) -> None:
    hits = others = 0
    for seed in SEEDS:
        drawn = draw(seed, most=MOST, odd=odd, known=known)
        named = {each.host for each in outliers(drawn.cluster)}
        name = drawn.cluster.names[drawn.odd or 0]
        hits += name in named
        others += bool(named - {name})
    assert hits >= least * len(SEEDS)
    assert others <= 3


def test_links_that_were_measured_beside_uplinks_show_a_slow_host() -> None:
    for seed in range(10):
        drawn = draw(seed, most=MOST, odd="slow")
        found = outliers(with_links_alone(drawn, 1.0, seed))
        assert {each.host for each in found} == {drawn.cluster.names[drawn.odd]}
        quiet = replace(drawn, odd=None)
        assert outliers(with_links_alone(quiet, 1.0, seed)) == []


def test_two_kinds_of_machines_are_no_outliers() -> None:
    cluster = draw(1, most=6).cluster
    assert cluster.bandwidth is not None
    size = len(cluster.hosts)
    link = np.where(np.arange(size) % 2, 1.0, 10.0)
    rates = np.minimum(link[:, None], link[None, :])
    np.fill_diagonal(rates, np.nan)
    halves = replace(cluster, bandwidth=replace(cluster.bandwidth, gbit_s=rates))
    assert outliers(halves) == []


def test_clusters_of_which_little_is_known_have_none() -> None:
    for hosts in (1, 2, 3):
        bare = Cluster([Host(f"n{host}", f"10.0.0.{host + 1}") for host in range(hosts)])
        assert outliers(bare) == []
    assert summary([]) == ""
    nothing = draw(3, most=5, known=0.0).cluster
    assert outliers(nothing) == []


def test_it_is_said_in_one_sentence_a_host() -> None:
    drawn = draw(2, most=6, odd="slow")
    found = outliers(drawn.cluster)
    (said,) = sentences(found)
    name = drawn.cluster.names[drawn.odd or 0]
    assert said.startswith(f"{name} is slow: it sends ")
    assert "at best, the other hosts " in said
    assert summary(found) == f"{name} is slow"
    assert {each.host for each in found} == {name}
    assert {each.kind for each in found} == {"send", "receive"}
    far = draw(2, most=6, odd="far")
    (said,) = sentences(outliers(far.cluster))
    assert "is far from all others: its round trips take " in said


def test_what_is_usual_is_the_median_of_the_others() -> None:
    gbit_s = np.minimum.outer(links := np.array([1.0, 10.0, 12.0, 14.0]), links)
    np.fill_diagonal(gbit_s, np.nan)
    bandwidth = BandwidthMeasurement(
        gbit_s=gbit_s, retransmits=np.full((4, 4), np.nan), tool="iperf3"
    )
    hosts = [Host(name, f"10.0.0.{number}") for number, name in enumerate("abcd", 1)]
    found = outliers(Cluster(hosts, bandwidth=bandwidth))
    assert {(each.host, each.kind) for each in found} == {("a", "send"), ("a", "receive")}
    assert {each.usual for each in found} == {12.0}
