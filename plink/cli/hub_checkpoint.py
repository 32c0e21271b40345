"""`plink hub checkpoint`: save a job's values and optimizer state on the hub's servers."""

from __future__ import annotations

import click

from plink.cli.hub_options import (
    as_json,
    namespace,
    print_done,
    secret_file,
    servers,
    tls,
    tls_files,
)
from plink.cli.stderr import read_kept_secret


@click.command(
    short_help="Write a snapshot of a service while its workers continue.",
    epilog="Example: plink hub checkpoint 10.0.0.9:7100 --name job --secret-file hub.secret",
)
@servers
@namespace
@secret_file
@tls
@as_json
def command(
    *, servers: tuple[str, ...], namespace: str, secret_file: str, tls: str | None, as_json: bool
) -> None:
    """Write values and optimiser state after an iteration, the same one on all servers.

    Each server writes a file to its folder (plink hub serve --snapshots); their names are printed.
    """
    from plink.files.outputs import SnapshotPart, Snapshots  # noqa: PLC0415  numpy
    from plink.hub.admin import checkpoint  # noqa: PLC0415  numpy

    saved = checkpoint(servers, read_kept_secret(secret_file), namespace, tls=tls_files(tls))
    text = "\n".join(part.snapshot for part in saved)
    done = Snapshots([SnapshotPart(**vars(part)) for part in saved])
    print_done(text, done, as_json=as_json)
