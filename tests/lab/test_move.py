"""A host that is plugged into another rack's switch while the lab stands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from support.lab import Lab, lab_cluster
from support.lab_measure import p10_us, transfer_mbit
from support.require import require_fping

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Two racks of two and one of one. A test moves its host back."""
    with lab_cluster(
        None,
        "2,2,1",
        host_rate="200mbit",
        uplink_rate="50mbit",
        hops=6,
        reached_from_here=False,
    ) as lab:
        yield lab


def test_a_moved_host_is_near_its_new_neighbours(lab: Lab) -> None:
    require_fping()
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
    lab.lab("move", moved, "r1")


def test_a_stopped_host_stays_silent_and_a_rate_follows(lab: Lab) -> None:
    require_fping()
    (moved,), other = lab.racks["r3"], lab.racks["r2"][0]
    ping = ["fping", "-q", "-c", "1", "-t", "300", moved]
    lab.lab("stop", moved)
    lab.lab("move", moved, "r2")
    assert lab.exec(other, ping, check=False).returncode == 1
    lab.lab("start", moved)
    assert lab.exec(other, ping).returncode == 0
    lab.lab("set", moved, "--rate", "20mbit")
    assert transfer_mbit(lab, other, moved, megabytes=3) < 50
    # To where it is already, and back to a rack that has become empty.
    lab.lab("move", moved, "r2")
    lab.lab("move", moved, "r3")
    assert lab.exec(other, ping).returncode == 0
    lab.lab("set", moved, "--rate", "200mbit")


@pytest.mark.parametrize(("host", "rack", "word"), [("n01", "r9", "r9"), ("n09", "r1", "n09")])
def test_refusals_are_sentences(lab: Lab, host: str, rack: str, word: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failure:
        lab.lab("move", host, rack)
    assert failure.value.returncode == 2
    assert failure.value.stderr.startswith("error: lab ")
    assert word in failure.value.stderr
