"""`plink probe` on real hosts that are well, and `--resume` of what it measured."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchkit.other_work import BUSY, other_work
from plink.formats import cluster as cluster_file
from plink.probes.echo.readings import DISTURBED
from support.lab import Lab
from support.pairs import measured, pairs_among
from support.plink_command import (
    forget_disturbance,
    plink_argv,
    plink_here,
    read_json,
    ssh_options,
    wait_until_no_agents,
)

pytestmark = pytest.mark.lab

COUNT = 100
QUICK = ("--count", COUNT, "--passes", 1)


@pytest.fixture(scope="module")
def five_hosts(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cluster file of the first five hosts, for `of_five_hosts`."""
    out = tmp_path_factory.mktemp("five") / "c.json"
    text = "\n".join(lab.names[:5])
    done = plink_here("probe", "-", *ssh_options(lab), "-o", out, *QUICK, text=text)
    assert done.code == 0, done.stderr
    forget_disturbance(out)
    return out


@pytest.fixture
def of_five_hosts(five_hosts: Path, tmp_path: Path) -> Path:
    """A copy of the cluster file of the first five hosts."""
    return Path(shutil.copy(five_hosts, tmp_path))


def config_without(lab: Lab, tmp_path: Path, name: str) -> Path:
    """Write an SSH configuration by which nothing answers for one host."""
    config = tmp_path / f"config without {name}"
    config.write_text(f"Host {name}\n  Port 9\n\n" + lab.ssh_config.read_text())
    return config


@pytest.mark.parametrize(("tool", "count"), [("echo", 500), ("fping", 20)])
def test_every_pair_is_measured_in_both_directions(
    lab: Lab, tmp_path: Path, tool: str, count: int
) -> None:
    out = tmp_path / "c.json"
    options = ("--tool", tool, "--count", count, "--passes", 1)
    done = plink_here("probe", lab.hosts_file, *ssh_options(lab), "-o", out, *options)
    assert done.code == 0, done.stderr
    assert "share a machine: 1 pair at a time" in done.stderr
    cluster = cluster_file.read_cluster(str(out))
    assert cluster.names == lab.names
    assert cluster.rtt is not None
    assert cluster.rtt.tool == tool
    assert set(cluster.rtt.rtt_us) == {10.0, 50.0, 99.0}
    readings, off_diagonal = cluster.rtt.readings_us, ~np.eye(6, dtype=bool)
    assert (readings[off_diagonal] > 1.0).all()
    assert np.isnan(readings.diagonal()).all()
    assert (cluster.rtt.samples[off_diagonal] > 0).all()
    assert not cluster.rtt.failures
    racks = np.array([lab.truth["hosts"][name] for name in cluster.names])
    same = racks[:, None] == racks[None, :]
    assert np.nanmedian(readings[same]) < np.nanmedian(readings[~same])
    wait_until_no_agents(lab)


def test_a_range_from_standard_input_an_interface_and_another_percentile(
    lab: Lab, tmp_path: Path
) -> None:
    options = (*ssh_options(lab), *QUICK, "--interface", "eth0", "--percentile", 5)
    done = plink_here("probe", "-", *options, "-o", "-", text="n[01-03] slots=4  # half\n")
    assert done.code == 0, done.stderr
    cluster = cluster_file.parse_cluster(done.stdout.encode(), "stdout")
    assert cluster.names == ["n01", "n02", "n03"]
    assert [host.slots for host in cluster.hosts] == [4, 4, 4]
    assert cluster.rtt is not None
    assert cluster.rtt.reading == 5.0
    assert set(cluster.rtt.rtt_us) == {5.0, 10.0, 50.0, 99.0}
    # What it was measured with is gone on with, and nothing else is.
    out = tmp_path / "c.json"
    out.write_text(done.stdout)
    forget_disturbance(out)
    run = ("probe", "-", *ssh_options(lab), "--resume", out, "--percentile", 5)
    text = "n[01-04] slots=4\n"
    done = plink_here(*run, "--interface", "eth1", text=text)
    assert done.code == 2
    assert "was measured with --interface eth0, not eth1" in done.stderr
    assert plink_here(*run, text=text).code == 0
    rtt = read_json(out)["rtt"]
    assert rtt["options"]["interface"] == "eth0"
    assert set(rtt["rtt_us"]) == {"5", "10", "50", "99"}


def test_a_network_in_which_hosts_have_no_address(lab: Lab, tmp_path: Path) -> None:
    options = (*ssh_options(lab), "-o", tmp_path / "c.json", "--network", "192.0.2.0/24")
    done = plink_here("probe", "-", *options, text="\n".join(lab.names[:2]))
    assert done.code == 1
    assert "has no address in 192.0.2.0/24" in done.stderr
    assert "hint: " in done.stderr


def test_two_runs_at_the_same_time(lab: Lab, tmp_path: Path) -> None:
    hosts, outs = tmp_path / "hosts.txt", [tmp_path / "a.json", tmp_path / "b.json"]
    hosts.write_text("\n".join(lab.names[:3]))
    argv = plink_argv("probe", hosts, *ssh_options(lab), *QUICK)
    runs = [subprocess.Popen([*argv, "-o", str(out)], stderr=subprocess.PIPE) for out in outs]
    for run, out in zip(runs, outs, strict=True):
        _, complaint = run.communicate(timeout=100)
        assert run.returncode == 0, complaint
        assert measured(out) == pairs_among(lab.names[:3])


def test_through_a_jump_host(lab: Lab, tmp_path: Path) -> None:
    gate, *others = lab.names[:3]
    config = tmp_path / "config"
    jump = f"Match host {','.join(others)}\n  ProxyJump {gate}\n"
    config.write_text(lab.ssh_config.read_text() + "\n" + jump)
    out = tmp_path / "c.json"
    text = "\n".join([gate, *others])
    done = plink_here("probe", "-", "-F", config, "-o", out, *QUICK, text=text)
    assert done.code == 0, done.stderr
    assert measured(out) == pairs_among([gate, *others])


def test_another_way_of_measuring_is_refused(lab: Lab, of_five_hosts: Path) -> None:
    before = of_five_hosts.read_bytes()
    run = ("probe", lab.hosts_file, *ssh_options(lab), "--resume", of_five_hosts)
    for option in (("--tool", "fping"), ("--percentile", "50")):
        done = plink_here(*run, *option)
        assert done.code == 2
        assert "hint: use --" in done.stderr
    assert of_five_hosts.read_bytes() == before


def test_a_host_that_is_down_keeps_its_readings(
    lab: Lab, of_five_hosts: Path, tmp_path: Path
) -> None:
    out, down = of_five_hosts, lab.names[1]
    before = read_json(out)["rtt"]
    config = config_without(lab, tmp_path, down)
    done = plink_here("probe", lab.hosts_file, "-F", config, "--resume", out)
    assert done.code == 3, done.stderr
    assert f"warning: {down}: SSH port 9" in done.stderr
    assert "6 hosts, 28 of 30 directed pairs" in done.stderr
    after = read_json(out)
    assert [host["name"] for host in after["hosts"]] == lab.names
    assert after["unreachable"] == []
    # Only what was missing has been measured.
    assert [row[:5] for row in after["rtt"]["rtt_us"]["50"][:5]] == before["rtt_us"]["50"]
    assert [row[:5] for row in after["rtt"]["samples"][:5]] == before["samples"]
    assert after["rtt"]["options"]["count"] == COUNT
    done = plink_here("probe", *ssh_options(lab), "--resume", out)
    assert done.code == 0, done.stderr
    assert "30 of 30 directed pairs" in done.stderr


def test_an_unreachable_host_is_tried_again_by_the_step_that_show_names(
    lab: Lab, tmp_path: Path
) -> None:
    out, config = tmp_path / "my c.json", tmp_path / "my config"
    first, second, third = lab.names[:3]
    text = f"{first}\nroot@{second} slots=4\n{third}\n"
    config.write_text(config_without(lab, tmp_path, second).read_text())
    assert plink_here("probe", "-", "-F", config, "-o", out, *QUICK, text=text).code == 3
    (missed,) = read_json(out)["unreachable"]
    assert (missed["user"], missed["slots"], missed["position"]) == ("root", 4, 1)
    said = plink_here("show", out, "--width", 500).stdout
    (line,) = [line for line in said.splitlines() if "could not be reached: plink" in line]
    config.write_text(lab.ssh_config.read_text())
    done = plink_here(*shlex.split(line.partition("reached: ")[2])[1:])
    assert done.code == 0, done.stderr
    assert "3 hosts, 6 of 6 directed pairs" in done.stderr
    hosts = read_json(out)["hosts"]
    assert [host["name"] for host in hosts] == [first, second, third]
    assert (hosts[1]["user"], hosts[1]["slots"]) == ("root", 4)


def test_a_shorter_list_is_refused_for_the_same_file(
    lab: Lab, of_five_hosts: Path, tmp_path: Path
) -> None:
    other, before = tmp_path / "other.json", of_five_hosts.read_bytes()
    run = ("probe", "-", *ssh_options(lab), "--resume", of_five_hosts)
    text = "\n".join(lab.names[:4])
    done = plink_here(*run, text=text)
    assert done.code == 2
    assert f"standard input: does not list {lab.names[4]}, whose readings" in done.stderr
    assert plink_here(*run, "-o", other, text=text).code == 0
    assert len(read_json(other)["hosts"]) == 4
    assert of_five_hosts.read_bytes() == before


def test_pairs_that_readings_ask_for_are_gone_on_with(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    followed = ("--rounds", "auto", "--count", 50, "--passes", 1)
    text = "\n".join(lab.names[:4])
    done = plink_here("probe", "-", *ssh_options(lab), "-o", out, *followed, text=text)
    assert done.code == 0, done.stderr
    assert "sampled: pairs chosen from the readings" in done.stderr
    assert read_json(out)["rtt"]["options"]["share"] == 1.0
    done = plink_here("probe", lab.hosts_file, *ssh_options(lab), "--resume", out)
    assert done.code == 0, done.stderr
    rtt_us = read_json(out)["rtt"]["rtt_us"]["10"]
    assert sum(value is not None for row in rtt_us for value in row) > 12
    assert all(row[host] is None for host, row in enumerate(rtt_us))
    # Transfers have no round-trip times that could ask for pairs.
    transfers = ("--tool", "iperf3", "--rounds", "auto")
    out = tmp_path / "t.json"
    done = plink_here("probe", lab.hosts_file, *ssh_options(lab), "-o", out, *transfers)
    assert done.code == 2
    assert "automatic rounds are chosen by round-trip times" in done.stderr


def test_pairs_meet_again_until_their_passes_agree(lab: Lab, tmp_path: Path) -> None:
    out, names = tmp_path / "c.json", lab.names[:4]
    options = (*ssh_options(lab), "--count", 50)
    run = ("probe", "-", *options, "-o", out)
    done = plink_here(*run, "--precision", 30, text="\n".join(names))
    assert done.code == 0, done.stderr
    assert " of 12 agree within 30 %, " in done.stderr
    rtt = cluster_file.require_rtt(cluster_file.read_cluster(str(out)), str(out))
    there = ~np.eye(len(names), dtype=bool)
    assert rtt.passes is not None
    assert rtt.options["passes"] == 5
    # A third of the meetings of three more passes, and once more where the groups hinge on it.
    assert 2 <= rtt.passes[there].min() <= rtt.passes[there].mean() < 5
    assert (rtt.samples + rtt.losses == 50 * rtt.passes)[there].all()

    # Three more passes, for every pair.
    done = plink_here("probe", *options, "--resume", out, "--passes", 8)
    assert done.code == 0, done.stderr
    more = cluster_file.require_rtt(cluster_file.read_cluster(str(out)), str(out))
    assert more.passes is not None
    # A direction that was disturbed is measured once beside them.
    assert set((more.passes - rtt.passes)[there]) <= {3, 4}
    assert (more.readings_us <= rtt.readings_us)[there].all()


def test_other_work_is_noticed_named_and_measured_again(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    with other_work(BUSY):
        text = "\n".join(lab.names[:3])
        done = plink_here("probe", "-", *ssh_options(lab), "-o", out, text=text)
    assert done.code == 0, done.stderr
    assert "directed pairs were disturbed by other work on the hosts, on " in done.stderr
    assert f"measure them again when the hosts are idle: plink probe --resume {out}" in done.stderr
    before = cluster_file.require_rtt(cluster_file.read_cluster(str(out)), str(out))
    assert "disturbed by other work" in before.notes[-1]
    assert before.disturbance is not None
    disturbed = before.disturbance >= DISTURBED
    assert disturbed.any()

    done = plink_here("probe", *ssh_options(lab), "--resume", out)
    assert done.code == 0, done.stderr
    after = cluster_file.require_rtt(cluster_file.read_cluster(str(out)), str(out))
    assert (after.samples > before.samples)[disturbed].any()
    assert (after.readings_us <= before.readings_us)[~np.eye(3, dtype=bool)].all()
