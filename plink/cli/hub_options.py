"""Options that the verbs of `plink hub` share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from plink.transport.tls import Tls

secret_file = click.option(
    "--secret-file", required=True, metavar="FILE", help="The servers' secret."
)
servers = click.argument("servers", nargs=-1, required=True, metavar="HOST:PORT...")
namespace = click.option(
    "--name", "namespace", default="job", show_default=True, metavar="NAME", help="Of the service."
)
tls = click.option(
    "--tls",
    metavar="FOLDER",
    help="Call by TLS, with the certificate that plink plan --certificates made.  "
    "[default: what PLINK_TLS names]",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")


def tls_files(folder: str | None) -> Tls | None:
    """This end's files, where there is to be TLS.

    Raises:
        WrongUseError: one cannot be read.
    """
    from plink.transport.tls import Tls, tls_of  # noqa: PLC0415

    files = tls_of(os.environ) if folder is None else Tls.of_folder(folder)
    return files.for_host() if files else None


def print_done(text: str, done: object, *, as_json: bool) -> None:
    """What a verb has done, for people or as JSON."""
    from plink.base.text import json_text  # noqa: PLC0415  numpy would slow `--help`

    click.echo(json_text(done) if as_json else text)
