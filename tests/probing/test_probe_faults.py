"""`plink probe` when hosts, connections or the user do something unfortunate."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support.lab import Lab
from support.pairs import measured, pairs_among
from support.plink_command import (
    agents_on,
    plink,
    plink_argv,
    read_json,
    ssh_options,
    wait_until_no_agents,
)
from support.running import wait_for

pytestmark = pytest.mark.lab

QUICK = ("--count", "100")
LONG = ("--count", "10000", "--precision", "0")


def start_long_run(lab: Lab, out: Path, *options: str) -> subprocess.Popen[str]:
    argv = plink_argv("probe", lab.hosts_file, *ssh_options(lab), "-o", out, *LONG, *options)
    return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)


def ssh(lab: Lab, host: str, command: str) -> None:
    subprocess.run(["ssh", "-F", lab.ssh_config, host, command], check=True, timeout=20)


def test_a_host_that_refuses_ssh_is_left_out(lab: Lab, tmp_path: Path) -> None:
    out, hosts = tmp_path / "c.json", tmp_path / "hosts.txt"
    bad, *good = lab.names
    hosts.write_text("\n".join([f"{bad}:9", *good]))
    done = plink("probe", hosts, *ssh_options(lab), "-o", out, *QUICK)
    assert done.code == 3
    assert f"warning: {bad}: SSH port 9 of " in done.stderr
    assert "refuses the connection" in done.stderr
    assert measured(out) == pairs_among(good)
    assert read_json(out)["unreachable"][0]["source"] == bad


def test_a_strict_run_stops_at_such_a_host(lab: Lab, tmp_path: Path) -> None:
    out, hosts = tmp_path / "c.json", tmp_path / "hosts.txt"
    hosts.write_text("\n".join([f"{lab.names[0]}:9", *lab.names[1:]]))
    done = plink("probe", hosts, *ssh_options(lab), "-o", out, "--strict")
    assert done.code == 1
    assert done.stderr.startswith(f"error: {lab.names[0]}: SSH port 9")
    assert list(tmp_path.iterdir()) == [hosts]


def test_a_wrong_host_key_is_refused(lab: Lab, tmp_path: Path) -> None:
    lines = (lab.dir / "known_hosts").read_text().splitlines()
    (first, _, _), (_, kind, key) = (line.split()[:3] for line in lines[:2])
    known = tmp_path / "known_hosts"
    known.write_text("\n".join([f"{first} {kind} {key}", *lines[1:]]))
    config = tmp_path / "config"
    config.write_text(f"UserKnownHostsFile {known}\n" + lab.ssh_config.read_text())
    out = tmp_path / "c.json"
    for option in ((), ("--accept-new-host-keys",)):
        done = plink("probe", lab.hosts_file, "-F", config, "-o", out, *QUICK, *option)
        assert done.code == 3
        assert "its SSH host key is not the one known for it" in done.stderr
        assert len(measured(out)) == 20


def test_unknown_host_keys_are_refused_unless_asked_for(lab: Lab, tmp_path: Path) -> None:
    known = tmp_path / "known" / "hosts"
    config = tmp_path / "config"
    config.write_text(f"UserKnownHostsFile {known}\n" + lab.ssh_config.read_text())
    out = tmp_path / "c.json"
    run = ("probe", lab.hosts_file, "-F", config, "-o", out, *QUICK)
    done = plink(*run)
    assert done.code == 1
    assert "its SSH host key is not known" in done.stderr
    assert "--accept-new-host-keys" in done.stderr
    assert not out.exists()
    assert plink(*run, "--accept-new-host-keys").code == 0
    assert len(known.read_text().splitlines()) == 6
    assert plink(*run).code == 0


def test_a_host_that_answers_no_udp_is_named(lab: Lab, tmp_path: Path) -> None:
    mute, *others = lab.names
    addresses = {host["name"]: host["address"] for host in _hosts_of(lab, tmp_path)}
    blackhole = [f"ip route add blackhole {addresses[name]}/32" for name in others]
    unblock = [f"ip route del blackhole {addresses[name]}/32" for name in others]
    out = tmp_path / "c.json"
    lab.exec(mute, ["sh", "-c", "; ".join(blackhole)])
    try:
        done = plink(
            "probe", lab.hosts_file, *ssh_options(lab), "-o", out, *QUICK, "--timeout", "0.5"
        )
    finally:
        lab.exec(mute, ["sh", "-c", "; ".join(unblock)])
    assert done.code == 3
    assert f"warning: {mute}: does not answer UDP probes" in done.stderr
    assert measured(out) == pairs_among(others)
    wait_until_no_agents(lab)


def _hosts_of(lab: Lab, tmp_path: Path) -> list[dict[str, str]]:
    out = tmp_path / "addresses.json"
    plink("probe", lab.hosts_file, *ssh_options(lab), "-o", out, "--count", "1")
    hosts: list[dict[str, str]] = read_json(out)["hosts"]
    return hosts


def test_a_host_that_falls_silent_in_mid_probe(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    dying, *others = lab.names
    run = start_long_run(lab, out, "--timeout", "0.5")
    wait_for(lambda: agents_on(lab, dying), 30.0)
    lab.lab("stop", dying)
    try:
        _, complaint = run.communicate(timeout=60)
    finally:
        lab.lab("start", dying)
    assert run.returncode == 3, complaint
    assert f"warning: {dying}: " in complaint
    assert pairs_among(others) <= measured(out)
    wait_until_no_agents(lab, seconds=90)


def test_a_killed_agent_costs_one_host(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    victim, *others = lab.names
    run = start_long_run(lab, out)
    wait_for(lambda: agents_on(lab, victim), 30.0)
    os.kill(agents_on(lab, victim)[0], signal.SIGKILL)
    _, complaint = run.communicate(timeout=60)
    assert run.returncode == 3, complaint
    assert f"warning: {victim}: its echo agent ended" in complaint
    assert measured(out) == pairs_among(others)


def test_an_interrupt_keeps_what_there_is(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    run = start_long_run(lab, out)
    wait_for(lambda: all(agents_on(lab, host) for host in lab.names), 30.0)
    time.sleep(2.0)
    run.send_signal(signal.SIGINT)
    _, complaint = run.communicate(timeout=30)
    assert run.returncode == 3, complaint
    assert f"go on with: plink probe --resume {out}" in complaint
    assert 0 < len(measured(out)) < 30
    wait_until_no_agents(lab)
    before = measured(out)
    done = plink("probe", *ssh_options(lab), "--resume", out, *QUICK)
    assert done.code == 0, done.stderr
    assert before < measured(out) == pairs_among(lab.names)


@pytest.mark.parametrize("delay_s", [0.0, 0.3, 0.6, 0.9])
def test_an_early_interrupt_leaves_nothing(lab: Lab, tmp_path: Path, delay_s: float) -> None:
    out = tmp_path / "c.json"
    run = start_long_run(lab, out, "--ssh-concurrency", "1")
    time.sleep(0.25 + delay_s)
    run.send_signal(signal.SIGINT)
    _, complaint = run.communicate(timeout=30)
    assert "Traceback" not in complaint
    # On a slow machine the signal comes before Python has a handler for it.
    assert run.returncode in (130, 3, -signal.SIGINT)
    assert out.exists() == (run.returncode == 3)
    assert not [path for path in tmp_path.iterdir() if path != out]
    wait_until_no_agents(lab)


def test_a_killed_coordinator_leaves_no_agents(lab: Lab, tmp_path: Path) -> None:
    run = start_long_run(lab, tmp_path / "c.json")
    wait_for(lambda: agents_on(lab, lab.names[0]), 30.0)
    run.kill()
    run.communicate()
    wait_until_no_agents(lab)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("mount", "reason"),
    [("noexec", "Permission denied"), ("size=64k", "No space left on device")],
)
def test_a_folder_that_cannot_hold_the_agent(
    lab: Lab, tmp_path: Path, mount: str, reason: str
) -> None:
    bad, *others = lab.names
    folder = tmp_path / "cache"
    folder.mkdir()
    out = tmp_path / "c.json"
    ssh(lab, bad, f"mount -t tmpfs -o {mount} none {folder}")
    try:
        options = (*ssh_options(lab), "-o", out, *QUICK, "--remote-cache", folder)
        done = plink("probe", lab.hosts_file, *options)
    finally:
        ssh(lab, bad, f"umount {folder}")
    assert done.code == 3
    assert f"warning: {bad}: plink-echo-agent cannot be put there" in done.stderr
    assert reason in done.stderr
    assert measured(out) == pairs_among(others)
    assert [path.name.startswith("plink-echo-agent-") for path in folder.iterdir()] == [True]


def test_names_that_are_the_same_machine(lab: Lab, tmp_path: Path) -> None:
    config, hosts = tmp_path / "config", tmp_path / "hosts.txt"
    address = _hosts_of(lab, tmp_path)[0]["address"]
    alias = f"Host twin\n  HostName {address}\n"
    text = lab.ssh_config.read_text()
    config.write_text(alias + text.replace(f"Host {lab.names[0]} ", f"Host twin {lab.names[0]} "))
    hosts.write_text(f"{lab.names[0]}\n{lab.names[1]}\ntwin\n")
    done = plink("probe", hosts, "-F", config, "-o", tmp_path / "c.json", *QUICK)
    assert done.code == 2
    assert f"both have the traffic address {address}" in done.stderr


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "standard input: lists no host"),
        ("n01\n", "probing needs at least two"),
        ("n01\nn02\nn01\n", "standard input:3: n01 is listed"),
        ("n01\nno-such-host.invalid\n", "standard input:2: no-such-host.invalid cannot be resol"),
        ("n01\nn[3-1]\n", "standard input:2"),
    ],
)
def test_a_bad_host_list_names_the_line(
    lab: Lab, tmp_path: Path, text: str, complaint: str
) -> None:
    out = tmp_path / "c.json"
    done = plink("probe", "-", *ssh_options(lab), "-o", out, text=text)
    assert done.code == 2
    assert complaint in done.stderr
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_refused_at_once(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "none" / "c.json"
    done = plink("probe", lab.hosts_file, *ssh_options(lab), "-o", out)
    assert done.code == 2
    assert "there is no folder" in done.stderr
