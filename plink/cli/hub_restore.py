"""`plink hub restore`: restore a service from a snapshot."""

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
    short_help="Restore a new service from a snapshot.",
    epilog="Example: plink hub restore 10.0.0.9:7100 --name job --snapshot job-1200 "
    "--secret-file hub.secret",
)
@servers
@namespace
@secret_file
@tls
@as_json
@click.option(
    "--snapshot",
    required=True,
    metavar="NAME",
    help="Prefix of the snapshot's file names; each server's folder must hold all of the files.",
)
def command(
    *,
    servers: tuple[str, ...],
    namespace: str,
    secret_file: str,
    tls: str | None,
    snapshot: str,
    as_json: bool,
) -> None:
    """Restore a service that no worker has joined yet from a snapshot.

    It may have other servers, ports and cores than the one that wrote it.
    """
    from plink.files.outputs import RestoredService  # noqa: PLC0415  numpy
    from plink.hub.admin import restore  # noqa: PLC0415  numpy

    restore(servers, read_kept_secret(secret_file), namespace, snapshot, tls=tls_files(tls))
    done = RestoredService(namespace, snapshot)
    print_done(f"{namespace} goes on from {snapshot}", done, as_json=as_json)
