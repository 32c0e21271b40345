"""Options of commands to which hosts may connect with `plink agent`."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from plink.cli.options import FiniteRange, options_of, with_options
from plink.cli.stderr import read_kept_secret
from plink.cli.way_options import take_way
from plink.probes.options import SshOptions

if TYPE_CHECKING:
    from plink.probes.options import ListenOptions
    from plink.probes.reach import Outgoing

_option = options_of("Reaching hosts")

_WAIT_S = 300.0
_LONGEST_WAIT_S = 86400.0

_OPTIONS = (
    _option(
        "--listen",
        metavar="HOST:PORT",
        help=(
            "Wait at this address for hosts to connect (plink agent --join), instead of "
            "reaching them."
        ),
    ),
    _option(
        "--secret-file",
        metavar="FILE",
        help="File with the secret that the agents have; created if it does not exist.",
    ),
    _option(
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
with_listen_options = with_options(_OPTIONS)


def take_any_way(values: dict[str, Any]) -> Outgoing | ListenOptions:
    """Remove the options on reaching hosts from a command's and return the way they define.

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
    from plink.probes.options import ListenOptions  # noqa: PLC0415
    from plink.transport.addresses import parse_address  # noqa: PLC0415  seldom needed
    from plink.transport.proofs import make_secret  # noqa: PLC0415

    host, port = parse_address(listen, "--listen")
    secret = (
        read_kept_secret(secret_file) if os.path.lexists(secret_file) else make_secret(secret_file)
    )
    return ListenOptions(host, port, secret, wait_s=wait_s, concurrency=way.concurrency)
