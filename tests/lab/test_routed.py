"""A routed lab as it stands: routers between the racks, and everything else as in a bridged one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.lab import Lab, lab_cluster
from support.lab_measure import p10_us, transfer_mbit
from support.lab_traces import NO_TRACES, traces
from support.require import require_fping

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def routed() -> Iterator[Lab]:
    """Two racks of two, a router between each and the spine."""
    with lab_cluster(
        racks=2,
        hosts=2,
        uplink_rate="200mbit",
        hops=1,
        options=["--routed"],
        reached_from_here=False,
    ) as lab:
        yield lab


def test_all_hosts_and_routers_reach_each_other(routed: Lab) -> None:
    require_fping()
    routers = {
        address
        for ways in routed.truth["routes"].values()
        for way in ways.values()
        for address in way
    }
    # Both sides of two racks' routers and of two hops, and the spine's side of each way up.
    assert len(routers) == 2 * 2 + 2 * 2 + 2
    targets = [*routed.truth["addresses"].values(), *sorted(routers)]
    for place in [*routed.names, "."]:
        done = routed.exec(place, ["fping", "-q", "-c", "1", "-t", "500", *targets], check=False)
        assert done.returncode == 0, done.stderr


def test_a_packet_lives_as_many_hops_as_the_truth_says(routed: Lab) -> None:
    require_fping()
    near, mate = routed.racks["r1"]
    far = routed.racks["r2"][0]
    for target in (mate, far):
        hops = len(routed.route(near, target)) + 1
        for ttl, code in ((hops - 1, 1), (hops, 0)):
            if ttl:
                ping = ["fping", "-q", "-c", "1", "-t", "500", "-H", str(ttl), target]
                assert routed.exec(near, ping, check=False).returncode == code


def test_links_carry_their_rate_and_no_more(routed: Lab) -> None:
    near, mate = routed.racks["r1"]
    far = routed.racks["r2"][0]
    # A machine with other work may slow them down.
    assert 100 < transfer_mbit(routed, near, mate) < 440
    assert 50 < transfer_mbit(routed, near, far) < 220
    routed.lab("set", "r2", "--rate", "40mbit")
    try:
        assert transfer_mbit(routed, near, far, megabytes=4) < 100
    finally:
        routed.lab("set", "r2", "--rate", "200mbit")


def test_other_racks_are_farther_than_ones_own(routed: Lab) -> None:
    require_fping()
    near, mate = routed.racks["r1"]
    far = routed.racks["r2"]
    p10 = p10_us(routed, near, [mate, *far])
    assert all(p10[host] > 1.3 * p10[mate] for host in far)


def test_ssh_and_names_work_across_racks(routed: Lab) -> None:
    near, far = routed.racks["r1"][0], routed.racks["r2"][0]
    argv = ["ssh", "-F", str(routed.ssh_config), "-o", "BatchMode=yes", far, "hostname"]
    assert routed.exec(".", argv).stdout == f"{far}\n"
    found = routed.exec(near, ["getent", "ahostsv4", far]).stdout.split()[0]
    assert found == routed.truth["addresses"][far]


def test_a_stopped_host_is_silent_until_started(routed: Lab) -> None:
    require_fping()
    near, mate = routed.racks["r1"]
    far = routed.racks["r2"][0]
    ping = ["fping", "-q", "-c", "1", "-t", "300", far]
    routed.lab("stop", far)
    try:
        for source in (near, "."):
            done = routed.exec(source, [*ping[:-1], routed.truth["addresses"][far]], check=False)
            assert done.returncode == 1
            # Silence, not a refusal: no router says that there is no such host.
            assert "nreachable" not in done.stderr + done.stdout
        assert routed.exec(mate, ["fping", "-q", "-c", "1", near]).returncode == 0
    finally:
        routed.lab("start", far)
    assert routed.exec(near, ping).returncode == 0


def test_status_says_that_it_is_routed(routed: Lab) -> None:
    (status,) = json.loads(routed.lab("status", "--json"))
    assert status["routed"]
    assert status["whole"]
    assert ", routed, seed" in routed.lab("status")
    with pytest.raises(subprocess.CalledProcessError) as failure:
        routed.lab("move", routed.names[0], "r1")
    assert failure.value.returncode == 2
    assert "is routed" in failure.value.stderr


def test_a_file_may_ask_for_it_and_nothing_is_left(tmp_path: Path) -> None:
    require_fping()
    shape = tmp_path / "rows.json"
    shape.write_text(
        json.dumps(
            {"routed": True, "hops": 0, "row_hops": 0, "rows": [{"racks": [1, 2]}, {"racks": [1]}]}
        )
    )
    with lab_cluster(topology=shape, reached_from_here=False) as lab:
        one, neighbour, far = (hosts[0] for hosts in lab.racks.values())
        assert [len(lab.route(one, other)) for other in (neighbour, far)] == [3, 5]
        for hops, target in ((4, neighbour), (6, far)):
            ping = ["fping", "-q", "-c", "1", "-H", str(hops), target]
            assert lab.exec(one, ping).returncode == 0
    assert traces(lab.name) == NO_TRACES
