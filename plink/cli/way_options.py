"""Options of commands that reach hosts over SSH or by another command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from plink.cli.given import as_if_given
from plink.cli.options import options_of, with_options
from plink.probes.options import SSH, SshOptions, ViaOptions

if TYPE_CHECKING:
    from plink.probes.reach import Outgoing

_option = options_of("SSH")

_OPTIONS = (
    options_of("Reaching hosts")(
        "--via",
        metavar="COMMAND",
        help="Command that leads into a host in place of SSH, such as 'kubectl exec -i {host} --'; "
        "ssh for SSH where the host list says otherwise.",
    ),
    _option(
        "-F",
        "--ssh-config",
        "ssh_config",
        metavar="FILE",
        help="SSH configuration to use instead of ~/.ssh/config.",
    ),
    _option("-i", "--identity", metavar="KEY", help="Private key file to use."),
    _option(
        "--user", metavar="NAME", help="User for hosts whose line in the host list names none."
    ),
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
        help="Number of SSH handshakes, or of --via commands, at once.",
    ),
)

# The command receives them by name; `take_way` gathers them.
with_way_options = with_options(_OPTIONS)

# What SSH alone understands.
_OF_SSH = {
    "config_file": ("ssh_config", "--ssh-config"),
    "identity_file": ("identity", "--identity"),
    "user": ("user", "--user"),
    "accept_new_host_keys": ("accept_new_host_keys", "--accept-new-host-keys"),
}


def as_if_typed(way: Outgoing) -> None:
    """Make suggested commands repeat how the hosts of a list were reached."""
    match way:
        case SshOptions():
            as_if_given(identity=way.identity_file)
        case ViaOptions():
            as_if_given(via=way.template)


def take_way(values: dict[str, Any]) -> Outgoing:
    """Remove the options on reaching hosts from a command's and return the way they define.

    Raises:
        click.UsageError: options of SSH beside a command in its place.
    """
    via, concurrency = values.pop("via"), values.pop("ssh_concurrency")
    ssh = {field: values.pop(name) for field, (name, _) in _OF_SSH.items()}
    if via in (None, SSH):
        return SshOptions(**ssh, concurrency=concurrency)
    for field, (_, flag) in _OF_SSH.items():
        if ssh[field]:
            raise click.UsageError(f"{flag} applies to SSH, and excludes --via.")
    return ViaOptions(via, concurrency=concurrency)
