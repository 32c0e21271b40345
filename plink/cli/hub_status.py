"""`plink hub status`: show the state of a server and its services."""

from __future__ import annotations

import click

from plink.base.text import printable
from plink.cli.hub_options import secret_file, tls, tls_files
from plink.cli.json_output import print_json_line
from plink.cli.stderr import read_kept_secret


@click.command(
    short_help="Show the state of a server and its services.",
    epilog="Example: plink hub status 10.0.0.9:7100 --secret-file hub.secret",
)
@click.argument("server", metavar="HOST:PORT")
@secret_file
@tls
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(*, server: str, secret_file: str, tls: str | None, as_json: bool) -> None:
    """Show a server's ports and services: workers, iteration, bytes, and why one has failed."""
    from plink.files.outputs import HubService, HubStatus  # noqa: PLC0415  numpy
    from plink.files.structs import convert  # noqa: PLC0415
    from plink.hub.admin import server_status  # noqa: PLC0415

    status = server_status(server, read_kept_secret(secret_file), tls=tls_files(tls))
    weights = [port.weight for port in status.site.servers[0]]
    services = [convert(service, HubService, "the server's answer") for service in status.services]
    if as_json:
        print_json_line(HubStatus(status.addresses, weights, services))
        return
    shares = [f" ({weight / sum(weights):.0%} of new services)" for weight in weights]
    even = max(weights) == min(weights)
    ports = zip(status.addresses, [""] * len(shares) if even else shares, strict=True)
    click.echo(f"ports: {', '.join(address + share for address, share in ports)}")
    if not services:
        click.echo("no services")
    for service in services:
        click.echo(
            f"{service.namespace}: {service.workers} of {service.wanted_workers} workers, "
            f"iteration {service.iteration}, {service.bytes_in / 1e6:.1f} MB in, "
            f"{service.bytes_out / 1e6:.1f} MB out"
        )
        if service.failure:
            click.echo(f"  failed: {printable(service.failure)}")
