"""The options of every command that reaches hosts over SSH."""

from __future__ import annotations

from typing import Any

import click

from plink.cli.options import options_of, with_options
from plink.probes.ssh.options import SshOptions

_option = options_of("SSH")

_OPTIONS = (
    _option(
        "-F",
        "--ssh-config",
        "ssh_config",
        metavar="FILE",
        help="SSH configuration to use instead of ~/.ssh/config.",
    ),
    _option("-i", "--identity", metavar="KEY", help="Private key file to use."),
    _option("--user", metavar="NAME", help="User where the host list names none."),
    _option(
        "--accept-new-host-keys",
        is_flag=True,
        help="Trust and remember the key of a host never seen before.",
    ),
    _option(
        "--ssh-concurrency",
        type=click.IntRange(1, 1024),
        default=SshOptions.concurrency,
        show_default=True,
        help="SSH handshakes at once.",
    ),
)

# The command receives them by name; `take_ssh_options` gathers them.
with_ssh_options = with_options(_OPTIONS)


def take_ssh_options(values: dict[str, Any]) -> SshOptions:
    """Take the options' values out of a command's, as what the SSH layer takes."""
    return SshOptions(
        config_file=values.pop("ssh_config"),
        identity_file=values.pop("identity"),
        user=values.pop("user"),
        accept_new_host_keys=values.pop("accept_new_host_keys"),
        concurrency=values.pop("ssh_concurrency"),
    )
