"""Options shared by the verbs of `plink hub`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.cli.json_output import print_json_line
from plink.cli.stderr import note_if_others_read
from plink.formats import document

with lazy_imports():
    from plink.formats import plan as plan_file
    from plink.hub import planned
    from plink.transport import tls as transport_tls

if TYPE_CHECKING:
    from plink.formats.structs import Output
    from plink.hub.planned import PlannedService

secret_file = click.option(
    "--secret-file", required=True, metavar="FILE", help="File with the servers' secret."
)


class Servers(tuple[str, ...]):
    """Servers' addresses in order, and the service of the plan that names them, if any."""

    service: PlannedService | None = None


def _servers(_: object, __: object, words: tuple[str, ...]) -> Servers:
    """Return the servers that options name: addresses, comma-separated ones, or a plan's."""
    if len(words) == 1 and not is_address(words[0]):
        service = read_service(words[0])
        found = Servers(server.listen()[0] for server in service.servers)
        found.service = service
        return found
    return Servers(part.strip() for word in words for part in word.split(",") if part.strip())


def is_address(word: str) -> bool:
    """Return whether a word is HOST:PORT or a comma-separated list of them, not a file."""
    return word.rpartition(":")[2].strip().isdigit()


def read_service(path: str) -> PlannedService:
    """Return the parameter service that a plan file defines.

    Raises:
        WrongUseError: no plan, or one that no service can be made of.
    """
    if path != document.STANDARD_STREAM and not os.path.lexists(path):
        raise WrongUseError(
            f"{path}: is neither HOST:PORT nor a plan file",
            "write a server as 10.0.0.9:7100; plink plan --servers HOST makes a plan",
        )
    return planned.planned_service(plan_file.read_plan(path, with_servers=True), path)


servers = click.argument(
    "servers", nargs=-1, required=True, metavar="PLAN|HOST:PORT...", callback=_servers
)
namespace = click.option(
    "--name",
    "namespace",
    default="job",
    show_default=True,
    metavar="NAME",
    help="Name of the service.",
)
tls = click.option(
    "--tls",
    metavar="FOLDER",
    help="Use TLS with the certificate in this folder (plink plan --certificates).  [default: "
    "the folder that PLINK_TLS names]",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def tls_files(folder: str | None) -> transport_tls.Tls | None:
    """Return the paths of this process's TLS files; None without TLS.

    Raises:
        WrongUseError: one cannot be read.
    """
    files = (
        transport_tls.tls_of(os.environ) if folder is None else transport_tls.Tls.of_folder(folder)
    )
    if files is None:
        return None
    of_host = files.for_host()
    note_if_others_read(of_host.key)
    return of_host


def print_done(text: str, done: Output, *, as_json: bool) -> None:
    """Print what a verb of `plink hub` has done, as text or JSON."""
    if as_json:
        print_json_line(done)
    else:
        click.echo(text)
