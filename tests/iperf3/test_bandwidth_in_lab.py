"""`plink probe --tool iperf3` and `--all` on real hosts whose links are known."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import BandwidthMeasurement
from support.lab import Lab
from support.pairs import all_pairs, measured, pairs_among
from support.plink_command import plink_here, ssh_options
from support.running import programs, started, wait_for, wait_for_next

pytestmark = pytest.mark.lab

# Of 1514 bytes that a shaper counts TCP has 1448 to itself.
HOST_GBIT_S = 0.1 * 1448 / 1514
UPLINK_GBIT_S = 0.06 * 1448 / 1514


def read(path: Path) -> Cluster:
    return cluster_file.read_cluster(str(path))


def fits(gbit_s: float | None, limit_gbit_s: float) -> bool:
    """Whether a transfer may have had this rate: at most the link's, less on a busy machine."""
    return gbit_s is not None and 0.3 * limit_gbit_s < gbit_s < 1.15 * limit_gbit_s


def iperf3s(lab: Lab) -> list[int]:
    """The iperf3s that run on any host, and the shells around them."""
    return programs(lab, "iperf3")


def clients(lab: Lab) -> list[int]:
    """The iperf3s that transfer: neither servers nor those asked for their version."""
    return programs(lab, "iperf3\0-c\0")


def three_hosts(lab: Lab, tmp_path: Path) -> Path:
    """A list of two hosts of the first rack and one of the second."""
    racks = list(lab.racks.values())
    file = tmp_path / "hosts.txt"
    file.write_text("\n".join([*racks[0], racks[1][0]]))
    return file


def test_bandwidths_join_round_trip_times(lab: Lab, tmp_path: Path) -> None:
    """One host is silent at first: it costs its own pairs, which --resume then measures."""
    hosts, out = three_hosts(lab, tmp_path), tmp_path / "c.json"
    mute = hosts.read_text().split()[2]
    assert plink_here("probe", hosts, *ssh_options(lab), "-o", out, "--count", "20").code == 0
    before = read(out)
    others = [host.address for host in before.hosts if host.name != mute]
    routes = "; ".join(f"ip route add blackhole {address}/32" for address in others)
    options = ("--resume", out, *ssh_options(lab), "--tool", "iperf3", "--timeout", "0.5")
    lab.exec(mute, ["sh", "-c", routes])
    try:
        done = plink_here("probe", *options)
    finally:
        lab.exec(mute, ["sh", "-c", routes.replace("route add", "route del")])
    assert done.code == 3
    assert f"warning: {mute}: exchanges no data with any host" in done.stderr
    bandwidth = read(out).bandwidth
    assert bandwidth is not None
    assert np.count_nonzero(~np.isnan(bandwidth.gbit_s)) == 2
    assert len([failure for failure in bandwidth.failures if failure.destination]) == 4
    done = plink_here("probe", *options)
    assert done.code == 0, done.stderr
    assert "6 of 6 directed pairs, iperf3 for 1 s" in done.stderr
    after = read(out)
    assert before.rtt is not None
    assert after.rtt is not None
    assert (after.rtt.samples == before.rtt.samples).all()
    assert after.bandwidth is not None
    gbit_s = after.bandwidth.gbit_s
    for i, j in all_pairs(3):
        assert fits(gbit_s[i, j], UPLINK_GBIT_S if 2 in (i, j) else HOST_GBIT_S)
    assert not np.isnan(after.bandwidth.retransmits[0, 1])
    assert not iperf3s(lab)
    refused = plink_here("probe", *options, "--streams", "4")
    assert refused.code == 2
    assert "was measured with --streams 1, not 4" in refused.stderr


def write_known(lab: Lab, path: Path) -> None:
    """A file that knows the first rack's uplink, and all hosts' links but the last rack's."""
    gbit_s = np.full((5, 5), HOST_GBIT_S)
    place = lab.names.index(lab.racks["r3"][0])
    gbit_s[place, :] = gbit_s[:, place] = np.nan
    known = Cluster(
        [Host(name, lab.truth["addresses"][name]) for name in lab.names],
        bandwidth=BandwidthMeasurement(gbit_s=gbit_s, retransmits=gbit_s * 0, tool="iperf3"),
        groups=[Group(rack, hosts) for rack, hosts in lab.racks.items()],
        uplinks=UplinkMeasurement(
            uplinks=[Uplink("r1", UPLINK_GBIT_S, UPLINK_GBIT_S)],
            tool="uplinks",
            options={"duration_s": 1, "streams": 1},
        ),
    )
    cluster_file.write_cluster(str(path), known)


def test_all_that_a_file_does_not_know_is_measured(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    write_known(lab, out)
    options = (*ssh_options(lab), "--all", "--count", 20, "--passes", 1)
    done = plink_here("probe", "--resume", out, *options)
    assert done.code == 0, done.stderr
    assert "3 groups as the file has them: r1 (2), r2 (2), r3 (1)" in done.stderr
    assert "3 of 3 groups" in done.stderr
    assert measured(out) == pairs_among(lab.names)
    cluster = read(out)
    assert {group.name: group.hosts for group in cluster.groups} == lab.racks
    assert cluster.uplinks is not None
    assert cluster.uplinks.options["duration_s"] == 1
    found = {uplink.group: uplink for uplink in cluster.uplinks.uplinks}
    assert found["r1"].send_gbit_s == UPLINK_GBIT_S
    for uplink in found.values():
        assert fits(uplink.send_gbit_s, UPLINK_GBIT_S)
        assert fits(uplink.receive_gbit_s, UPLINK_GBIT_S)
    assert fits(found["r2"].hosts_gbit_s, 2 * HOST_GBIT_S)
    # Behind its uplink the only host of a rack shows no more.
    assert fits(found["r3"].hosts_gbit_s, UPLINK_GBIT_S)
    assert cluster.bandwidth is not None
    assert not iperf3s(lab)


def test_an_interrupt_keeps_what_there_is(lab: Lab, tmp_path: Path) -> None:
    hosts, out = three_hosts(lab, tmp_path), tmp_path / "c.json"
    options = (*ssh_options(lab), "-o", out, "--tool", "iperf3")
    with started("probe", hosts, *options) as run:
        wait_for_next(lambda: clients(lab), run)
        run.send_signal(signal.SIGINT)
        _, complaint = run.communicate(timeout=100)
    assert run.returncode == 3, complaint
    assert "Traceback" not in complaint
    bandwidth = read(out).bandwidth
    assert bandwidth is not None
    assert 0 < np.count_nonzero(~np.isnan(bandwidth.gbit_s)) < 6
    wait_for(lambda: not iperf3s(lab))
