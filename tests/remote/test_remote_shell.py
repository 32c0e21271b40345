"""The remote shell that launchers get: as ssh itself understands it, and over a command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from plink.deploy.remote.remote_shell import write_remote_shell
from plink.formats.hosts import Host
from plink.probes.options import SshOptions, ViaOptions


def test_ssh_itself_reads_the_configuration_as_meant(tmp_path: Path) -> None:
    own = tmp_path / "own config"
    own.write_text("Host gpu1\n  HostName 10.0.0.9\n  User theirs\n  Port 99\n")
    key = tmp_path / "key"
    key.touch()
    hosts = [Host("gpu1", "10.0.0.1", user="mine"), Host("gpu2", "10.0.0.2", port=2222)]
    options = SshOptions(config_file=str(own), identity_file=str(key), user="default")
    shell = write_remote_shell(tmp_path, hosts, options)

    def of(name: str) -> set[str]:
        command = [str(shell), "-G", name]
        return set(
            subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
        )

    assert {"hostname 10.0.0.9", "user mine", "port 99", "batchmode yes"} <= of("gpu1")
    assert {"hostname gpu2", "user default", "port 2222", "identitiesonly yes"} <= of("gpu2")
    assert f"identityfile {key}" in of("gpu2")


@pytest.mark.parametrize(
    "template", ["env THERE={host}", 'sh -c \'export THERE="$1"; eval "$2"\' sh {host} {command}']
)
def test_a_launcher_reaches_hosts_by_a_command(tmp_path: Path, template: str) -> None:
    shell = write_remote_shell(tmp_path, [], ViaOptions(template))
    command = [str(shell), "-x", "gpu1", 'echo "$THERE"', "'a  b'"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "gpu1 a  b\n"
