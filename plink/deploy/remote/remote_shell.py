"""Program called `ssh` for launchers, which reaches hosts with plink's options."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from plink.formats.hosts import Host
from plink.formats.limits import is_word
from plink.probes.errors import OptionError
from plink.probes.options import SshOptions
from plink.probes.reach import Outgoing
from plink.probes.via import Template, parse_template


def config_text(hosts: Sequence[Host], options: SshOptions) -> str:
    """Return an `ssh_config` with the hosts' ports and users, plink's options, then the user's.

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


def write_remote_shell(folder: Path, hosts: Sequence[Host], way: Outgoing) -> Path:
    """Write a program called `ssh` into `folder` for launchers; return its path.

    Raises:
        OptionError: a file that the options name is not there, or ssh could not be told its name,
            or the user's; or a command that is no template.
    """
    wrapper = folder / "ssh"
    if isinstance(way, SshOptions):
        wrapper.write_text(_ssh_script(folder, hosts, way))
    else:
        wrapper.write_text(_via_command(parse_template(way.template)))
    wrapper.chmod(0o700)
    return wrapper


def _ssh_script(folder: Path, hosts: Sequence[Host], options: SshOptions) -> str:
    for named in (options.config_file, options.identity_file):
        if named is not None and not os.path.isfile(named):  # noqa: PTH113  Path's own can fail
            raise OptionError(f"{named}: there is no such file")
        if named is not None and (not named.isprintable() or '"' in named):
            raise OptionError(f"{named}: ssh takes no file name with control characters or quotes")
    if options.user is not None and not is_word(options.user):
        raise OptionError(f"{options.user!r} is not a user name")
    config = folder / "ssh_config"
    config.write_text(config_text(hosts, options))
    # By its path, because the wrapper may itself be the first `ssh` of PATH.
    ssh = shlex.quote(shutil.which("ssh") or "/usr/bin/ssh")
    return f'#!/bin/sh\nexec {ssh} -F {shlex.quote(str(config))} "$@"\n'


def _via_command(template: Template) -> str:
    """Return a Python script that is called like `ssh` and runs a command template."""
    return f"""\
#!{sys.executable}
import os, sys
from plink.probes.via import Template
words = sys.argv[1:]
while words and words[0].startswith("-"):
    del words[0]
argv = Template({template.words!r}).argv(words[0], " ".join(words[1:]))
os.execvp(argv[0], argv)
"""
