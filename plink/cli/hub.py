"""`plink hub`: servers that aggregate gradients and step the optimiser, and their services."""

from __future__ import annotations

import os
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import click

from plink.base.errors import PlinkError, WrongUseError
from plink.base.interrupts import limit_interrupts_to_waits
from plink.base.lazy import lazy_imports
from plink.base.request import option
from plink.base.text import format_names, printable
from plink.cli import hub_sizing
from plink.cli.json_output import json_option, print_json_line
from plink.cli.options import SectionedCommand, VerbGroup
from plink.cli.request_options import METRICS, SERVER_TLS, with_request
from plink.cli.stderr import (
    host_tls,
    note,
    note_if_others_read,
    read_kept_secret,
    read_or_make_secret,
)
from plink.formats import document

with lazy_imports():
    from plink.formats import outputs, structs
    from plink.formats import plan as plan_file
    from plink.hub import admin, planned, service, serving
    from plink.transport import addresses as transport_addresses
    from plink.transport import proofs
    from plink.transport import tls as transport_tls


_QUOTAS = "What it may take at most"


@click.group(
    cls=VerbGroup,
    no_args_is_help=True,
    epilog="Example: plink hub bounds --model resnet50 --workers 8 --link 10gbit",
)
def command() -> None:
    """Run servers that aggregate gradients and step the optimiser, and compute what they need."""


class Servers(tuple[str, ...]):
    """Addresses of a service's servers in order, and the plan's service if a plan named them."""

    service: planned.PlannedService | None = None


def _parse_servers(_: object, __: object, words: tuple[str, ...]) -> Servers:
    """Parse arguments that name servers: addresses, also with commas, or a plan file."""
    is_address = words[0].rpartition(":")[2].strip().isdigit()
    if len(words) == 1 and not is_address:
        named = _read_service(words[0])
        found = Servers(server.listen()[0] for server in named.servers)
        found.service = named
        return found
    return Servers(part.strip() for word in words for part in word.split(",") if part.strip())


def _read_service(path: str) -> planned.PlannedService:
    """Read the parameter service (servers and workers) that a plan file defines."""
    if path != document.STANDARD_STREAM and not os.path.lexists(path):
        raise WrongUseError(
            f"{path}: is neither an address HOST:PORT nor an existing plan file",
            "write a server as 10.0.0.9:7100; plink plan --servers HOST makes a plan",
        )
    return planned.planned_service(plan_file.read_plan(path, with_servers=True), path)


_servers = click.argument(
    "servers", nargs=-1, required=True, metavar="PLAN|HOST:PORT...", callback=_parse_servers
)
_json = json_option("Print the result as JSON.")


@dataclass(frozen=True, kw_only=True)
class AccessRequest:
    """Options of verbs on a parameter service: its name, the servers' secret, and TLS files."""

    namespace: str = option("job", "--name", metavar="NAME", help="Name of the service.")
    secret_file: str = option(
        "", is_required=True, metavar="FILE", help="File with the servers' secret."
    )
    tls: str | None = option(
        None,
        metavar="FOLDER",
        help="Use TLS with the certificate in this folder (plink plan --certificates).  [default: "
        "the folder that PLINK_TLS names]",
    )

    def read(self) -> tuple[bytes, transport_tls.Tls | None]:
        """Return the servers' secret, and the paths of the TLS files; None without TLS."""
        return read_kept_secret(self.secret_file), host_tls(self.tls)


_access = with_request(AccessRequest, passed_as="access")


def _print_done(text: str, done: structs.Output, *, as_json: bool) -> None:
    """Print what a verb of `plink hub` has done, as text or JSON."""
    if as_json:
        print_json_line(done)
    else:
        click.echo(text)


@dataclass(frozen=True, kw_only=True)
class ServeRequest:
    """Options of `plink hub serve`: addresses, cores, secret, snapshots, TLS and metrics."""

    host: str | None = option(None, metavar="NAME", help="Host of the plan whose server this is.")
    listen: str | None = option(
        None,
        metavar="ADDRESS[,ADDRESS...]",
        help="HOST:PORT of each interface; workers connect to the first, and send data to all.",
    )
    cores: int | None = option(
        None, low=1, high=1024, help="Number of event loops.  [default: all cores]"
    )
    weights: str | None = option(
        None, metavar="NUMBER[,NUMBER...]", help="Weights of the interfaces, such as their rates."
    )
    secret_file: str = option(
        "",
        is_required=True,
        metavar="FILE",
        help="File with the secret for creating services; created if it does not exist.",
    )
    snapshots: str | None = option(
        None, metavar="FOLDER", help="Folder for writing and reading snapshots."
    )
    tls: str | None = SERVER_TLS
    metrics: str | None = METRICS

    def list_addresses(self, plan: str | None) -> tuple[list[str], list[float]]:
        """Return a server's addresses, and their traffic weights: none if they are equal."""
        if (plan is None) == (self.listen is None) or (plan is not None and self.weights):
            raise WrongUseError(
                "a server needs addresses, from --listen or from a plan, which also sets weights",
                "plink hub serve --listen 10.0.0.9:7100, or plink hub serve plan.json --host NAME",
            )
        if plan is not None:
            server = _read_service(plan).server(self.host or socket.gethostname(), plan)
            return server.listen(), list(server.weights)
        try:
            weights = [float(word) for word in self.weights.split(",")] if self.weights else []
        except ValueError:
            raise WrongUseError(
                f"--weights {self.weights}: expected comma-separated numbers"
            ) from None
        return [address.strip() for address in (self.listen or "").split(",")], weights


@command.command(
    short_help="Aggregate gradients and step the optimiser for jobs, until interrupted.",
    epilog="Example: plink hub serve --listen 10.0.0.9:7100,10.0.1.9:7100 --cores 4 "
    "--secret-file hub.secret. Example: plink hub serve plan.json --host box "
    "--secret-file hub.secret",
)
@click.argument("plan", metavar="PLAN", required=False)
@with_request(ServeRequest)
@_json
def serve(*, plan: str | None, request: ServeRequest, as_json: bool) -> None:
    """Run a parameter server for jobs whose workers push gradients and pull new values.

    Where it listens is told, or is that of a host's server in a plan with servers.

    Each interface is a port of its own: chunks of the model are spread over all of them. Services
    are made by plink hub create. What is sent is proven, and with --tls encrypted.
    """
    addresses, weights = request.list_addresses(plan)
    for address in addresses:
        # Before a secret is made for nothing.
        transport_addresses.parse_address(address, "--listen")
    secret = read_or_make_secret(request.secret_file)
    folder = request.snapshots
    if folder is not None and not os.path.isdir(folder):  # noqa: PTH112
        raise WrongUseError(f"{folder}: is not a folder for snapshots", "create it first")
    files = None if request.tls is None else transport_tls.Tls.of_folder(request.tls)
    if files is not None:
        note_if_others_read(files.for_host().key)
    options = serving.ServerOptions(
        addresses,
        secret,
        request.cores,
        weights=weights,
        snapshots=folder,
        tls=files,
        metrics=request.metrics,
    )
    with limit_interrupts_to_waits() as wait, serving.Server(options, note) as server:
        done = outputs.HubAddresses(server.addresses)
        _print_done(",".join(server.addresses), done, as_json=as_json)
        note(
            "serving with TLS only"
            if files is not None
            else "serving without encryption: peers are authenticated, but others on the network "
            "can read and change the data; --tls FOLDER encrypts"
        )
        if request.metrics is not None:
            note(f"serving metrics at http://{server.metrics_address}/metrics")
        is_asked_to_end = wait() == signal.SIGTERM
    if not is_asked_to_end:
        raise KeyboardInterrupt


@dataclass(frozen=True, kw_only=True)
class ServiceRequest:
    """Options of `plink hub create`: workers, optimizer, synchronisation, lost workers, quotas."""

    workers: int | None = option(
        None,
        low=1,
        high=4096,
        help="Number of workers that contribute.  [default: the plan's; required without one]",
    )
    worker_secret_file: str = option(
        "",
        is_required=True,
        metavar="FILE",
        help="File to write the service's own secret to, which workers need.",
    )
    optimizer: Literal["none", "sgd", "momentum", "adam", "adamw"] = option(
        "sgd",
        help="Optimizer of the service; momentum: SGD with momentum, in Nesterov's form if workers "
        "request it.",
    )
    mode: Literal["sync", "async", "ssp"] = option(
        "sync", help="Synchronisation; ssp: no worker is more than --staleness iterations ahead."
    )
    staleness: int = option(
        0,
        low=0,
        high=1 << 20,
        shows_default=False,
        help="With --mode ssp: iterations that a worker may be ahead.",
    )
    commit: Literal["stream", "step"] = option(
        "stream",
        help="When gradients are applied; step: only after all gradients of the iteration have "
        "arrived.",
    )
    clip_norm: float | None = option(
        None, low=0.0, is_above_low=True, help="With --commit step: largest norm of the gradients."
    )
    skip_nonfinite: bool = option(
        False, help="With --commit step: skip steps with gradients that are not finite."
    )
    deterministic: bool = option(False, help="Add contributions in a fixed order.")
    on_loss: Literal["fail", "wait", "shrink"] = option(
        "fail", help="Reaction to the loss of a worker."
    )
    grace_s: float = option(
        0.0,
        "--grace",
        low=0.0,
        shows_default=False,
        help="With --on-loss wait: seconds to wait for the worker.",
    )
    wire: Literal["float32", "bfloat16", "float16", "int8"] = option(
        "float32", help="Number type in which gradients are sent."
    )
    weight: float = option(
        1.0,
        low=0.0,
        is_above_low=True,
        help="Weight of this service against others on the same server.",
    )
    most_bytes: int | str = option(
        "64GiB",
        kind="size",
        section=_QUOTAS,
        help="Most bytes of sums, values, optimiser state and queued data.",
    )
    most_workers: int = option(
        4096, low=1, high=4096, section=_QUOTAS, help="Most workers at the same time."
    )
    most_connections: int = option(
        1 << 16,
        low=1,
        high=1 << 20,
        section=_QUOTAS,
        help="Most data connections of all workers; each worker has one to every core of every "
        "port.",
    )

    def build(self, namespace: str, workers: int) -> service.ServiceOptions:
        """Convert the options to those of a service with a namespace and a number of workers."""
        own = ("workers", "worker_secret_file", "most_bytes", "most_workers", "most_connections")
        options = {name: value for name, value in vars(self).items() if name not in own}
        quotas = service.Quotas(int(self.most_bytes), self.most_workers, self.most_connections)
        return service.ServiceOptions(namespace, workers, **options, quotas=quotas)


@command.command(
    cls=SectionedCommand,
    short_help="Create a service for a job, on one server or several.",
    epilog="Example: plink hub create 10.0.0.9:7100 --workers 8 --optimizer adamw "
    "--secret-file hub.secret --worker-secret-file job.secret",
)
@_servers
@_access
@_json
@with_request(ServiceRequest)
def create(
    *, servers: Servers, access: AccessRequest, as_json: bool, request: ServiceRequest
) -> None:
    """Create a parameter service on these servers, listed in the order that workers will use.

    A plan with servers names them and how many workers there are; where it has a server in each
    rack, workers call that of their own.

    The first worker that connects says which parameters there are. Workers need the servers'
    addresses, the service's name and its secret.
    """
    (secret, files), namespace = access.read(), access.namespace
    plan = servers.service
    racks = plan.racks if plan else ()
    if racks and request.workers is not None:
        raise WrongUseError(
            "--workers cannot override the number of workers in a plan with a server in each rack",
            "leave out --workers: the plan defines it",
        )
    workers = request.workers or (plan.workers if plan else None)
    if workers is None:
        raise WrongUseError("the number of workers is missing", "give --workers N, or a plan file")
    target = request.worker_secret_file
    if os.path.lexists(target):
        raise WrongUseError(
            f"{target}: the file for the secret exists already",
            "every service has a new secret: name another file, or remove that one",
        )
    wanted = request.build(namespace, workers)
    if racks:
        counts = [len(hosts) for hosts in racks]
        made = admin.create_service_of_racks(servers, secret, wanted, workers=counts, tls=files)
    else:
        made = admin.create_service(servers, secret, wanted, tls=files)
    try:
        proofs.make_secret(target, made)
    except BaseException:
        with suppress(PlinkError):
            admin.delete_service(servers, secret, namespace, tls=files)
        raise
    _print_done(target, outputs.CreatedService(namespace, target), as_json=as_json)
    for hosts, server in zip(racks, servers, strict=False):
        note(f"workers on {format_names(list(dict.fromkeys(hosts)))} connect to {server}")
    if not racks:
        note(f"workers connect to {','.join(servers)}")


@command.command(
    short_help="Show the state of a server and its services.",
    epilog="Example: plink hub status 10.0.0.9:7100 --secret-file hub.secret",
)
@click.argument("server", metavar="HOST:PORT")
@with_request(AccessRequest, "secret_file", "tls", passed_as="access")
@json_option("Print everything as JSON.")
def status(*, server: str, access: AccessRequest, as_json: bool) -> None:
    """Show a server's ports and services: workers, iteration, bytes, and why one has failed."""
    secret, files = access.read()
    state = admin.server_status(server, secret, tls=files)
    weights = [port.weight for port in state.site.servers[0]]
    if as_json:
        print_json_line(outputs.HubStatus(state.addresses, weights, state.services))
        return
    shares = [f" ({weight / sum(weights):.0%} of new services)" for weight in weights]
    even = max(weights) == min(weights)
    ports = zip(state.addresses, [""] * len(shares) if even else shares, strict=True)
    click.echo(f"ports: {', '.join(address + share for address, share in ports)}")
    if not state.services:
        click.echo("no services")
    for each in state.services:
        click.echo(
            f"{each.namespace}: {each.workers} of {each.wanted_workers} workers, "
            f"iteration {each.iteration}, {each.bytes_in / 1e6:.1f} MB in, "
            f"{each.bytes_out / 1e6:.1f} MB out"
        )
        if each.failure:
            click.echo(f"  failed: {printable(each.failure)}")


@command.command(
    short_help="Write a snapshot of a service while its workers continue.",
    epilog="Example: plink hub checkpoint 10.0.0.9:7100 --name job --secret-file hub.secret",
)
@_servers
@_access
@_json
def checkpoint(*, servers: Servers, access: AccessRequest, as_json: bool) -> None:
    """Write values and optimiser state after an iteration, the same one on all servers.

    Each server writes a file to its folder (plink hub serve --snapshots); their names are printed.
    """
    secret, files = access.read()
    saved = admin.checkpoint(servers, secret, access.namespace, tls=files)
    text = "\n".join(part.snapshot for part in saved)
    parts = [
        outputs.SnapshotPart(part.snapshot, part.iteration, part.sha256, part.size_bytes)
        for part in saved
    ]
    _print_done(text, outputs.Snapshots(parts), as_json=as_json)


@command.command(
    short_help="Restore a new service from a snapshot.",
    epilog="Example: plink hub restore 10.0.0.9:7100 --name job --snapshot job-1200 "
    "--secret-file hub.secret",
)
@_servers
@_access
@_json
@click.option(
    "--snapshot",
    required=True,
    metavar="NAME",
    help="Prefix of the snapshot's file names; each server's folder must hold all of the files.",
)
def restore(*, servers: Servers, access: AccessRequest, snapshot: str, as_json: bool) -> None:
    """Restore a service that no worker has joined yet from a snapshot.

    It may have other servers, ports and cores than the one that wrote it.
    """
    (secret, files), namespace = access.read(), access.namespace
    admin.restore(servers, secret, namespace, snapshot, tls=files)
    done = outputs.RestoredService(namespace, snapshot)
    _print_done(f"{namespace} goes on from {snapshot}", done, as_json=as_json)


@command.command(
    short_help="End a service, and notify its workers.",
    epilog="Example: plink hub delete 10.0.0.9:7100 --name job --secret-file hub.secret",
)
@_servers
@_access
@_json
def delete(*, servers: Servers, access: AccessRequest, as_json: bool) -> None:
    """End a service on these servers. Values that are in no snapshot are lost.

    It does not wait for an iteration's end, which may never come. Its workers are told that it was
    deleted.
    """
    (secret, files), namespace = access.read(), access.namespace
    admin.delete_service(servers, secret, namespace, tls=files)
    _print_done(f"{namespace} has ended", outputs.DeletedService(namespace), as_json=as_json)


for _verb in (hub_sizing.bounds, hub_sizing.cost):
    command.add_command(_verb)
