"""Options of commands that reach hosts: over SSH, by another command, or because hosts call."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from plink.base.lazy import lazy_imports
from plink.cli.given import as_if_given
from plink.cli.options import FiniteRange, make_section_option, with_options
from plink.cli.stderr import read_kept_secret
from plink.probes.options import SSH, SshOptions, ViaOptions

with lazy_imports():
    from plink.probes import options as probe_options
    from plink.transport import addresses, proofs

if TYPE_CHECKING:
    from plink.probes.reach import Outgoing


_option = make_section_option("SSH")

_OPTIONS = (
    make_section_option("Reaching hosts")(
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
    """Record how a list's hosts were reached, so that suggested commands repeat it."""
    match way:
        case SshOptions():
            as_if_given(identity=way.identity_file)
        case ViaOptions():
            as_if_given(via=way.template)


def take_way(values: dict[str, Any]) -> Outgoing:
    """Remove the options of SSH and `--via` from a command's and return the way they define.

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


_listen_option = make_section_option("Reaching hosts")

_WAIT_S = 300.0
_LONGEST_WAIT_S = 86400.0

_LISTEN_OPTIONS = (
    _listen_option(
        "--listen",
        metavar="HOST:PORT",
        help=(
            "Wait at this address for hosts to connect (plink agent --join), instead of "
            "reaching them."
        ),
    ),
    _listen_option(
        "--secret-file",
        metavar="FILE",
        help="File with the secret that the agents have; created if it does not exist.",
    ),
    _listen_option(
        "--wait",
        "wait_s",
        type=FiniteRange(min=1.0, max=_LONGEST_WAIT_S),
        default=_WAIT_S,
        show_default=True,
        metavar="SECONDS",
        help="Seconds to wait for hosts to connect.",
    ),
)

# The command receives them by name; `take_any_way` gathers them.
with_listen_options = with_options(_LISTEN_OPTIONS)


def take_any_way(values: dict[str, Any]) -> Outgoing | probe_options.ListenOptions:
    """Remove the options of SSH, `--via` and `--listen` from a command's and return the way.

    Raises:
        click.UsageError: options that belong together, or do not.
        WrongUseError: no address, or no secret.
    """
    listen, secret_file = values.pop("listen", None), values.pop("secret_file", None)
    wait_s, has_via = values.pop("wait_s", _WAIT_S), values["via"] is not None
    way = take_way(values)
    if listen is None:
        if secret_file is not None:
            raise click.UsageError("--secret-file needs --listen.")
        return way
    if secret_file is None:
        raise click.UsageError(
            "--listen needs --secret-file FILE, with the secret that agents have."
        )
    if has_via:
        raise click.UsageError("--via and --listen exclude each other.")
    if way != replace(SshOptions(), concurrency=way.concurrency):
        raise click.UsageError("--listen excludes SSH options, as hosts connect to plink.")

    host, port = addresses.parse_address(listen, "--listen")
    secret = (
        read_kept_secret(secret_file)
        if os.path.lexists(secret_file)
        else proofs.make_secret(secret_file)
    )
    return probe_options.ListenOptions(
        host, port, secret, wait_s=wait_s, concurrency=way.concurrency
    )
