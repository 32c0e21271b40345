"""Options that the verbs of `plink hub` share."""

from __future__ import annotations

import click

secret_file = click.option(
    "--secret-file", required=True, metavar="FILE", help="The servers' secret."
)
servers = click.argument("servers", nargs=-1, required=True, metavar="HOST:PORT...")
namespace = click.option(
    "--name", "namespace", default="job", show_default=True, metavar="NAME", help="Of the service."
)
