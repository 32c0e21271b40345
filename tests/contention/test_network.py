"""What a cluster file says of the network, and what is assumed beyond it."""

from __future__ import annotations

import numpy as np
import pytest

from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import BandwidthMeasurement, RttMeasurement
from plink.model.network import build_network

NAN = float("nan")
HOSTS = [Host(name, f"10.0.0.{number}") for number, name in enumerate("abcd", start=1)]
GBIT = 1e9 / 8


def rtt(values) -> RttMeasurement:
    matrix = np.array(values, dtype=float)
    counts = np.zeros(matrix.shape, dtype=np.int64)
    return RttMeasurement({10.0: matrix}, 10.0, counts, counts, tool="import")


def bandwidth(values) -> BandwidthMeasurement:
    gbit_s = np.array(values, dtype=float)
    return BandwidthMeasurement(gbit_s=gbit_s, retransmits=gbit_s * NAN, tool="iperf3")


def uplinks(*known: Uplink) -> UplinkMeasurement:
    return UplinkMeasurement(uplinks=known, tool="uplinks")


WHOLE_RTT = rtt(np.full((4, 4), 40.0))
GROUPS = [Group("r1", ["a", "c"]), Group("r2", ["d"])]


def test_a_file_with_everything_needs_no_assumption():
    measured = bandwidth([[NAN, 1, 2, 3], [4, NAN, 5, 6], [7, 8, NAN, 9], [10, 11, 12, NAN]])
    found = build_network(
        Cluster(
            HOSTS,
            WHOLE_RTT,
            bandwidth=measured,
            groups=GROUPS,
            uplinks=uplinks(Uplink("r2", 3.0, 4.0), Uplink("r1", 1.0, 2.0, hosts_gbit_s=9.0)),
        )
    )
    network = found.network
    assert found.assumptions == []
    assert found.has_rates
    assert network.latency_s[0, 1] == pytest.approx(20e-6)
    assert network.send_bytes_s == pytest.approx(np.array([3, 6, 9, 12]) * GBIT)
    assert network.receive_bytes_s == pytest.approx(np.array([10, 11, 12, 9]) * GBIT)
    assert network.group_of.tolist() == [0, -1, 0, 1]
    assert network.uplink_send_bytes_s == pytest.approx(np.array([1, 3]) * GBIT)
    assert network.uplink_receive_bytes_s == pytest.approx(np.array([2, 4]) * GBIT)


def test_hosts_share_what_their_group_can_do_and_what_is_unknown_is_taken_for_the_median():
    known = uplinks(Uplink("r1", 1.0, 1.0, hosts_gbit_s=8.0), Uplink("r2", 1.0, 1.0))
    found = build_network(Cluster(HOSTS, WHOLE_RTT, groups=GROUPS, uplinks=known))
    assert found.network.send_bytes_s / GBIT == pytest.approx([4, 4, 4, 4])
    assert found.assumptions == [
        "links not measured, assumed to carry the median of the others: b, d"
    ]


def test_a_link_measured_in_one_direction_is_taken_to_carry_as_much_in_the_other():
    measured = bandwidth([[NAN, 3, NAN, NAN], [NAN] * 4, [NAN, 2, NAN, 5], [NAN] * 4])
    network = build_network(Cluster(HOSTS, WHOLE_RTT, bandwidth=measured)).network
    assert network.send_bytes_s / GBIT == pytest.approx([3, 3, 5, 5])
    assert network.receive_bytes_s / GBIT == pytest.approx([3, 3, 5, 5])


def test_the_median_is_of_unlike_links():
    measured = bandwidth([[NAN, 1, NAN, NAN], [2, NAN, 2, NAN], [9, NAN, NAN, NAN], [NAN] * 4])
    network = build_network(Cluster(HOSTS, WHOLE_RTT, bandwidth=measured)).network
    assert network.send_bytes_s / GBIT == pytest.approx([1, 2, 9, 2])
    assert network.receive_bytes_s / GBIT == pytest.approx([9, 1, 2, 2])


def test_what_no_host_is_known_to_carry_may_be_given():
    found = build_network(Cluster(HOSTS, WHOLE_RTT), unknown_gbit_s=10.0)
    assert found.network.send_bytes_s / GBIT == pytest.approx([10, 10, 10, 10])
    assert found.assumptions[0] == "no host's link was measured: assuming 10.0 Gbit/s each"


def test_nothing_known_is_said():
    found = build_network(Cluster(HOSTS))
    assert not found.has_rates
    assert np.isinf(found.network.send_bytes_s).all()
    assert found.assumptions == [
        "no round-trip times are known: assuming zero latency",
        "no host's link was measured: assuming unlimited links",
        "no groups are known: assuming that no uplink is shared",
    ]


def test_uplinks_that_are_half_known_or_bounds_are_named():
    known = uplinks(
        Uplink("r1", 1.0, 2.0, hosts_gbit_s=4.0, send_is_lower_bound=True),
        Uplink("r2", 1.0, None, hosts_gbit_s=4.0),
    )
    found = build_network(Cluster(HOSTS, WHOLE_RTT, groups=GROUPS, uplinks=known))
    assert found.network.uplink_receive_bytes_s / GBIT == pytest.approx([2, np.inf])
    assert found.assumptions[1:] == [
        "uplinks not measured, assumed to be unlimited: r2",
        "uplinks that may carry more than was measured, assumed to carry just that: r1",
    ]


def test_filled_pairs_are_counted():
    holed = np.full((4, 4), 40.0)
    holed[0, 1] = holed[1, 0] = NAN
    found = build_network(Cluster(HOSTS, rtt(holed)))
    assert found.assumptions[0].startswith("1 pair without a round-trip time")
    assert found.network.latency_s[0, 1] == pytest.approx(20e-6)


def test_a_transfer_of_nothing_limits_nothing():
    found = build_network(Cluster(HOSTS, WHOLE_RTT, bandwidth=bandwidth(np.zeros((4, 4)))))
    assert np.isinf(found.network.send_bytes_s).all()
