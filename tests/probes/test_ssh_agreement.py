"""What plink reads in an SSH configuration is what the OpenSSH client reads there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plink.probes.errors import OptionError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import SshOptions
from plink.probes.ssh.config import SshConfig, parse_jump

NAMES = ("gpu1", "gpu2", "app1", "old", "10.0.0.5")

CORPUS = {
    "comments behind values": "Host gpu1\n HostName 10.1.1.1 # rack 3\n User me  # cloud image\n"
    "Host gpu2\n ProxyJump none  # for now\n IdentityFile ~/.ssh/gpu.pem  # key\n"
    "Host app1\n StrictHostKeyChecking no # lab\n Port 23 # behind\n",
    "a command before a jump": "Host gpu1\n ProxyCommand none\nHost gpu*\n ProxyJump jump\n"
    "Host old\n ProxyCommand nc %h %p\nHost old app1\n ProxyJump bob@jump2:2200\n",
    "a match behind": "Host app1\n HostName 10.2.2.2\nMatch host 10.2.*\n ProxyJump jump\n",
    "a match in front": "Match host 10.2.*\n ProxyJump jump\nHost app1\n HostName 10.2.2.2\n",
    "a final match": "Match final host 10.2.*\n ProxyJump jump\nHost app1\n HostName 10.2.2.2\n",
    "negation": "Host gpu* !gpu2\n User me\nHost *\n User you\n Port 24\n",
    "an original name": "Match originalhost gpu1\n Port 25\nHost gpu1\n HostName h.example\n",
    "a user": "Match user root\n Port 26\nMatch localuser nobody-here\n Port 27\n",
    "equals and quotes": 'Host gpu?\n User="me"\n Port = 28\n HostName %h.example\n'
    ' IdentityFile "~/.ssh/my key"\n',
    "tabs and cases": "hOsT gpu1\n\tHOSTNAME\t10.3.3.3\n\tport 29\n\tHostKeyAlias one\n",
    "the first one wins": "Host gpu1\n Port 30\nHost *\n Port 31\n IdentitiesOnly yes\n",
}


def write(folder: Path, text: str) -> Path:
    file = folder / "config"
    file.write_text(text)
    return file


def asked(file: Path, name: str) -> dict[str, list[str]] | None:
    """What `ssh -G` prints; None where it refuses the configuration."""
    done = subprocess.run(
        ["ssh", "-G", "-F", str(file), name],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        found.setdefault(key, []).append(value)
    return found if done.returncode == 0 else None


def check_agreement(file: Path, name: str) -> None:
    expected = asked(file, name)
    config = SshConfig(SshOptions(config_file=str(file)))
    jump = (expected or {}).get("proxyjump", ["none"])[0]
    if jump != "none":
        # `Host *` with a ProxyJump is for the jump host, too, and OpenSSH goes in a circle.
        first = asked(file, jump.split(",")[0].rpartition("@")[2].partition(":")[0])
        if first is None or first.get("proxyjump", ["none"]) != ["none"]:
            with pytest.raises(OptionError):
                config.target(ListedHost(name))
            return
    if expected is None:
        with pytest.raises(OptionError):
            config.target(ListedHost(name))
        return
    target = config.target(ListedHost(name))
    assert target.hostname == expected["hostname"][0]
    assert target.port == int(expected["port"][0])
    assert target.user == expected["user"][0]
    assert list(target.identity_files) == expected["identityfile"]
    assert target.identities_only == (expected["identitiesonly"] == ["yes"])
    assert target.accept_new_host_keys == (
        expected["stricthostkeychecking"][0] in ("false", "accept-new")
    )
    jumps = [] if jump == "none" else [parse_jump(part) for part in jump.split(",")]
    assert [found.name for found in target.jumps] == [found.name for found in jumps]
    for found, listed in zip(target.jumps, jumps, strict=True):
        assert listed.user in (None, found.user)
        assert listed.port in (None, found.port)
    command = expected.get("proxycommand", [None])[0]
    if command is not None:
        command = command.replace("%h", target.hostname).replace("%p", str(target.port))
    assert target.proxy_command == command
    if "hostkeyalias" in expected:
        assert [target.host_key_name] == expected["hostkeyalias"]


@pytest.mark.parametrize("title", CORPUS)
def test_the_corpus(title: str, tmp_path: Path) -> None:
    file = write(tmp_path, CORPUS[title])
    for name in NAMES:
        check_agreement(file, name)


patterns = st.sampled_from(["gpu1", "gpu*", "gpu?", "!gpu2 *", "*", "app1 old", "10.0.*", "10.1.*"])
conditions = st.one_of(
    st.just("all"),
    st.just("final all"),
    st.just("canonical"),
    patterns.map(lambda pattern: f"host {pattern.split()[-1]}"),
    patterns.map(lambda pattern: f"final originalhost {pattern.split()[-1]}"),
    st.sampled_from(["user root", "user bob", "localuser nobody-here"]),
)
heads = st.one_of(
    patterns.map(lambda pattern: f"Host {pattern}"),
    conditions.map(lambda condition: f"Match {condition}"),
)
options = st.sampled_from(
    [
        *["HostName 10.0.0.5", "HostName %h.example", "HostName 10.1.1.1", "Port 23", "Port=24"],
        *["User bob", "User root", 'User "al"', "ProxyJump none", "ProxyJump j", "ProxyJump j,k"],
        *["ProxyCommand none", "ProxyCommand nc %h %p", "IdentitiesOnly yes", "HostKeyAlias x"],
        *["IdentityFile ~/.ssh/a", "IdentityFile /b", "StrictHostKeyChecking no", "Prot 22"],
        *["StrictHostKeyChecking accept-new", "IdentityFile none", "# nothing", ""],
    ]
)
ends = st.sampled_from(["", "", "", "  # why", "\t", " "])
lines = st.tuples(options, ends).map("".join)
blocks = st.tuples(heads, st.lists(lines, max_size=4)).map(
    lambda found: "\n  ".join([found[0], *found[1]])
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.one_of(blocks, lines), max_size=6), st.sampled_from(NAMES))
def test_generated_configurations(tmp_path: Path, text: list[str], name: str) -> None:
    check_agreement(write(tmp_path, "\n".join(text) + "\n"), name)


def test_files_and_commands_as_the_client_expands_them(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        "Host node*\n HostName %h.invalid\n User me\n Port 2200\n"
        ' IdentityFile "/tmp/my key"\n IdentityFile ${HOME}/.ssh/id_%u\n'
        " IdentityFile %d/.ssh/id_%r_%h_%n_%p_%i_%l_%L_%k_%%\n"
        f" ProxyCommand /bin/echo %h %n %p %r %%\n UserKnownHostsFile {tmp_path}/known_%r\n",
    )
    done = subprocess.run(
        ["ssh", "-v", "-F", str(file), "node1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    target = SshConfig(SshOptions(config_file=str(file))).target(ListedHost("node1"))
    identities = re.findall(r"identity file (.*) type -?[0-9]+$", done.stderr, re.MULTILINE)
    plain = [name for name in identities if not name.endswith("-cert")]
    assert list(target.identity_files) == plain
    assert f"exec {target.proxy_command}\n" in done.stderr
    assert target.known_hosts_files[0] == f"{tmp_path}/known_me"
