"""`plink hub create`, `status`, `checkpoint`, `restore`, `delete`: services on running servers."""

from __future__ import annotations

import os
from typing import Any

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.text import format_names, printable
from plink.cli.hub_options import (
    Servers,
    as_json,
    namespace,
    print_done,
    secret_file,
    servers,
    tls,
    tls_files,
)
from plink.cli.json_output import print_json_line
from plink.cli.options import FiniteRange, SectionedCommand, SizeType, make_section_option
from plink.cli.stderr import note, read_kept_secret

with lazy_imports():
    from plink.formats import outputs, structs
    from plink.hub import admin, service
    from plink.transport import proofs


_quotas = make_section_option("What it may take at most")


@click.command(
    cls=SectionedCommand,
    short_help="Create a service for a job, on one server or several.",
    epilog="Example: plink hub create 10.0.0.9:7100 --workers 8 --optimizer adamw "
    "--secret-file hub.secret --worker-secret-file job.secret",
)
@servers
@namespace
@secret_file
@tls
@as_json
@click.option(
    "--workers",
    type=click.IntRange(1, 4096),
    help="Number of workers that contribute.  [default: the plan's; required without one]",
)
@click.option(
    "--worker-secret-file",
    required=True,
    metavar="FILE",
    help="File to write the service's own secret to, which workers need.",
)
@click.option(
    "--optimizer",
    type=click.Choice(["none", "sgd", "momentum", "adam", "adamw"]),
    default="sgd",
    show_default=True,
    help=(
        "Optimizer of the service; momentum: SGD with momentum, in Nesterov's form if workers "
        "request it."
    ),
)
@click.option(
    "--mode",
    type=click.Choice(["sync", "async", "ssp"]),
    default="sync",
    show_default=True,
    help="Synchronisation; ssp: no worker is more than --staleness iterations ahead.",
)
@click.option(
    "--staleness",
    type=click.IntRange(0, 1 << 20),
    default=0,
    help="With --mode ssp: iterations that a worker may be ahead.",
)
@click.option(
    "--commit",
    type=click.Choice(["stream", "step"]),
    default="stream",
    show_default=True,
    help=(
        "When gradients are applied; step: only after all gradients of the iteration have arrived."
    ),
)
@click.option(
    "--clip-norm",
    type=FiniteRange(min=0.0, min_open=True),
    help="With --commit step: largest norm of the gradients.",
)
@click.option(
    "--skip-nonfinite",
    is_flag=True,
    help="With --commit step: skip steps with gradients that are not finite.",
)
@click.option("--deterministic", is_flag=True, help="Add contributions in a fixed order.")
@click.option(
    "--on-loss",
    type=click.Choice(["fail", "wait", "shrink"]),
    default="fail",
    show_default=True,
    help="Reaction to the loss of a worker.",
)
@click.option(
    "--grace",
    "grace_s",
    type=FiniteRange(min=0.0),
    default=0.0,
    help="With --on-loss wait: seconds to wait for the worker.",
)
@click.option(
    "--wire",
    type=click.Choice(["float32", "bfloat16", "float16", "int8"]),
    default="float32",
    show_default=True,
    help="Number type in which gradients are sent.",
)
@click.option(
    "--weight",
    type=FiniteRange(min=0.0, min_open=True),
    default=1.0,
    show_default=True,
    help="Weight of this service against others on the same server.",
)
@_quotas(
    "--most-bytes",
    type=SizeType(),
    default="64GiB",
    show_default=True,
    help="Most bytes of sums, values, optimiser state and queued data.",
)
@_quotas(
    "--most-workers",
    type=click.IntRange(1, 4096),
    default=4096,
    show_default=True,
    help="Most workers at the same time.",
)
@_quotas(
    "--most-connections",
    type=click.IntRange(1, 1 << 20),
    default=1 << 16,
    show_default=True,
    help="Most data connections of all workers; each worker has one to every core of every port.",
)
def create(
    *,
    servers: Servers,
    workers: int | None,
    secret_file: str,
    tls: str | None,
    worker_secret_file: str,
    as_json: bool,
    most_bytes: int,
    most_workers: int,
    most_connections: int,
    **options: Any,
) -> None:
    """Create a service on these servers, listed in the order that workers will use.

    A plan with servers names them and how many workers there are; where it has a server in each
    rack, workers call that of their own.

    The first worker that connects says which parameters there are. Workers need the servers'
    addresses, the service's name and its secret.
    """
    planned = servers.service
    racks = planned.racks if planned else ()
    if racks and workers is not None:
        raise WrongUseError(
            "--workers cannot override the number of workers in a plan with a server in each rack",
            "leave out --workers: the plan defines it",
        )
    workers = workers or (planned.workers if planned else None)
    if workers is None:
        raise WrongUseError("--workers is missing", "give --workers N, or a plan, which defines it")
    if os.path.lexists(worker_secret_file):
        raise WrongUseError(
            f"{worker_secret_file}: exists already",
            "every service has a new secret: name another file, or remove that one",
        )
    secret, files = read_kept_secret(secret_file), tls_files(tls)
    quotas = service.Quotas(most_bytes, most_workers, most_connections)
    wanted = service.ServiceOptions(workers=workers, **options, quotas=quotas)
    if racks:
        counts = [len(hosts) for hosts in racks]
        made = admin.create_service_of_racks(servers, secret, wanted, workers=counts, tls=files)
    else:
        made = admin.create_service(servers, secret, wanted, tls=files)
    try:
        proofs.make_secret(worker_secret_file, made)
    except BaseException:
        admin.delete_service(servers, secret, options["namespace"], tls=files)
        raise
    done = outputs.CreatedService(options["namespace"], worker_secret_file)
    print_done(worker_secret_file, done, as_json=as_json)
    for hosts, server in zip(racks, servers, strict=False):
        note(f"workers on {format_names(list(dict.fromkeys(hosts)))} call {server}")
    if not racks:
        note(f"workers call {','.join(servers)}")


@click.command(
    short_help="Show the state of a server and its services.",
    epilog="Example: plink hub status 10.0.0.9:7100 --secret-file hub.secret",
)
@click.argument("server", metavar="HOST:PORT")
@secret_file
@tls
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def status(*, server: str, secret_file: str, tls: str | None, as_json: bool) -> None:
    """Show a server's ports and services: workers, iteration, bytes, and why one has failed."""
    status = admin.server_status(server, read_kept_secret(secret_file), tls=tls_files(tls))
    weights = [port.weight for port in status.site.servers[0]]
    services = [
        structs.convert(service, outputs.HubService, "the server's answer")
        for service in status.services
    ]
    if as_json:
        print_json_line(outputs.HubStatus(status.addresses, weights, services))
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


@click.command(
    short_help="Write a snapshot of a service while its workers continue.",
    epilog="Example: plink hub checkpoint 10.0.0.9:7100 --name job --secret-file hub.secret",
)
@servers
@namespace
@secret_file
@tls
@as_json
def checkpoint(
    *, servers: tuple[str, ...], namespace: str, secret_file: str, tls: str | None, as_json: bool
) -> None:
    """Write values and optimiser state after an iteration, the same one on all servers.

    Each server writes a file to its folder (plink hub serve --snapshots); their names are printed.
    """
    saved = admin.checkpoint(servers, read_kept_secret(secret_file), namespace, tls=tls_files(tls))
    text = "\n".join(part.snapshot for part in saved)
    done = outputs.Snapshots([outputs.SnapshotPart(**vars(part)) for part in saved])
    print_done(text, done, as_json=as_json)


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
def restore(
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
    admin.restore(servers, read_kept_secret(secret_file), namespace, snapshot, tls=tls_files(tls))
    done = outputs.RestoredService(namespace, snapshot)
    print_done(f"{namespace} goes on from {snapshot}", done, as_json=as_json)


@click.command(
    short_help="End a service, and notify its workers.",
    epilog="Example: plink hub delete 10.0.0.9:7100 --name job --secret-file hub.secret",
)
@servers
@namespace
@secret_file
@tls
@as_json
def delete(
    *, servers: tuple[str, ...], namespace: str, secret_file: str, tls: str | None, as_json: bool
) -> None:
    """End a service on these servers. Values that are in no snapshot are lost.

    It does not wait for an iteration's end, which may never come. Its workers are told that it was
    deleted.
    """
    admin.delete_service(servers, read_kept_secret(secret_file), namespace, tls=tls_files(tls))
    print_done(f"{namespace} has ended", outputs.DeletedService(namespace), as_json=as_json)
