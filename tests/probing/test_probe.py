"""`plink probe` on real hosts that are well."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from plink.files import cluster as cluster_file
from support.lab import Lab
from support.plink_command import (
    forget_disturbance,
    plink,
    plink_argv,
    read_json,
    ssh_options,
    wait_until_no_agents,
)

pytestmark = pytest.mark.lab

QUICK = ("--count", "100", "--passes", "1")


@pytest.mark.parametrize("tool", ["echo", "fping"])
def test_every_pair_is_measured_in_both_directions(lab: Lab, tmp_path: Path, tool: str) -> None:
    out = tmp_path / "c.json"
    done = plink("probe", lab.hosts_file, *ssh_options(lab), "-o", out, "--tool", tool)
    assert done.code == 0, done.stderr
    assert "share a machine: 1 pair at a time" in done.stderr
    cluster = cluster_file.read_cluster(str(out))
    assert cluster.names == lab.names
    assert cluster.rtt is not None
    assert cluster.rtt.tool == tool
    assert set(cluster.rtt.rtt_us) == {10.0, 50.0, 99.0}
    off_diagonal = ~np.eye(6, dtype=bool)
    assert (cluster.rtt.readings_us[off_diagonal] > 1.0).all()
    assert np.isnan(cluster.rtt.readings_us.diagonal()).all()
    assert (cluster.rtt.samples[off_diagonal] > 0).all()
    assert not cluster.rtt.failures
    wait_until_no_agents(lab)


def test_hosts_of_the_same_rack_are_nearer(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    plink("probe", lab.hosts_file, *ssh_options(lab), "-o", out, "--count", "500")
    cluster = cluster_file.read_cluster(str(out))
    assert cluster.rtt is not None
    racks = np.array([lab.truth["hosts"][name] for name in cluster.names])
    same = racks[:, None] == racks[None, :]
    readings = cluster.rtt.readings_us
    assert np.nanmedian(readings[same]) < np.nanmedian(readings[~same])


def test_a_range_from_standard_input_and_slots(lab: Lab) -> None:
    options = (*ssh_options(lab), "-o", "-", *QUICK)
    done = plink("probe", "-", *options, text="n[01-03] slots=4  # half\n")
    assert done.code == 0, done.stderr
    cluster = cluster_file.parse_cluster(done.stdout.encode(), "stdout")
    assert cluster.names == ["n01", "n02", "n03"]
    assert [host.slots for host in cluster.hosts] == [4, 4, 4]


def test_another_percentile_is_the_reading(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    options = (*ssh_options(lab), "-o", out, *QUICK, "--percentile", "5")
    assert plink("probe", lab.hosts_file, *options).code == 0
    rtt = read_json(out)["rtt"]
    assert rtt["reading"] == 5
    assert set(rtt["rtt_us"]) == {"5", "10", "50", "99"}


def test_the_address_can_be_chosen(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    options = (*ssh_options(lab), "-o", out, *QUICK)
    assert plink("probe", lab.hosts_file, *options, "--interface", "eth0").code == 0
    done = plink("probe", lab.hosts_file, *options, "--network", "192.0.2.0/24")
    assert done.code == 1
    assert "has no address in 192.0.2.0/24" in done.stderr
    assert "hint: " in done.stderr


def test_two_runs_at_the_same_time(lab: Lab, tmp_path: Path) -> None:
    outs = [tmp_path / "a.json", tmp_path / "b.json"]
    argv = plink_argv("probe", lab.hosts_file, *ssh_options(lab), *QUICK)
    runs = [subprocess.Popen([*argv, "-o", str(out)], stderr=subprocess.PIPE) for out in outs]
    for run in runs:
        _, complaint = run.communicate(timeout=60)
        assert run.returncode == 0, complaint
    for out in outs:
        cluster = cluster_file.read_cluster(str(out))
        assert cluster.rtt is not None
        assert np.isnan(cluster.rtt.readings_us).sum() == 6


def test_through_a_jump_host(lab: Lab, tmp_path: Path) -> None:
    gate, *others = lab.names
    config = tmp_path / "config"
    jump = f"Match host {','.join(others)}\n  ProxyJump {gate}\n"
    config.write_text(lab.ssh_config.read_text() + "\n" + jump)
    out = tmp_path / "c.json"
    done = plink("probe", lab.hosts_file, "-F", config, "-o", out, *QUICK)
    assert done.code == 0, done.stderr


def test_resume_measures_only_what_is_missing(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    some = tmp_path / "some.txt"
    some.write_text("\n".join(lab.names[:4]))
    assert plink("probe", some, *ssh_options(lab), "-o", out, *QUICK).code == 0
    forget_disturbance(out)
    before = read_json(out)["rtt"]["rtt_us"]["10"]
    options = (*ssh_options(lab), "--resume", out)
    done = plink("probe", lab.hosts_file, *options)
    assert done.code == 0, done.stderr
    rtt = read_json(out)["rtt"]
    assert [row[:4] for row in rtt["rtt_us"]["10"][:4]] == before
    assert sum(value is None for row in rtt["rtt_us"]["10"] for value in row) == 6
    assert rtt["options"]["count"] == 100
    assert sum(map(sum, rtt["samples"])) + sum(map(sum, rtt["losses"])) == 30 * 100


def test_resume_refuses_another_way_of_measuring(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    assert plink("probe", lab.hosts_file, *ssh_options(lab), "-o", out, *QUICK).code == 0
    before = out.read_bytes()
    for option in (("--tool", "fping"), ("--percentile", "50")):
        done = plink("probe", lab.hosts_file, *ssh_options(lab), "--resume", out, *option)
        assert done.code == 2
        assert "hint: use --" in done.stderr
    assert out.read_bytes() == before
