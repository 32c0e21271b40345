"""`plink hub delete`: end a service."""

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
    short_help="End a service, and notify its workers.",
    epilog="Example: plink hub delete 10.0.0.9:7100 --name job --secret-file hub.secret",
)
@servers
@namespace
@secret_file
@tls
@as_json
def command(
    *, servers: tuple[str, ...], namespace: str, secret_file: str, tls: str | None, as_json: bool
) -> None:
    """End a service on these servers. Values that are in no snapshot are lost.

    It does not wait for an iteration's end, which may never come. Its workers are told that it was
    deleted.
    """
    from plink.files.outputs import DeletedService  # noqa: PLC0415  numpy
    from plink.hub.admin import delete_service  # noqa: PLC0415  numpy

    delete_service(servers, read_kept_secret(secret_file), namespace, tls=tls_files(tls))
    print_done(f"{namespace} has ended", DeletedService(namespace), as_json=as_json)
