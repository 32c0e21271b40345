"""`plink probe --tool iperf3` and `--tool uplinks` on real hosts whose links are known."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

from plink.files import cluster as cluster_file
from plink.files.cluster import Cluster
from plink.files.groups import Uplink, UplinkMeasurement
from plink.files.hosts import Group
from plink.files.measurements import BandwidthMeasurement
from support.lab import Lab
from support.plink_command import plink, ssh_options
from support.running import programs, started, wait_for, wait_for_next

pytestmark = pytest.mark.lab

# Of 1514 bytes that a shaper counts TCP has 1448 to itself.
HOST_GBIT_S = 0.1 * 1448 / 1514
UPLINK_GBIT_S = 0.06 * 1448 / 1514


def read(path: Path) -> Cluster:
    return cluster_file.read_cluster(str(path))


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
    assert plink("probe", hosts, *ssh_options(lab), "-o", out, "--count", "20").code == 0
    before = read(out)
    others = [host.address for host in before.hosts if host.name != mute]
    routes = "; ".join(f"ip route add blackhole {address}/32" for address in others)
    options = ("--resume", out, *ssh_options(lab), "--tool", "iperf3", "--timeout", "0.5")
    lab.exec(mute, ["sh", "-c", routes])
    try:
        done = plink("probe", *options)
    finally:
        lab.exec(mute, ["sh", "-c", routes.replace("route add", "route del")])
    assert done.code == 3
    assert f"warning: {mute}: exchanges no data with any host" in done.stderr
    bandwidth = read(out).bandwidth
    assert bandwidth is not None
    assert np.count_nonzero(~np.isnan(bandwidth.gbit_s)) == 2
    assert len([failure for failure in bandwidth.failures if failure.destination]) == 4
    done = plink("probe", *options)
    assert done.code == 0, done.stderr
    assert "6 of 6 directed pairs, iperf3 for 1 s" in done.stderr
    after = read(out)
    assert before.rtt is not None
    assert after.rtt is not None
    assert (after.rtt.samples == before.rtt.samples).all()
    assert after.bandwidth is not None
    gbit_s = after.bandwidth.gbit_s
    assert [gbit_s[0, 1], gbit_s[1, 0]] == pytest.approx([HOST_GBIT_S] * 2, rel=0.1)
    across = [gbit_s[0, 2], gbit_s[2, 0], gbit_s[1, 2], gbit_s[2, 1]]
    assert across == pytest.approx([UPLINK_GBIT_S] * 4, rel=0.1)
    assert not np.isnan(after.bandwidth.retransmits[0, 1])
    assert not iperf3s(lab)
    refused = plink("probe", *options, "--streams", "4")
    assert refused.code == 2
    assert "was measured with --streams 1, not 4" in refused.stderr


def write_known(lab: Lab, path: Path) -> None:
    """A file that knows the first rack's uplink, and all hosts' links but the last rack's."""
    assert plink("probe", lab.hosts_file, *ssh_options(lab), "-o", path, "--count", "1").code == 0
    cluster = read(path)
    gbit_s = np.full((5, 5), HOST_GBIT_S)
    place = cluster.names.index(lab.racks["r3"][0])
    gbit_s[place, :] = gbit_s[:, place] = np.nan
    known = Cluster(
        cluster.hosts,
        bandwidth=BandwidthMeasurement(gbit_s=gbit_s, retransmits=gbit_s * 0, tool="iperf3"),
        groups=[Group(rack, hosts) for rack, hosts in lab.racks.items()],
        uplinks=UplinkMeasurement(
            uplinks=[Uplink("r1", UPLINK_GBIT_S, UPLINK_GBIT_S)],
            tool="uplinks",
            options={"duration_s": 1, "streams": 1},
        ),
    )
    cluster_file.write_cluster(str(path), known)


def test_uplinks_are_found(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    write_known(lab, out)
    done = plink("probe", "--resume", out, *ssh_options(lab), "--tool", "uplinks")
    assert done.code == 0, done.stderr
    assert "3 of 3 groups" in done.stderr
    cluster = read(out)
    assert {group.name: group.hosts for group in cluster.groups} == lab.racks
    assert cluster.uplinks is not None
    assert cluster.uplinks.options["duration_s"] == 1
    found = {uplink.group: uplink for uplink in cluster.uplinks.uplinks}
    assert found["r1"].send_gbit_s == UPLINK_GBIT_S
    for uplink in found.values():
        # A transfer of a second is not exact on a busy machine (docs/benchmarks/probing.md).
        assert [uplink.send_gbit_s, uplink.receive_gbit_s] == pytest.approx(
            [UPLINK_GBIT_S] * 2, rel=0.25
        )
        assert not uplink.send_is_lower_bound
    assert found["r2"].hosts_gbit_s == pytest.approx(2 * HOST_GBIT_S, rel=0.25)
    # Behind its uplink the only host of a rack shows no more.
    assert found["r3"].hosts_gbit_s == pytest.approx(UPLINK_GBIT_S, rel=0.25)
    assert cluster.bandwidth is not None
    assert not iperf3s(lab)


def test_an_interrupt_keeps_what_there_is(lab: Lab, tmp_path: Path) -> None:
    hosts, out = three_hosts(lab, tmp_path), tmp_path / "c.json"
    options = (*ssh_options(lab), "-o", out, "--tool", "iperf3")
    with started("probe", hosts, *options) as run:
        wait_for_next(lambda: clients(lab))
        run.send_signal(signal.SIGINT)
        _, complaint = run.communicate(timeout=20)
    assert run.returncode == 3, complaint
    assert "Traceback" not in complaint
    bandwidth = read(out).bandwidth
    assert bandwidth is not None
    assert 0 < np.count_nonzero(~np.isnan(bandwidth.gbit_s)) < 6
    wait_for(lambda: not iperf3s(lab), 5.0)


def test_a_killed_coordinator_leaves_no_iperf3(lab: Lab, tmp_path: Path) -> None:
    options = (*ssh_options(lab), "-o", tmp_path / "c.json", "--tool", "iperf3", "--duration", "30")
    with started("probe", three_hosts(lab, tmp_path), *options) as run:
        wait_for(lambda: len(iperf3s(lab)) >= 4)
        run.kill()
        run.communicate()
    wait_for(lambda: not iperf3s(lab), 5.0)
