"""`plink probe` when hosts, connections or the user do something unfortunate.

What happens to hosts in the middle of a run is in `test_fault_table.py`.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from labkit.namespaces import inside, processes_in
from labkit.wiring import namespace
from support.lab import Lab
from support.pairs import measured, pairs_among
from support.plink_command import (
    agents_on,
    plink_argv,
    plink_here,
    read_json,
    ssh_options,
    wait_until_no_agents,
)
from support.running import wait_for

pytestmark = pytest.mark.lab

QUICK = ("--count", 100, "--passes", 1)
# Seconds in all: enough to be disturbed once the agents are there.
LONG_COUNT = 3000
LONG = ("--count", LONG_COUNT, "--passes", 1)


@pytest.fixture(scope="module")
def three(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list of the first three hosts, enough for what happens to one of them."""
    path = tmp_path_factory.mktemp("three") / "hosts.txt"
    path.write_text("\n".join(lab.names[:3]) + "\n")
    return path


def start_long_run(lab: Lab, hosts: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    argv = plink_argv("probe", hosts, *ssh_options(lab), "-o", out, *LONG, *options)
    return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True)


def ssh(lab: Lab, host: str, command: str) -> None:
    subprocess.run(["ssh", "-F", lab.ssh_config, host, command], check=True, timeout=100)


def test_a_host_that_refuses_ssh_is_left_out_but_where_every_host_must_answer(
    lab: Lab, tmp_path: Path
) -> None:
    out, hosts = tmp_path / "c.json", tmp_path / "hosts.txt"
    bad, *good = lab.names[:3]
    hosts.write_text("\n".join([f"{bad} port=9", *good]))
    run = ("probe", hosts, *ssh_options(lab), "-o", out, *QUICK)
    done = plink_here(*run, "--strict")
    assert done.code == 1
    assert done.stderr.startswith(f"error: {bad}: SSH port 9")
    assert list(tmp_path.iterdir()) == [hosts]
    done = plink_here(*run)
    assert done.code == 3
    assert f"warning: {bad}: SSH port 9 of " in done.stderr
    assert "refuses the connection" in done.stderr
    assert measured(out) == pairs_among(good)
    assert read_json(out)["unreachable"][0]["source"] == bad


@pytest.mark.parametrize("option", [(), ("--accept-new-host-keys",)])
def test_a_wrong_host_key_is_refused(
    lab: Lab, three: Path, tmp_path: Path, option: Sequence[str]
) -> None:
    keys = dict(
        line.split(maxsplit=1) for line in (lab.dir / "known_hosts").read_text().splitlines()
    )
    wrong, *good = (f"{name},{lab.truth['addresses'][name]}" for name in lab.names[:3])
    keys[wrong] = keys[good[0]]
    known = tmp_path / "known_hosts"
    known.write_text("\n".join(" ".join(entry) for entry in keys.items()))
    config = tmp_path / "config"
    config.write_text(f"UserKnownHostsFile {known}\n" + lab.ssh_config.read_text())
    out = tmp_path / "c.json"
    done = plink_here("probe", three, "-F", config, "-o", out, *QUICK, *option)
    assert done.code == 3
    assert f"warning: {lab.names[0]}: its SSH host key differs from the one " in done.stderr
    assert measured(out) == pairs_among(lab.names[1:3])


def test_unknown_host_keys_are_refused_unless_asked_for(
    lab: Lab, three: Path, tmp_path: Path
) -> None:
    known = tmp_path / "known" / "hosts"
    config = tmp_path / "config"
    config.write_text(f"UserKnownHostsFile {known}\n" + lab.ssh_config.read_text())
    out = tmp_path / "c.json"
    run = ("probe", three, "-F", config, "-o", out, *QUICK)
    done = plink_here(*run)
    assert done.code == 1
    assert "its SSH host key is not in known_hosts" in done.stderr
    assert "--accept-new-host-keys" in done.stderr
    assert not out.exists()
    assert plink_here(*run, "--accept-new-host-keys").code == 0
    assert len(known.read_text().splitlines()) == 3
    assert plink_here(*run).code == 0


def test_a_host_that_answers_no_udp_is_named(lab: Lab, three: Path, tmp_path: Path) -> None:
    mute, *others = lab.names[:3]
    addresses = [lab.truth["addresses"][name] for name in others]
    blackhole = [f"ip route add blackhole {address}/32" for address in addresses]
    unblock = [f"ip route del blackhole {address}/32" for address in addresses]
    out = tmp_path / "c.json"
    lab.exec(mute, ["sh", "-c", "; ".join(blackhole)])
    try:
        options = (*ssh_options(lab), "-o", out, *QUICK, "--timeout", 0.5)
        done = plink_here("probe", three, *options)
    finally:
        lab.exec(mute, ["sh", "-c", "; ".join(unblock)])
    assert done.code == 3
    assert f"warning: {mute}: does not answer UDP probes" in done.stderr
    assert measured(out) == pairs_among(others)
    wait_until_no_agents(lab)


def datagrams(lab: Lab) -> int:
    """Count what the lab's hosts have received by UDP, ever: each probe, and each answer."""
    received = 0
    for host in lab.names:
        with inside(namespace(lab.name, host)):
            lines = Path("/proc/thread-self/net/snmp").read_text().splitlines()
        names, counts = (line.split() for line in lines if line.startswith("Udp: "))
        received += int(counts[names.index("InDatagrams")])
    return received


def test_an_interrupt_keeps_what_there_is(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    before = datagrams(lab)
    run = start_long_run(lab, lab.hosts_file, out)
    # More than a round of three pairs sends, and far less than all.
    wait_for(lambda: datagrams(lab) - before > 8 * 2 * LONG_COUNT, run)
    run.send_signal(signal.SIGINT)
    _, complaint = run.communicate(timeout=100)
    assert run.returncode == 3, complaint
    assert f"plink probe --resume {out}" in complaint
    assert 0 < len(measured(out)) < 30
    wait_until_no_agents(lab)
    kept = measured(out)
    done = plink_here("probe", *ssh_options(lab), "--resume", out, *QUICK)
    assert done.code == 0, done.stderr
    assert kept < measured(out) == pairs_among(lab.names)


def busy(lab: Lab) -> int:
    """On how many hosts more runs than their SSH server: those with a connection, at least."""
    return sum(len(processes_in([namespace(lab.name, host)])) > 1 for host in lab.names)


EARLY: dict[str, Callable[[Lab], object]] = {
    "half of the connections": lambda lab: busy(lab) >= 2,
    "the first agent": lambda lab: agents_on(lab, *lab.names),
}


@pytest.mark.parametrize("moment", EARLY)
def test_an_early_interrupt_leaves_nothing(
    lab: Lab, three: Path, tmp_path: Path, moment: str
) -> None:
    out = tmp_path / "c.json"
    wait_for(lambda: not busy(lab))
    run = start_long_run(lab, three, out, "--ssh-concurrency", "1")
    wait_for(lambda: EARLY[moment](lab), run)
    run.send_signal(signal.SIGINT)
    _, complaint = run.communicate(timeout=100)
    assert "Traceback" not in complaint
    assert run.returncode in (130, 3)
    assert out.exists() == (run.returncode == 3)
    assert not [path for path in tmp_path.iterdir() if path != out]
    wait_until_no_agents(lab)


def test_a_killed_coordinator_leaves_no_agents(lab: Lab, three: Path, tmp_path: Path) -> None:
    run = start_long_run(lab, three, tmp_path / "c.json")
    wait_for(lambda: agents_on(lab, lab.names[0]), run)
    run.kill()
    run.communicate()
    wait_until_no_agents(lab)
    assert not list(tmp_path.iterdir())


@contextmanager
def mounted(lab: Lab, host: str, option: str, folder: Path) -> Iterator[None]:
    """A file system of its own, for a host alone, over a folder."""
    ssh(lab, host, f"mount -t tmpfs -o {option} none {folder}")
    try:
        yield
    finally:
        ssh(lab, host, f"umount {folder}")


def test_folders_that_cannot_hold_the_agent(lab: Lab, tmp_path: Path) -> None:
    reasons = {"noexec": "Permission denied", "size=64k": "No space left on device"}
    bad, good = dict(zip(lab.names, reasons, strict=False)), lab.names[2:4]
    folder, out = tmp_path / "cache", tmp_path / "c.json"
    folder.mkdir()
    first, second = bad
    with mounted(lab, first, bad[first], folder), mounted(lab, second, bad[second], folder):
        options = (*ssh_options(lab), "-o", out, *QUICK, "--remote-cache", folder)
        done = plink_here("probe", "-", *options, text="\n".join([*bad, *good]))
    assert done.code == 3
    for host, option in bad.items():
        (warning,) = [line for line in done.stderr.splitlines() if f"warning: {host}: " in line]
        assert "plink-echo-agent cannot be copied there" in warning
        assert reasons[option] in warning
    assert measured(out) == pairs_among(good)
    assert [path.name.startswith("plink-echo-agent-") for path in folder.iterdir()] == [True]


def test_names_that_are_the_same_machine(lab: Lab, tmp_path: Path) -> None:
    config, hosts = tmp_path / "config", tmp_path / "hosts.txt"
    address = lab.truth["addresses"][lab.names[0]]
    alias = f"Host twin\n  HostName {address}\n"
    text = lab.ssh_config.read_text()
    config.write_text(alias + text.replace(f"Host {lab.names[0]} ", f"Host twin {lab.names[0]} "))
    hosts.write_text(f"{lab.names[0]}\n{lab.names[1]}\ntwin\n")
    done = plink_here("probe", hosts, "-F", config, "-o", tmp_path / "c.json", *QUICK)
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
    done = plink_here("probe", "-", *ssh_options(lab), "-o", out, text=text)
    assert done.code == 2
    assert complaint in done.stderr
    assert not out.exists()


def test_an_output_that_cannot_be_written_is_refused_at_once(lab: Lab, tmp_path: Path) -> None:
    out = tmp_path / "none" / "c.json"
    done = plink_here("probe", lab.hosts_file, *ssh_options(lab), "-o", out)
    assert done.code == 2
    assert "there is no folder" in done.stderr
