"""A standing lab: its hosts are hosts, its links have their rates, its racks their distances."""

from __future__ import annotations

import json
import os
import stat

import paramiko
import pytest

from support.lab import Lab
from support.lab_measure import p10_us, transfer_mbit
from support.require import require_fping, require_root

pytestmark = pytest.mark.lab


def far_pair(lab: Lab) -> tuple[str, str]:
    return lab.racks["r1"][0], lab.racks["r2"][0]


def near_pair(lab: Lab) -> tuple[str, str]:
    one, other = lab.racks["r1"][:2]
    return one, other


def test_ssh_logs_in_with_the_host_key_verified(lab: Lab) -> None:
    for host in lab.names:
        argv = ["ssh", "-F", str(lab.ssh_config), "-o", "BatchMode=yes", host, "hostname"]
        assert lab.exec(".", argv).stdout.strip() == host


def test_every_host_has_a_key_of_its_own(lab: Lab) -> None:
    lines = (lab.dir / "known_hosts").read_text().splitlines()
    assert len({line.split()[2] for line in lines}) == len(lab.names)


def test_another_hosts_key_is_refused(lab: Lab) -> None:
    one, other = near_pair(lab)
    addresses = lab.truth["addresses"]
    argv = ["ssh", "-F", str(lab.ssh_config), "-o", "BatchMode=yes"]
    argv += ["-o", f"HostName={addresses[other]}", "-o", f"HostKeyAlias={one}", one, "hostname"]
    done = lab.exec(".", argv, check=False)
    assert done.returncode == 255
    assert "verification failed" in done.stderr


def test_paramiko_reads_the_same_configuration(lab: Lab) -> None:
    require_root()
    config = paramiko.SSHConfig.from_path(str(lab.ssh_config)).lookup(lab.names[0])
    with paramiko.SSHClient() as client:
        client.load_host_keys(config["userknownhostsfile"].strip('"'))
        client.connect(
            config["hostname"],
            username=config["user"],
            key_filename=config["identityfile"][0].strip('"'),
            allow_agent=False,
            look_for_keys=False,
        )
        _, stdout, _ = client.exec_command("hostname")
        assert stdout.read().decode().strip() == lab.names[0]


def test_private_files_are_private(lab: Lab) -> None:
    keys = [lab.dir / "id_ed25519", *lab.dir.glob("private/*.key")]
    assert len(keys) == 1 + len(lab.names)
    assert {stat.S_IMODE(key.stat().st_mode) for key in keys} == {0o600}


def test_exec_is_being_on_the_host(lab: Lab) -> None:
    host = lab.names[1]
    assert lab.exec(host, ["hostname"]).stdout == f"{host}\n"
    assert lab.exec(host, ["cat"], text="in and out").stdout == "in and out"
    assert lab.exec(host, ["sh", "-c", "exit 7"], check=False).returncode == 7
    links = json.loads(lab.exec(host, ["ip", "-json", "address", "show", "eth0"]).stdout)
    assert links[0]["addr_info"][0]["local"] == lab.truth["addresses"][host]
    assert os.uname().nodename != host


def test_hosts_know_each_other_by_name(lab: Lab) -> None:
    for other in lab.names:
        found = lab.exec(lab.names[0], ["getent", "ahostsv4", other]).stdout.split()[0]
        assert found == lab.truth["addresses"][other]
    own = lab.exec(lab.names[0], ["getent", "ahostsv4", os.uname().nodename]).stdout.split()[0]
    assert own == lab.truth["machine_address"]


def test_other_racks_are_farther_than_ones_own(lab: Lab) -> None:
    require_fping()
    source, near = near_pair(lab)
    far = lab.racks["r2"]
    p10 = p10_us(lab, source, [near, *far])
    assert all(p10[host] > 1.3 * p10[near] for host in far)


def test_links_carry_their_rate_and_no_more(lab: Lab) -> None:
    # A machine with other work may slow them down.
    assert 100 < transfer_mbit(lab, *near_pair(lab)) < 440
    assert 50 < transfer_mbit(lab, *far_pair(lab)) < 220


def test_rates_change_while_it_stands(lab: Lab) -> None:
    one, other = near_pair(lab)
    lab.lab("set", one, "--rate", "50mbit")
    try:
        assert transfer_mbit(lab, one, other, megabytes=4) < 100
        assert transfer_mbit(lab, other, one, megabytes=4) < 100
        lab.lab("set", one, "--rate", "none")
        lab.lab("set", one, "--rate", "none")
        assert "tbf" not in lab.exec(one, ["tc", "qdisc", "show", "dev", "eth0"]).stdout
    finally:
        lab.lab("set", one, "--rate", "400mbit")


def test_a_racks_uplink_changes_for_all_its_hosts(lab: Lab) -> None:
    lab.lab("set", "r2", "--rate", "40mbit")
    try:
        assert transfer_mbit(lab, *far_pair(lab), megabytes=4) < 100
        rates = {
            switch["name"]: switch["uplink_rate"]
            for switch in json.loads(lab.lab("status", "--json"))[0]["switches"]
        }
        assert rates == {"r1": "200mbit", "r2": "40mbit"}
    finally:
        lab.lab("set", "r2", "--rate", "200mbit")


def test_a_stopped_host_is_silent_until_started(lab: Lab) -> None:
    require_fping()
    silent, other = near_pair(lab)
    address = lab.truth["addresses"][silent]
    ping = ["fping", "-q", "-c", "1", "-t", "300"]
    lab.lab("stop", silent)
    try:
        received = lab.exec(other, [*ping, address], check=False)
        assert "100%" in received.stderr
        # Silence, not a refusal: nobody says that there is no such host.
        assert "nreachable" not in received.stderr + received.stdout
        assert lab.exec(silent, [*ping, other], check=False).returncode == 1
        ssh = ["ssh", "-F", str(lab.ssh_config), "-o", "ConnectTimeout=1", silent, "true"]
        assert "timed out" in lab.exec(".", ssh, check=False).stderr
        third = lab.racks["r2"][0]
        assert lab.exec(third, [*ping, other]).returncode == 0
        status = json.loads(lab.lab("status", "--json"))[0]
        assert [host["name"] for host in status["hosts"] if host["stopped"]] == [silent]
    finally:
        lab.lab("start", silent)
    assert lab.exec(other, [*ping, address]).returncode == 0
    assert lab.exec(silent, [*ping, other]).returncode == 0
