"""`plink hub checkpoint`: a snapshot of a service."""

from __future__ import annotations

import click

from plink.cli.hub_options import namespace, secret_file, servers


@click.command(
    short_help="Write a snapshot of a service, while its workers go on.",
    epilog="Example: plink hub checkpoint 10.0.0.9:7100 --name job --secret-file hub.secret",
)
@servers
@namespace
@secret_file
def command(*, servers: tuple[str, ...], namespace: str, secret_file: str) -> None:
    """Write values and the optimiser's state at the end of an iteration, the same on all servers.

    Each server writes a file to its folder (plink hub serve --snapshots); their names are printed.
    """
    from plink.hub.admin import checkpoint  # noqa: PLC0415  numpy
    from plink.transport.proofs import read_secret  # noqa: PLC0415

    for saved in checkpoint(servers, read_secret(secret_file), namespace):
        click.echo(saved.snapshot)
