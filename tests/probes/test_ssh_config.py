import getpass
import pwd
from pathlib import Path

import pytest

from plink.probes.errors import OptionError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import SshOptions
from plink.probes.ssh.config import SshConfig, parse_jump

TEXT = """
Host gpu1
  HostName 10.0.0.7
  User alice
  Port 2222
  IdentityFile /keys/id
  IdentitiesOnly yes
  UserKnownHostsFile /tmp/known
Host gpu2
  HostKeyAlias two
  ProxyJump bob@gate:2200,inner
  StrictHostKeyChecking accept-new
Host gate
  HostName 192.0.2.1
  User carol
Host loop
  ProxyJump loop
"""


@pytest.fixture
def config(tmp_path: Path) -> SshConfig:
    file = tmp_path / "config"
    file.write_text(TEXT)
    return SshConfig(SshOptions(config_file=str(file)))


def test_alias(config: SshConfig) -> None:
    target = config.target(ListedHost("gpu1"))
    assert (target.name, target.hostname, target.user, target.port) == (
        "gpu1",
        "10.0.0.7",
        "alice",
        2222,
    )
    assert target.host_key_name == "[10.0.0.7]:2222"
    assert target.identity_files == ("/keys/id",)
    assert target.identities_only
    assert target.known_hosts_files[0] == "/tmp/known"
    assert not target.accept_new_host_keys


def test_the_host_list_wins_over_the_configuration(config: SshConfig) -> None:
    target = config.target(ListedHost("gpu1", user="root", port=23))
    assert (target.user, target.port) == ("root", 23)


def test_options_stand_between_list_and_configuration(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(TEXT)
    key = tmp_path / "key"
    key.touch()
    config = SshConfig(SshOptions(config_file=str(file), user="dave", identity_file=str(key)))
    target = config.target(ListedHost("gpu1"))
    assert (target.user, target.identity_files) == ("dave", (str(key),))
    assert config.target(ListedHost("gpu1", user="root")).user == "root"


def test_a_host_the_configuration_does_not_know(config: SshConfig) -> None:
    target = config.target(ListedHost("10.9.9.9"))
    assert (target.hostname, target.port, target.user) == ("10.9.9.9", 22, getpass.getuser())


def test_jumps(config: SshConfig) -> None:
    target = config.target(ListedHost("gpu2"))
    assert target.host_key_name == "two"
    assert target.accept_new_host_keys
    gate, inner = target.jumps
    assert (gate.hostname, gate.user, gate.port) == ("192.0.2.1", "bob", 2200)
    assert (inner.hostname, inner.port) == ("inner", 22)


def test_jumps_in_a_circle_are_refused(config: SshConfig) -> None:
    with pytest.raises(OptionError, match="circle"):
        config.target(ListedHost("loop"))


@pytest.mark.parametrize("text", ["", "a b:x", "host:port", "@host", "[::1", "host:123456"])
def test_a_jump_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="ProxyJump"):
        parse_jump(text)


def test_a_jump_over_ipv6() -> None:
    assert parse_jump("ssh://x@[2001:db8::1]:2200") == ListedHost("2001:db8::1", "x", 2200)


def test_includes_are_followed(tmp_path: Path) -> None:
    (tmp_path / "more").write_text("Host a\n  HostName 10.1.1.1\n")
    (tmp_path / "config").write_text(f"Include {tmp_path}/mo*\nHost *\n  User zoe\n")
    config = SshConfig(SshOptions(config_file=str(tmp_path / "config")))
    target = config.target(ListedHost("a"))
    assert (target.hostname, target.user) == ("10.1.1.1", "zoe")


def test_includes_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(f"Include {tmp_path}/config\n")
    config = SshConfig(SshOptions(config_file=str(tmp_path / "config")))
    with pytest.raises(OptionError, match="Too many recursive configuration includes"):
        config.target(ListedHost("a"))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be read"):
        SshConfig(SshOptions(config_file=str(tmp_path / "none")))
    with pytest.raises(OptionError, match="no such key file"):
        SshConfig(SshOptions(identity_file=str(tmp_path / "none")))


def test_what_follows_an_include_stays_in_its_own_block(tmp_path: Path) -> None:
    (tmp_path / "more file").write_text("User zoe\nHost b\n  Port 23\n")
    (tmp_path / "config").write_text(
        f'Include "{tmp_path}/more file"\nIdentityFile /for/all\n'
        f'Host c\n  Include "{tmp_path}/more file"\n  HostName 10.1.1.1\n'
    )
    config = SshConfig(SshOptions(config_file=str(tmp_path / "config")))
    assert config.target(ListedHost("a")).identity_files == ("/for/all",)
    assert config.target(ListedHost("a")).hostname == "a"
    assert config.target(ListedHost("b")).port == 23
    assert config.target(ListedHost("b")).hostname == "b"
    c = config.target(ListedHost("c"))
    assert (c.hostname, c.port, c.user) == ("10.1.1.1", 22, "zoe")


def test_the_home_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host a\n  User zoe\n")
    (tmp_path / "system").write_text("Port 23\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("plink.probes.ssh.config._SYSTEM_CONFIG", str(tmp_path / "system"))
    config = SshConfig(SshOptions())
    assert (config.target(ListedHost("a")).user, config.target(ListedHost("b")).port) == ("zoe", 23)


@pytest.mark.parametrize(
    "text",
    [
        "Port abc",
        "Port 0",
        "Port 70000",
        "Port " + "9" * 5000,
        "CanonicalizeHostname yes\nCanonicalDomains invalid\nCanonicalizeFallbackLocal no",
        "CanonicalizeHostname yes\nCanonicalDomains invalid\nCanonicalizeMaxDots x",
        'UserKnownHostsFile "unfinished',
        "Match nonsense",
        "ProxyJump a b c",
        "IdentityFile ~/.ssh/id_%z",
        "IdentityFile ${THERE_IS_NO_SUCH_VARIABLE}/id",
        "ProxyCommand nc %z",
        "\ufeffHost a",
    ],
)
def test_a_configuration_that_cannot_be_used_is_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text + "\n")
    with pytest.raises(OptionError) as caught:
        SshConfig(SshOptions(config_file=str(tmp_path / "config"))).target(ListedHost("a"))
    assert "\n" not in str(caught.value)
    assert "/dev/stdin" not in str(caught.value)


def test_a_user_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object) -> str:
        raise KeyError("getpwuid(): uid not found: 4242")

    (tmp_path / "config").write_text("# nothing\n")
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    monkeypatch.setenv("LOGNAME", "zoe")
    config = SshConfig(SshOptions(config_file=str(tmp_path / "config")))
    assert config.target(ListedHost("a")).user == "zoe"
    monkeypatch.setattr(getpass, "getuser", nobody)
    with pytest.raises(OptionError, match="has no name") as caught:
        config.target(ListedHost("a"))
    assert "LOGNAME" in str(caught.value.hint)


@pytest.mark.parametrize("condition", ["exec", "final exec", 'host a "exec"', "!exec"])
def test_a_condition_of_a_named_file_runs_nothing(tmp_path: Path, condition: str) -> None:
    (tmp_path / "more").write_text(f'Match {condition} "touch {tmp_path}/ran"\n  User zoe\n')
    (tmp_path / "config").write_text(f"Include {tmp_path}/more\n")
    config = SshConfig(SshOptions(config_file=str(tmp_path / "config")))
    with pytest.raises(OptionError, match="Match exec"):
        config.target(ListedHost("a"))
    assert not (tmp_path / "ran").exists()


def test_without_an_openssh_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "config").write_text("# nothing\n")
    target = SshConfig(SshOptions(config_file=str(tmp_path / "config"))).target(
        ListedHost("a", user="zoe", port=23)
    )
    assert (target.hostname, target.port, target.user) == ("a", 23, "zoe")
    assert target.host_key_name == "[a]:23"
    assert target.known_hosts_files[0] == str(Path("~/.ssh/known_hosts").expanduser())
    (tmp_path / "config").write_text("Host a\n  Port 24\n")
    with pytest.raises(OptionError, match="needs the OpenSSH client"):
        SshConfig(SshOptions(config_file=str(tmp_path / "config")))


def test_the_configuration_is_asked_for_the_address_that_a_list_gives(config: SshConfig) -> None:
    target = config.target(ListedHost("gpu1", connect_to="10.9.9.9"))
    assert (target.name, target.hostname, target.host_key_name) == ("gpu1", "10.9.9.9", "10.9.9.9")


def test_the_null_device_is_a_configuration_without_a_line() -> None:
    config = SshConfig(SshOptions(config_file="/dev/null"))
    assert config.target(ListedHost("gpu1")).hostname == "gpu1"


def test_another_device_is_refused() -> None:
    with pytest.raises(OptionError, match="neither a file nor a pipe"):
        SshConfig(SshOptions(config_file="/dev/zero"))
