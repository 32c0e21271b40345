"""Finding hosts, without sending anything to them."""

from pathlib import Path

import pytest

from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import SshOptions
from plink.probes.ssh.config import Target
from plink.probes.ssh.connect import SshOpener


@pytest.fixture
def options(tmp_path: Path) -> SshOptions:
    config = tmp_path / "config"
    config.write_text("Host known\n  HostName 192.0.2.7\n")
    return SshOptions(config_file=str(config))


def find_target(host: ListedHost, options: SshOptions) -> Target:
    """The settings with which a host is connected to."""
    opener = SshOpener(options)
    opener.prepare([host])
    return opener.targets[host.name]


def test_the_configuration_says_where_a_name_is(options: SshOptions) -> None:
    target = find_target(ListedHost("known", ssh_address="192.0.2.1"), options)
    assert target.hostname == "192.0.2.7"


def test_a_name_that_says_nothing_is_where_it_was_before(options: SshOptions) -> None:
    target = find_target(ListedHost("lost.invalid", ssh_address="192.0.2.1"), options)
    assert (target.name, target.hostname) == ("lost.invalid", "192.0.2.1")
    assert target.host_key_name == "lost.invalid"


def test_without_that_the_line_is_named(options: SshOptions) -> None:
    with pytest.raises(HostListError, match=r"^hosts\.txt:3: lost\.invalid cannot be resolved"):
        find_target(ListedHost("lost.invalid", place="hosts.txt:3"), options)
