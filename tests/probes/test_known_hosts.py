"""Known hosts as OpenSSH writes them, as people break them, and as we add to them."""

import subprocess
from pathlib import Path

import paramiko
import pytest

from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import SshOptions
from plink.probes.ssh.config import SshConfig, Target
from plink.probes.ssh.known_hosts import HostKeyError, KnownHosts

KEY = paramiko.ECDSAKey.generate()
OTHER = paramiko.ECDSAKey.generate()


def line(names: str, key: paramiko.PKey = KEY) -> str:
    return f"{names} {key.get_name()} {key.get_base64()} a comment\n"


def knows(file: Path, name: str, key: paramiko.PKey = KEY) -> bool:
    known = KnownHosts().of(name, [str(file)])
    return (key.get_name(), key.asbytes()) in known.trusted


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "known_hosts"


@pytest.mark.parametrize(
    ("names", "name", "expected"),
    [
        ("gpu1", "gpu1", True),
        ("GPU1,10.0.0.1", "gpu1", True),
        ("gpu1", "GPU1", True),
        ("gpu1", "gpu10", False),
        ("[gpu1]:2222", "[gpu1]:2222", True),
        ("[gpu1]:2222", "gpu1", False),
        ("gpu*", "gpu17", True),
        ("gpu?", "gpu17", False),
        ("gpu*,!gpu17", "gpu17", False),
        ("[10.0.0.?]:22*", "[10.0.0.7]:2222", True),
        ("|1|rubbish", "gpu1", False),
    ],
)
def test_names(file: Path, names: str, name: str, expected: bool) -> None:
    file.write_text(line(names))
    assert knows(file, name) is expected


@pytest.mark.needs("lab")
def test_names_hashed_by_openssh(file: Path) -> None:
    file.write_text(line("gpu1") + line("[gpu2]:2222", OTHER))
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", file], check=True, capture_output=True)
    assert "gpu1" not in file.read_text()
    assert knows(file, "gpu1")
    assert knows(file, "[gpu2]:2222", OTHER)
    assert not knows(file, "gpu2", OTHER)


@pytest.mark.parametrize(
    "wrong",
    [
        b"gpu1 ssh-rsa !!!!\n",
        b"gpu1 ssh-rsa AAAA\n",
        b"gpu1 ssh-ed25519 A\n",
        b"gpu1\n",
        b"\xff\xfe gpu1\n",
        b"@nonsense gpu1 ssh-rsa AAAA\n",
        b"\x00\n",
    ],
)
def test_a_wrong_line_hides_no_later_one(file: Path, wrong: bytes) -> None:
    file.write_bytes(wrong + line("gpu1").encode())
    assert knows(file, "gpu1")


def test_several_keys_of_one_kind(file: Path) -> None:
    file.write_text(line("gpu1") + line("gpu1", OTHER))
    assert knows(file, "gpu1")
    assert knows(file, "gpu1", OTHER)


def test_revoked_keys_and_authorities_are_not_trusted(file: Path) -> None:
    file.write_text("@revoked " + line("*") + "@cert-authority " + line("*", OTHER))
    known = KnownHosts().of("gpu1", [str(file)])
    assert known.trusted == frozenset()
    assert known.revoked == {KEY.asbytes()}


def test_a_file_that_is_not_there_is_not_unreadable(file: Path, tmp_path: Path) -> None:
    assert KnownHosts().of("gpu1", [str(file)]).unreadable is None
    assert KnownHosts().of("gpu1", [str(file), str(tmp_path)]).unreadable == str(tmp_path)


@pytest.mark.parametrize("before", ["", line("a"), line("a").rstrip("\n"), "# unfinished"])
def test_a_key_is_remembered_on_a_line_of_its_own(file: Path, before: str) -> None:
    file.write_text(before)
    KnownHosts().remember("GPU1", OTHER, str(file))
    KnownHosts().remember("gpu2", OTHER, str(file))
    assert file.read_text().startswith(before)
    assert knows(file, "gpu1", OTHER)
    assert knows(file, "gpu2", OTHER)
    assert knows(file, "a") is before.startswith("a ")


@pytest.mark.parametrize(
    "name", ["*", "gpu?", "!gpu1", "a,b", "|1|x|y", "@revoked", "#gpu1", "a b", "a\tb", "a\nb", ""]
)
def test_a_name_that_means_other_hosts_is_not_remembered(file: Path, name: str) -> None:
    known = KnownHosts()
    with pytest.raises(HostKeyError):
        known.remember(name, KEY, str(file))
    assert not file.exists()
    assert not known.of("gpu1", [str(file)]).trusted


@pytest.mark.parametrize(
    "name", ["gpu_1.example.com", "[10.0.0.1]:2222", "2001:db8::1", "[fe80::1%eth0]:22", "gpu1."]
)
def test_other_names_are_remembered(file: Path, name: str) -> None:
    KnownHosts().remember(name, KEY, str(file))
    assert knows(file, name)


def _target(tmp_path: Path, text: str) -> Target:
    (tmp_path / "config").write_text(f"Host *\n{text}\n")
    options = SshOptions(config_file=str(tmp_path / "config"))
    return SshConfig(options).target(ListedHost("gpu1"))


def test_only_the_users_own_file_is_added_to(tmp_path: Path) -> None:
    target = _target(tmp_path, "  UserKnownHostsFile none")
    assert target.new_host_keys_file is None
    assert target.known_hosts_files[0] == "/etc/ssh/ssh_known_hosts"


def test_names_of_files_may_hold_spaces(tmp_path: Path) -> None:
    target = _target(tmp_path, '  UserKnownHostsFile "/a b/known" /c')
    assert target.known_hosts_files[:2] == ("/a b/known", "/c")
    assert target.new_host_keys_file == "/a b/known"
