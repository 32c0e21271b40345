"""`plink hub status`: how a server and its services are doing."""

from __future__ import annotations

import click

from plink.cli.hub_options import secret_file, tls, tls_files


@click.command(
    short_help="Show how a server and its services are doing.",
    epilog="Example: plink hub status 10.0.0.9:7100 --secret-file hub.secret",
)
@click.argument("server", metavar="HOST:PORT")
@secret_file
@tls
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(*, server: str, secret_file: str, tls: str | None, as_json: bool) -> None:
    """Show a server's ports and services: workers, iteration, bytes, and why one has failed."""
    from plink.base.text import json_text, printable  # noqa: PLC0415
    from plink.hub.admin import server_status  # noqa: PLC0415  numpy
    from plink.transport.proofs import read_secret  # noqa: PLC0415

    status = server_status(server, read_secret(secret_file), tls=tls_files(tls))
    if as_json:
        found = {"addresses": list(status.addresses), "services": list(status.services)}
        click.echo(json_text(found))
        return
    click.echo(f"ports: {', '.join(status.addresses)}")
    if not status.services:
        click.echo("no services")
    for service in status.services:
        click.echo(
            f"{service['namespace']}: {service['workers']} of {service['wanted_workers']} workers, "
            f"iteration {service['iteration']}, {service['bytes_in'] / 1e6:.1f} MB in, "
            f"{service['bytes_out'] / 1e6:.1f} MB out"
        )
        if service["failure"]:
            click.echo(f"  failed: {printable(str(service['failure']))}")
