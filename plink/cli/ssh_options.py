"""The options of every command that reaches hosts over SSH."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from probes.ssh.options import SshOptions

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "-F",
        "--ssh-config",
        "ssh_config",
        metavar="FILE",
        help="SSH configuration to use instead of ~/.ssh/config.",
    ),
    click.option("-i", "--identity", metavar="KEY", help="Private key file to use."),
    click.option("--user", metavar="NAME", help="User where the host list names none."),
    click.option(
        "--accept-new-host-keys",
        is_flag=True,
        help="Trust and remember the key of a host never seen before.",
    ),
    click.option(
        "--ssh-concurrency",
        type=click.IntRange(1, 1024),
        default=SshOptions.concurrency,
        show_default=True,
        help="SSH handshakes at once.",
    ),
)


def with_ssh_options(function: Function) -> Function:
    """Add the options. The command receives them by name; `take_ssh_options` gathers them."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def take_ssh_options(values: dict[str, Any]) -> SshOptions:
    """Take the options' values out of a command's, as what the SSH layer takes."""
    return SshOptions(
        config_file=values.pop("ssh_config"),
        identity_file=values.pop("identity"),
        user=values.pop("user"),
        accept_new_host_keys=values.pop("accept_new_host_keys"),
        concurrency=values.pop("ssh_concurrency"),
    )
