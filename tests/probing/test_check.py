"""`plink probe --check` and `--rounds` on real hosts, one of which moves to another rack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probing.measured import Measured
from support.plink_command import plink, read_json, ssh_options

pytestmark = pytest.mark.lab


def test_an_unchanged_network_is_described(measured: Measured) -> None:
    before = measured.file.read_bytes()
    done = measured.check("--seed", "1")
    assert done.code == 0, done.stdout + done.stderr
    assert "still describes the network" in " ".join(done.stdout.split())
    assert "note: --seed 1 measures the same pairs again" in done.stderr
    assert measured.file.read_bytes() == before


def test_a_host_that_moved_is_named(measured: Measured) -> None:
    racks = measured.lab.truth["hosts"]
    host, home = measured.lab.names[0], racks[measured.lab.names[0]]
    away = next(rack for rack in sorted(set(racks.values())) if rack != home)
    measured.lab.lab("move", host, away)
    try:
        code, found = measured.found("--rounds", "2")
        done = measured.check("--rounds", "2")
    finally:
        measured.lab.lab("move", host, home)
    assert code == 4
    assert [change["hosts"] for change in found["changes"]] == [[host]]
    # Its two mates are farther away now, three hosts are nearer.
    (change,) = found["changes"]
    assert change["longer"] >= 1
    assert change["shorter"] >= 1
    assert change["longer_factor"] > 1.3
    assert change["shorter_factor"] < 0.77
    assert done.code == 4
    assert "no longer describes the network" in " ".join(done.stdout.split())
    assert any(line.split()[:1] == [host] for line in done.stdout.splitlines())


def test_a_host_that_is_down_is_named_and_the_others_are_checked(
    measured: Measured, tmp_path: Path
) -> None:
    down = measured.lab.names[3]
    config = tmp_path / "config"
    config.write_text(f"Host {down}\n  Port 9\n\n" + measured.lab.ssh_config.read_text())
    done = plink("probe", "--check", measured.file, "-F", config, "--json", "--rounds", "2")
    assert done.code == 3, done.stderr
    found = json.loads(done.stdout)
    assert not found["changed"]
    assert [host["host"] for host in found["unreachable"]] == [down]
    assert found["changes"] == []
    assert found["hosts"] == 5
    assert 5 * 2 / 2 <= found["pairs"] < 5 * 4 / 2
    assert f"warning: {down}: " in done.stderr


def test_a_host_at_another_address_is_a_change(measured: Measured, tmp_path: Path) -> None:
    data = read_json(measured.file)
    name, address = data["hosts"][2]["name"], data["hosts"][2]["address"]
    data["hosts"][2]["address"] = "10.1.2.3"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(data))
    options = (*ssh_options(measured.lab), "--json", "--rounds", "2")
    done = plink("probe", "--check", other, *options)
    assert done.code == 4
    found = json.loads(done.stdout)
    assert found["addresses"] == [{"host": name, "file": "10.1.2.3", "now": address}]
    assert f"warning: {name}: has the address {address}, and had 10.1.2.3" in done.stderr


def test_a_sample_can_be_extended_and_checked(measured: Measured, tmp_path: Path) -> None:
    file, five = tmp_path / "sample.json", "\n".join(measured.lab.names[:5])
    run = ("probe", *ssh_options(measured.lab), "--count", "60")
    done = plink(*run, "-", "-o", file, "--rounds", "2", "--seed", "5", text=five)
    assert done.code == 0, done.stderr
    # Five hosts: in each of the five rounds one sits out.
    assert "8 of 8 directed pairs (sampled: 2 of 5 rounds)" in done.stderr
    few = read_json(file)["rtt"]
    done = plink(*run, "--resume", file, "--rounds", "4")
    assert done.code == 0, done.stderr
    assert "16 of 16 directed pairs (sampled: 4 of 5 rounds)" in done.stderr
    more = read_json(file)["rtt"]
    assert (more["options"]["rounds"], more["options"]["seed"]) == (4, 5)
    for before, after in zip(few["samples"], more["samples"], strict=True):
        assert all(new for old, new in zip(before, after, strict=True) if old)
    done = plink("probe", "--check", file, *ssh_options(measured.lab))
    assert done.code == 0, done.stdout + done.stderr
    assert plink(*run, "--resume", file, "--rounds", "all").code == 0
    rtt = read_json(file)["rtt"]
    assert sum(value is None for row in rtt["rtt_us"]["p10"] for value in row) == 5
    assert "rounds" not in rtt["options"]
