"""Going on with an earlier measurement, without hosts."""

from __future__ import annotations

import ipaddress

import numpy as np
import pytest

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster, Unreachable
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import BandwidthMeasurement, Measurement, RttMeasurement
from plink.measure.listed import list_again
from plink.measure.probing.collectors import (
    BandwidthCollector,
    RouteCollector,
    RttCollector,
)
from plink.measure.probing.request import (
    carry_over,
    find_moved_hosts,
    keep_addresses,
    refuse_to_drop,
    select_hosts,
)
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.rounds import round_robin
from plink.probes.samples import BandwidthReading, RouteReading, RttReading

NAMES = ("a", "b", "c")
RUN = Measurement(tool="echo", started="2026-01-02T03:04:05+00:00")


def cluster(*names: str) -> Cluster:
    size = len(names)
    rtt_us = np.arange(1.0, size * size + 1).reshape(size, size)
    np.fill_diagonal(rtt_us, np.nan)
    samples = np.where(np.isnan(rtt_us), 0, 9)
    rtt = RttMeasurement({10.0: rtt_us}, 10.0, samples, np.zeros_like(samples), tool="echo")
    return Cluster([Host(name, f"10.0.0.{ord(name)}") for name in names], rtt)


def listed(*names: str) -> list[ListedHost]:
    return [ListedHost(name) for name in names]


def test_hosts_come_back_as_they_were_listed() -> None:
    earlier = replace(
        cluster("b", "d"),
        unreachable=[
            Unreachable("e", "down", position=4),
            Unreachable("x", "down"),
            Unreachable("a", "down", user="me", port=9, slots=4, position=0),
            Unreachable("c", "down", position=2),
            Unreachable("b", "listed among the hosts as well", position=0),
        ],
    )
    hosts = list_again(earlier, "c.json")
    assert [host.name for host in hosts] == ["a", "b", "c", "d", "e", "x"]
    assert hosts[0] == ListedHost("a", user="me", port=9, slots=4, place="c.json")


def test_one_host_is_too_few() -> None:
    with pytest.raises(WrongUseError, match=r"c\.json: has fewer than two hosts"):
        list_again(cluster("a"), "c.json")


def test_measured_hosts_stay_though_they_are_down() -> None:
    now = {"a": Host("a", "10.0.0.97"), "n": Host("n", "10.0.0.9")}
    hosts = select_hosts(listed("n", "c", "a", "gone"), now, cluster(*NAMES))
    assert [host.name for host in hosts] == ["n", "c", "a"]
    assert hosts[1].address == "10.0.0.99"


def test_a_host_that_is_down_gives_way_to_who_has_its_address() -> None:
    hosts = select_hosts(listed("a", "n"), {"n": Host("n", "10.0.0.97")}, cluster(*NAMES))
    assert [host.name for host in hosts] == ["n"]


def test_readings_of_absent_hosts_stay_and_new_ones_find_their_place() -> None:
    kept = carry_over(cluster(*NAMES).hosts, cluster("a", "c"), moved=())
    # Host a is down: b and c take part, as hosts 0 and 1 of the run.
    collector = RttCollector(kept, [1, 2], [10.0])
    assert collector.missing(round_robin(2)) == {(0, 1), (1, 0)}
    collector.reading(RttReading(0, 1, sent=5, received=5, rtt_us={10.0: 50.0}))
    _, rtt = collector.result(RUN)
    nan = np.nan
    expected = [[nan, nan, 2.0], [nan, nan, 50.0], [3.0, nan, nan]]
    np.testing.assert_array_equal(rtt.readings_us, expected)
    assert collector.readings == 3


def test_a_host_at_another_address_loses_its_readings() -> None:
    earlier = cluster(*NAMES)
    hosts = [earlier.hosts[0], replace(earlier.hosts[1], address="10.9.9.9"), earlier.hosts[2]]
    moved = find_moved_hosts(hosts, earlier)
    assert moved == {"b": "10.0.0.98"}
    collector = RttCollector(carry_over(hosts, earlier, moved), [0, 1, 2], [10.0])
    assert collector.missing(round_robin(3)) == {(0, 1), (1, 0), (1, 2), (2, 1)}


def test_a_run_adds_to_what_other_tools_measured() -> None:
    kept = carry_over(cluster(*NAMES).hosts, cluster(*NAMES), moved=())
    bandwidths = BandwidthCollector(kept, [0, 1, 2])
    assert len(bandwidths.missing(round_robin(3))) == 6
    bandwidths.reading(BandwidthReading(2, 0, gbit_s=9.4, retransmits=None))
    both, _ = bandwidths.result(RUN)
    routes = RouteCollector(both, [0, 1, 2])
    routes.reading(RouteReading(0, 1, 2, ("10.0.0.1",)))
    routes.reading(RouteReading(0, 2, 2, ("10.0.0.1",)))
    routes.reading(RouteReading(1, 2, 1, ()))
    found, _ = routes.result(RUN)
    again = cluster_file.decode_cluster(cluster_file.encode_cluster(found), "c.json")
    assert again.rtt is not None
    np.testing.assert_array_equal(again.rtt.readings_us, cluster(*NAMES).rtt.readings_us)
    assert again.bandwidth is not None
    assert again.bandwidth.gbit_s[2, 0] == 9.4
    assert again.routes is not None
    assert again.routes.routes == [("10.0.0.1",), ()]
    assert again.routes.route_of.tolist() == [[-1, 0, 0], [-1, -1, 1], [-1, -1, -1]]


def test_groups_that_lost_a_host_are_dropped_with_their_uplinks() -> None:
    uplinks = UplinkMeasurement(uplinks=[Uplink("x", 1.0, 1.0), Uplink("y", 2.0, 2.0)], tool="t")
    groups = [Group("x", ["a"]), Group("y", ["b", "c"])]
    earlier = replace(cluster(*NAMES), groups=groups, uplinks=uplinks)
    kept = carry_over(earlier.hosts[:2], earlier, moved=())
    assert kept.groups == [groups[0]]
    assert kept.uplinks is not None
    assert kept.uplinks.uplinks == [uplinks.uplinks[0]]


def test_a_group_with_a_host_that_moved_is_kept_without_its_uplink() -> None:
    uplinks = UplinkMeasurement(uplinks=[Uplink("x", 1.0, 1.0), Uplink("y", 2.0, 2.0)], tool="t")
    groups = [Group("x", ["a"]), Group("y", ["b", "c"])]
    earlier = replace(cluster(*NAMES), groups=groups, uplinks=uplinks)
    kept = carry_over(earlier.hosts, earlier, moved={"b": "10.9.9.9"})
    assert kept.groups == groups
    assert kept.uplinks is not None
    assert kept.uplinks.uplinks == [uplinks.uplinks[0]]


def test_a_list_that_drops_measured_hosts_is_refused() -> None:
    earlier = cluster(*NAMES)
    refuse_to_drop(earlier, listed("x", *NAMES), "hosts", "c.json")
    with pytest.raises(WrongUseError, match="hosts: does not list a and 1 more, whose readings"):
        refuse_to_drop(earlier, listed("c", "x"), "hosts", "c.json")


def test_a_list_that_drops_bandwidths_is_refused() -> None:
    gbit_s = np.full((3, 3), np.nan)
    gbit_s[0, 1] = 1.0
    bandwidth = BandwidthMeasurement(gbit_s=gbit_s, retransmits=gbit_s, tool="iperf3")
    earlier = Cluster(cluster(*NAMES).hosts, bandwidth=bandwidth)
    refuse_to_drop(earlier, listed("a", "b"), "hosts", "c.json")
    with pytest.raises(WrongUseError, match="hosts: does not list b, whose readings"):
        refuse_to_drop(earlier, listed("a", "c"), "hosts", "c.json")


def test_a_list_that_drops_uplinks_is_refused() -> None:
    uplinks = UplinkMeasurement(uplinks=[Uplink("x", 1.0, 1.0)], tool="uplinks")
    groups = [Group("x", ["a"]), Group("y", ["b"])]
    earlier = Cluster(cluster(*NAMES).hosts, groups=groups, uplinks=uplinks)
    refuse_to_drop(earlier, listed("a"), "hosts", "c.json")
    with pytest.raises(WrongUseError, match="hosts: does not list a, whose readings"):
        refuse_to_drop(earlier, listed("b", "c"), "hosts", "c.json")


def test_a_list_may_drop_hosts_without_readings() -> None:
    earlier = cluster(*NAMES)
    assert earlier.rtt is not None
    earlier.rtt.readings_us[0, :] = earlier.rtt.readings_us[:, 0] = np.nan
    refuse_to_drop(earlier, listed("b", "c"), "hosts", "c.json")


def test_the_network_is_the_recorded_one() -> None:
    recorded = {"network": "10.0.0.0/8", "interface": "eth1"}
    ten, other = ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("10.0.0.0/16")
    for given in ((None, None), (ten, "eth1")):
        assert keep_addresses(recorded, *given, "c") == (ten, "eth1")
    assert keep_addresses({}, None, None, "c") == (None, None)
    with pytest.raises(WrongUseError, match=r"with network=10\.0\.0\.0/8, not 10.0.0.0/16"):
        keep_addresses(recorded, other, None, "c")
    with pytest.raises(WrongUseError, match="c: was measured without interface, not eth0"):
        keep_addresses({}, None, "eth0", "c")


@pytest.mark.parametrize("value", ["x", [1], {}, 1.5, 7.0, True, "10.0.0.1/8"])
def test_a_recorded_network_that_is_not_valid(value: object) -> None:
    with pytest.raises(WrongUseError, match=r"^c: options.*network"):
        keep_addresses({"network": value}, None, None, "c")
