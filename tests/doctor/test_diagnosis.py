"""Generated clusters: every fault is named first, and who is well is left in peace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from doctor.clusters import Ward, drawn
from plink.base.replacing import replace
from plink.doctor.diagnosis import diagnose
from plink.doctor.evidence import Evidence
from plink.doctor.finding import Finding, FindingKind
from plink.formats.cluster import Cluster

SEEDS = range(10)
HEALTHY = range(500, 560)
# What is asked of the lab, in which more goes wrong than in a generated cluster.
LEAST_NAMED = 0.9
MOST_ALARMS = 0.05

Fault = Callable[[Ward], tuple[FindingKind, set[str]]]


def found(cluster: Cluster, before: Cluster | None = None) -> list[Finding]:
    return diagnose(Evidence(cluster, before))


def host_of(ward: Ward) -> int:
    """One with neighbours."""
    return int(ward.chance.choice(np.flatnonzero(np.bincount(ward.rack)[ward.rack] > 1)))


def rack_of(ward: Ward) -> int:
    return int(ward.rack[host_of(ward)])


def slow_nic(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.send[host] = ward.receive[host] = 0.094
    return FindingKind.SLOW_HOST, {ward.names[host]}


def slow_one_way(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.send[host] *= 0.5
    return FindingKind.SLOW_ONE_WAY, {ward.names[host]}


def lossy_host(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.loss[host, :] = ward.loss[:, host] = 0.02
    return FindingKind.LOSS, {ward.names[host]}


def lossy_pair(ward: Ward) -> tuple[FindingKind, set[str]]:
    one, other = ward.chance.choice(ward.size, 2, replace=False)
    ward.loss[one, other] = ward.loss[other, one] = 0.06
    return FindingKind.LOSS, {ward.names[one], ward.names[other]}


def busy(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.set(host, processor_share=0.12)
    ward.send[host] *= 0.6
    return FindingKind.BUSY, {ward.names[host]}


def limited(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.set(host, processor_share=0.3, throttled_share=0.9)
    for other in range(ward.size):
        ward.set(other, processor_share=float(ward.chance.uniform(0.2, 0.5)))
    return FindingKind.BUSY, {ward.names[host]}


def longer_way(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.quick_us[host, :] += 25.0
    ward.quick_us[:, host] += 25.0
    return FindingKind.FAR_HOST, {ward.names[host]}


def one_way_uplink(ward: Ward) -> tuple[FindingKind, set[str]]:
    rack = rack_of(ward)
    ward.down = ward.down.copy()
    ward.down[rack] *= 0.5
    return FindingKind.UPLINK_ONE_WAY, set(ward.members(rack))


def half_duplex(ward: Ward) -> tuple[FindingKind, set[str]]:
    rack = rack_of(ward)
    ward.both[rack] = 0.5
    return FindingKind.HALF_DUPLEX, set(ward.members(rack))


def congested(ward: Ward) -> tuple[FindingKind, set[str]]:
    rack = rack_of(ward)
    cross = (ward.rack == rack)[:, None] != (ward.rack == rack)[None, :]
    ward.wait_us += cross * ward.chance.uniform(500.0, 4000.0, cross.shape)
    ward.up = ward.up.copy()
    ward.up[rack] *= 0.4
    return FindingKind.CONGESTED, set(ward.members(rack))


def other_mtu(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.set(host, mtu_bytes=1500)
    return FindingKind.MTU, {ward.names[host]}


def other_congestion_control(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.set(host, congestion_control="reno")
    return FindingKind.CONGESTION_CONTROL, {ward.names[host]}


def slow_nic_that_says_so(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.send[host] = ward.receive[host] = 0.094
    ward.set(host, speed_mbit=100)
    return FindingKind.NIC_SPEED, {ward.names[host]}


def other_clock(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.set(host, clock_offset_s=9.0)
    return FindingKind.CLOCK, {ward.names[host]}


def other_traffic(ward: Ward) -> tuple[FindingKind, set[str]]:
    host = host_of(ward)
    ward.set(host, tx_bytes_s=60e6)
    ward.send[host] *= 0.5
    return FindingKind.OTHER_TRAFFIC, {ward.names[host]}


FAULTS: tuple[Fault, ...] = (
    *(slow_nic, slow_one_way, lossy_host, lossy_pair, busy, longer_way, one_way_uplink),
    *(limited, half_duplex, congested, other_mtu, other_congestion_control, slow_nic_that_says_so),
    *(other_clock, other_traffic),
)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_first(fault: Fault) -> None:
    named = []
    for seed in SEEDS:
        ward = drawn(seed)
        kind, hosts = fault(ward)
        findings = found(ward.cluster())
        named.append(bool(findings) and (findings[0].kind, set(findings[0].hosts)) == (kind, hosts))
    assert np.mean(named) >= LEAST_NAMED, named


def test_healthy_clusters_are_left_in_peace() -> None:
    alarms = [finding for seed in HEALTHY for finding in found(drawn(seed).cluster())]
    assert len(alarms) <= MOST_ALARMS * len(HEALTHY), [alarm.says for alarm in alarms]


def test_a_flat_network_is_left_in_peace() -> None:
    for seed in range(20):
        ward = Ward([12], seed)
        assert found(replace(ward.cluster(), groups=[], uplinks=None)) == []


def test_one_fault_is_one_finding() -> None:
    """A slow host makes its pairs slow, and a full uplink all that cross it."""
    for fault in (slow_nic_that_says_so, busy, congested):
        ward = drawn(3)
        fault(ward)
        (only,) = found(ward.cluster())
        assert only.evidence


def test_what_is_said_to_be_certain_is_right() -> None:
    right: dict[str, list[bool]] = {}
    for seed in range(100, 104):
        for fault in FAULTS:
            ward = drawn(seed)
            kind, hosts = fault(ward)
            for finding in found(ward.cluster()):
                is_right = (finding.kind, set(finding.hosts)) == (kind, hosts)
                right.setdefault(finding.certainty, []).append(is_right)
    assert np.mean(right["certain"]) >= 0.97


def test_an_earlier_file_shows_what_is_worse() -> None:
    before = drawn(7)
    now = drawn(7)
    now.chance = np.random.default_rng(1)
    rack = 1
    now.up = now.up * np.where(np.arange(len(now.racks)) == rack, 0.4, 1.0)
    now.down = now.up
    first = found(now.cluster(), before.cluster())[0]
    assert (first.kind, set(first.hosts)) == (FindingKind.SLOW_UPLINK, set(now.members(rack)))
    assert "in the earlier file" in first.says
    assert found(drawn(7).cluster(), before.cluster()) == []


def test_a_longer_way_to_a_rack_shows_beside_an_earlier_file_alone() -> None:
    before, now = drawn(8), drawn(8)
    is_in = now.rack == 0
    now.quick_us += 60.0 * (is_in[:, None] != is_in[None, :])
    assert found(now.cluster()) == []
    first, *_ = found(now.cluster(), before.cluster())
    assert (first.kind, set(first.hosts)) == (FindingKind.FARTHER, set(now.members(0)))


def test_a_pair_that_is_slow_by_itself_needs_the_bandwidths_of_pairs() -> None:
    cluster = drawn(9).cluster(with_pairs=True)
    assert cluster.bandwidth is not None
    cluster.bandwidth.gbit_s[2, 5] = 0.2
    first, *_ = found(cluster)
    assert first.kind is FindingKind.SLOW_PAIR
    assert list(first.hosts) == ["n02", "n05"]
    assert found(replace(cluster, bandwidth=None)) == []


def test_a_burst_in_one_direction_is_no_loss() -> None:
    cluster = drawn(4).cluster()
    assert cluster.rtt is not None
    cluster.rtt.losses[1, 6] = 12
    assert found(cluster) == []
    cluster.rtt.losses[6, 1] = 9
    (finding,) = found(cluster)
    assert (finding.kind, set(finding.hosts)) == (FindingKind.LOSS, {"n01", "n06"})


def test_counts_of_few_bits_say_the_same() -> None:
    cluster = drawn(4).cluster()
    assert cluster.rtt is not None
    cluster.rtt.losses[1, 6] = cluster.rtt.losses[6, 1] = 60
    counts = {"samples": np.minimum(cluster.rtt.samples, 100), "losses": cluster.rtt.losses}
    narrow = {name: matrix.astype(np.int8) for name, matrix in counts.items()}
    wide, same = (replace(cluster, rtt=replace(cluster.rtt, **each)) for each in (counts, narrow))
    (finding,) = found(wide)
    assert (finding.kind, set(finding.hosts)) == (FindingKind.LOSS, {"n01", "n06"})
    assert found(same) == [finding]


def test_of_one_slow_transfer_nobody_knows_whose_doing_it_was() -> None:
    cluster = drawn(6).cluster()
    assert cluster.uplinks is not None
    links = list(cluster.uplinks.links)
    links[0] = replace(links[0], send_gbit_s=0.5)
    assert found(replace(cluster, uplinks=replace(cluster.uplinks, links=links)))
    links[4] = replace(links[4], receive_gbit_s=0.5)
    assert found(replace(cluster, uplinks=replace(cluster.uplinks, links=links))) == []


def test_a_nic_that_counts_damaged_packets() -> None:
    ward = drawn(5)
    for host in range(ward.size):
        ward.set(host, counters={"rx_packets": 10**8, "rx_crc_errors": 0})
    ward.set(3, counters={"rx_packets": 10**8, "rx_crc_errors": 4000})
    (finding,) = found(ward.cluster())
    assert (finding.kind, list(finding.hosts)) == (FindingKind.LOSS, ["n03"])
    assert "4,000 CRC errors" in finding.says


def test_too_little_is_no_evidence() -> None:
    cluster = Ward([2], 0).cluster()
    assert found(cluster) == []
    assert found(replace(cluster, rtt=None, uplinks=None, conditions=None)) == []
