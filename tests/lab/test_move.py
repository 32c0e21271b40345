"""A host that is plugged into another rack's switch while the lab stands."""

from __future__ import annotations

import json
import subprocess

import pytest

from support.lab import lab_cluster
from support.lab_measure import p10_us, transfer_mbit
from support.require import require_fping

pytestmark = pytest.mark.lab


def test_a_moved_host_is_near_its_new_neighbours() -> None:
    require_fping()
    with lab_cluster(
        racks=3,
        hosts=2,
        host_rate="200mbit",
        uplink_rate="50mbit",
        hops=6,
        reached_from_here=False,
    ) as lab:
        moved, left = lab.racks["r1"]
        new_neighbour = lab.racks["r2"][0]
        third = lab.racks["r3"][0]
        # Every switch on the way learns where the host was.
        before = p10_us(lab, moved, [left, new_neighbour])
        assert before[new_neighbour] > 1.3 * before[left]
        p10_us(lab, third, [moved])

        lab.lab("move", moved, "r2")
        truth = json.loads((lab.dir / "truth.json").read_text())
        assert truth["hosts"] == {**lab.truth["hosts"], moved: "r2"}
        assert truth["addresses"] == lab.truth["addresses"]
        # Others find it before it has spoken.
        for other in (third, left, "."):
            ping = ["fping", "-q", "-c", "1", "-t", "500", truth["addresses"][moved]]
            assert lab.exec(other, ping, check=False).returncode == 0
        after = p10_us(lab, moved, [left, new_neighbour])
        assert after[left] > 1.3 * after[new_neighbour]
        # Its own link has its rate still, and it no longer shares its old rack's uplink.
        assert 60 < transfer_mbit(lab, new_neighbour, moved, megabytes=8) < 220
        assert transfer_mbit(lab, moved, left, megabytes=4) < 100
        argv = ["ssh", "-F", str(lab.ssh_config), moved, "hostname"]
        assert lab.exec(".", argv).stdout == f"{moved}\n"


def test_a_stopped_host_stays_silent_and_a_rate_follows() -> None:
    require_fping()
    with lab_cluster(racks=2, hosts=1, hops=1, reached_from_here=False) as lab:
        (moved,), (other,) = lab.racks.values()
        ping = ["fping", "-q", "-c", "1", "-t", "300", moved]
        lab.lab("stop", moved)
        lab.lab("move", moved, "r2")
        assert lab.exec(other, ping, check=False).returncode == 1
        lab.lab("start", moved)
        assert lab.exec(other, ping).returncode == 0
        lab.lab("set", moved, "--rate", "20mbit")
        assert transfer_mbit(lab, other, moved, megabytes=4) < 50
        # To where it is already, and back to a rack that has become empty.
        lab.lab("move", moved, "r2")
        lab.lab("move", moved, "r1")
        assert lab.exec(other, ping).returncode == 0


def test_refusals_are_sentences() -> None:
    with lab_cluster(racks=1, hosts=1, hops=0, reached_from_here=False) as lab:
        for arguments, word in ((("n01", "r9"), "r9"), (("n09", "r1"), "n09")):
            with pytest.raises(subprocess.CalledProcessError) as failure:
                lab.lab("move", *arguments)
            assert failure.value.returncode == 2
            assert failure.value.stderr.startswith("error: lab ")
            assert word in failure.value.stderr
