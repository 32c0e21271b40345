"""`plink check` of a file with uplinks, where a host's link and an uplink are cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit import operations
from labkit.registry import ROOT_REGISTRY, Registry
from support.lab import Lab, lab_cluster
from support.plink_command import plink_here, read_json, ssh_options

pytestmark = pytest.mark.lab

# So slow that a machine with other work keeps up, and so fast that what is sent has soon arrived.
HOST_MBIT, UPLINK_MBIT = 200, 100


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    rates = {"host_rate": f"{HOST_MBIT}mbit", "uplink_rate": f"{UPLINK_MBIT}mbit"}
    with lab_cluster(racks=2, hosts=2, hops=0, **rates) as lab:
        yield lab


@pytest.fixture(scope="module")
def file(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster file with round trips and uplinks."""
    folder = tmp_path_factory.mktemp("rates")
    path, racks = folder / "c.json", folder / "racks.txt"
    racks.write_text("".join(f"{rack}: {','.join(hosts)}\n" for rack, hosts in lab.racks.items()))
    probe = ("probe", *ssh_options(lab))
    assert plink_here(*probe, lab.hosts_file, "-o", path, "--count", 50, "--passes", 1).code == 0
    uplinks = ("--tool", "uplinks", "--groups", racks, "--duration", 1)
    done = plink_here(*probe, "--resume", path, *uplinks)
    assert done.code == 0, done.stderr
    return path


def set_rate(lab: Lab, element: str, mbit: int) -> None:
    registry = Registry(ROOT_REGISTRY)
    operations.set_rate(registry, registry.find(lab.name), element, mbit * 1_000_000)


def check(lab: Lab, file: Path, *options: str) -> tuple[int, dict[str, Any]]:
    done = plink_here("check", file, *ssh_options(lab), "--partners", "2", "--json", *options)
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return done.code, found


def test_the_file_has_every_host_s_link(lab: Lab, file: Path) -> None:
    links = read_json(file)["uplinks"]["links"]
    assert {link["host"] for link in links} == set(lab.names)
    for link in links:
        assert 0.3 * HOST_MBIT < 1e3 * link["send_gbit_s"] < 1.1 * HOST_MBIT


def test_nothing_changed(lab: Lab, file: Path) -> None:
    code, found = check(lab, file)
    changes = found["transfers"]["changes"]
    assert code == (4 if changes else 0)
    # Another program may have slowed down what the file has.
    assert [each for each in changes if each["now_gbit_s"] < each["file_gbit_s"]] == []
    assert set(found["transfers"]["hosts"]) == set(lab.names)
    assert set(found["transfers"]["groups"]) == set(lab.racks)
    assert found["not_checked"] == []


def test_a_cut_host_and_a_cut_uplink_are_named(lab: Lab, file: Path) -> None:
    host, rack = lab.racks["r1"][0], "r2"
    # What the other group exchanges changes with it, and need not be measured, too.
    data = read_json(file)
    uplinks = data["uplinks"]
    uplinks["uplinks"] = [each for each in uplinks["uplinks"] if each["group"] == rack]
    one = file.with_name("one.json")
    one.write_text(json.dumps(data))
    set_rate(lab, host, 25)
    set_rate(lab, rack, 15)
    try:
        code, found = check(lab, one)
    finally:
        set_rate(lab, host, HOST_MBIT)
        set_rate(lab, rack, UPLINK_MBIT)
    assert code == 4
    changes = found["transfers"]["changes"]
    for kind, name in (("host", host), ("group", rack)):
        cut = [change for change in changes if change.get(kind) == name]
        assert cut
        assert all(change["now_gbit_s"] < 0.5 * change["file_gbit_s"] for change in cut)


def test_transfers_can_be_left_out(lab: Lab, file: Path) -> None:
    code, found = check(lab, file, "--transfers", "0")
    assert code == 0
    assert found["transfers"]["hosts"] == []
    said = " ".join(found["not_checked"])
    assert "the links of " in said
    assert "the uplinks of r1" in said
