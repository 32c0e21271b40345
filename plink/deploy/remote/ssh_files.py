"""The SSH configuration that a launcher uses: the same hosts, users and keys as plink's."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plink.files.cluster import Host
from plink.files.fields import is_word
from plink.probes.errors import OptionError
from plink.probes.ssh.options import SshOptions


@dataclass(frozen=True)
class SshFiles:
    """An SSH configuration, and a program that is `ssh` with it."""

    config: Path
    wrapper: Path


def config_text(hosts: Sequence[Host], options: SshOptions) -> str:
    """An `ssh_config`: what the cluster file and the options say, then the user's own.

    ssh takes the first value that it finds (ssh_config(5)), so the user's file comes last.
    """
    lines: list[str] = []
    for host in hosts:
        lines.append(f"Host {host.name}")
        if host.port is not None:
            lines.append(f"  Port {host.port}")
        if host.user is not None:
            lines.append(f"  User {host.user}")
    lines += ["Match all", "  BatchMode yes", "  LogLevel ERROR"]
    if options.user is not None:
        lines.append(f"  User {options.user}")
    if options.identity_file is not None:
        key = Path(options.identity_file).absolute()
        lines += [f'  IdentityFile "{key}"', "  IdentitiesOnly yes"]
    if options.accept_new_host_keys:
        lines.append("  StrictHostKeyChecking accept-new")
    own = (
        [Path(options.config_file).absolute()]
        if options.config_file is not None
        else [Path("~/.ssh/config").expanduser(), Path("/etc/ssh/ssh_config")]
    )
    lines += [f'  Include "{file}"' for file in own if file.is_file()]
    return "\n".join(lines) + "\n"


def write_ssh_files(folder: Path, hosts: Sequence[Host], options: SshOptions) -> SshFiles:
    """Write the configuration and the wrapper into `folder`.

    Raises:
        OptionError: a file that the options name is not there, or ssh could not be told its name,
            or the user's.
    """
    for named in (options.config_file, options.identity_file):
        if named is not None and not os.path.isfile(named):  # noqa: PTH113  Path's own can fail
            raise OptionError(f"{named}: there is no such file")
        if named is not None and (not named.isprintable() or '"' in named):
            raise OptionError(f"{named}: a configuration of ssh cannot name this file")
    if options.user is not None and not is_word(options.user):
        raise OptionError(f"{options.user!r} is not a user name")
    files = SshFiles(folder / "ssh_config", folder / "ssh")
    files.config.write_text(config_text(hosts, options))
    # By its path, because the wrapper may itself be the first `ssh` of PATH.
    ssh = shlex.quote(shutil.which("ssh") or "/usr/bin/ssh")
    config = shlex.quote(str(files.config))
    files.wrapper.write_text(f'#!/bin/sh\nexec {ssh} -F {config} "$@"\n')
    files.wrapper.chmod(0o700)
    return files
