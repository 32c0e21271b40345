"""`plink probe --resume` on real hosts, some of which are down."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from support.lab import Lab
from support.plink_command import forget_disturbance, plink, read_json, ssh_options

pytestmark = pytest.mark.lab

QUICK = ("--count", "50", "--passes", "1")


def config_without(lab: Lab, tmp_path: Path, name: str) -> Path:
    """An SSH configuration by which nothing answers for one host."""
    config = tmp_path / f"without-{name}"
    config.write_text(f"Host {name}\n  Port 9\n\n" + lab.ssh_config.read_text())
    return config


def test_a_host_that_is_down_keeps_its_readings(lab: Lab, tmp_path: Path) -> None:
    out, some = tmp_path / "c.json", tmp_path / "some"
    down = lab.names[1]
    some.write_text("\n".join(lab.names[:5]))
    assert plink("probe", some, *ssh_options(lab), "-o", out, *QUICK).code == 0
    forget_disturbance(out)
    before = read_json(out)
    config = config_without(lab, tmp_path, down)
    done = plink("probe", lab.hosts_file, "-F", config, "--resume", out)
    assert done.code == 3, done.stderr
    assert f"warning: {down}: SSH port 9" in done.stderr
    assert "6 hosts, 28 of 30 directed pairs" in done.stderr
    after = read_json(out)
    assert [host["name"] for host in after["hosts"]] == lab.names
    assert after["unreachable"] == []
    assert [row[:5] for row in after["rtt"]["rtt_us"]["50"][:5]] == before["rtt"]["rtt_us"]["50"]
    done = plink("probe", *ssh_options(lab), "--resume", out)
    assert done.code == 0, done.stderr
    assert "30 of 30 directed pairs" in done.stderr


def test_the_next_step_that_show_names_reaches_the_hosts_as_it_is_printed(
    lab: Lab, tmp_path: Path
) -> None:
    out, config = tmp_path / "my c.json", tmp_path / "my config"
    config.write_text(config_without(lab, tmp_path, lab.names[1]).read_text())
    assert plink("probe", lab.hosts_file, "-F", config, "-o", out, *QUICK).code == 3
    said = plink("show", out, "--width", "500").stdout
    (line,) = [line for line in said.splitlines() if "could not be reached: plink" in line]
    config.write_text(lab.ssh_config.read_text())
    done = plink(*shlex.split(line.partition("reached: ")[2])[1:])
    assert done.code == 0, done.stderr
    assert "6 hosts, 30 of 30 directed pairs" in done.stderr


def test_an_unreachable_host_is_tried_again_as_it_was_listed(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    first, second, third = lab.names[:3]
    text = f"{first}\nroot@{second} slots=4\n{third}\n"
    config = config_without(lab, tmp_path, second)
    done = plink("probe", "-", "-F", config, "-o", out, *QUICK, text=text)
    assert done.code == 3
    (missed,) = read_json(out)["unreachable"]
    assert (missed["user"], missed["slots"], missed["position"]) == ("root", 4, 1)
    assert plink("probe", *ssh_options(lab), "--resume", out).code == 0
    hosts = read_json(out)["hosts"]
    assert [host["name"] for host in hosts] == [first, second, third]
    assert (hosts[1]["user"], hosts[1]["slots"]) == ("root", 4)


def test_a_shorter_list_is_refused_for_the_same_file(lab: Lab, tmp_path: Path) -> None:
    out, other = tmp_path / "c.json", tmp_path / "other.json"
    text = "\n".join(lab.names[:3])
    assert plink("probe", "-", *ssh_options(lab), "-o", out, *QUICK, text=text).code == 0
    before = out.read_bytes()
    run = ("probe", "-", *ssh_options(lab), "--resume", out)
    text = "\n".join(lab.names[:2])
    done = plink(*run, text=text)
    assert done.code == 2
    assert f"standard input: does not list {lab.names[2]}, whose readings" in done.stderr
    assert out.read_bytes() == before
    assert plink(*run, "-o", other, text=text).code == 0
    assert len(read_json(other)["hosts"]) == 2


def test_the_interface_is_remembered(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    text = "\n".join(lab.names[:2])
    run = ("probe", "-", *ssh_options(lab), *QUICK)
    assert plink(*run, "-o", out, "--interface", "eth0", text=text).code == 0
    text = "\n".join(lab.names[:3])
    done = plink(*run, "--resume", out, "--interface", "eth1", text=text)
    assert done.code == 2
    assert "was measured with --interface eth0, not eth1" in done.stderr
    assert plink(*run, "--resume", out, text=text).code == 0
    assert read_json(out)["rtt"]["options"]["interface"] == "eth0"


def test_pairs_that_readings_ask_for_are_gone_on_with(lab: Lab, tmp_path: Path) -> None:
    out, some = tmp_path / "c.json", tmp_path / "some"
    some.write_text("\n".join(lab.names[:4]))
    followed = ("--rounds", "auto", *QUICK)
    done = plink("probe", some, *ssh_options(lab), "-o", out, *followed)
    assert done.code == 0, done.stderr
    assert "sampled: pairs chosen from the readings" in done.stderr
    before = read_json(out)
    assert before["rtt"]["options"]["share"] == 1.0
    done = plink("probe", lab.hosts_file, *ssh_options(lab), "--resume", out)
    assert done.code == 0, done.stderr
    after = read_json(out)["rtt"]
    measured = sum(value is not None for row in after["rtt_us"]["10"] for value in row)
    assert measured > 12
    assert all(row[host] is None for host, row in enumerate(after["rtt_us"]["10"]))


def test_pairs_of_transfers_are_not_asked_for(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    options = ("--tool", "iperf3", "--rounds", "auto")
    done = plink("probe", lab.hosts_file, *ssh_options(lab), "-o", out, *options)
    assert done.code == 2
    assert "--rounds auto follows round-trip times" in done.stderr
