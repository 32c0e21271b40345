"""`plink hub serve`: run a server of parameter services."""

from __future__ import annotations

import os
import signal
import socket

import click

from plink.base.errors import WrongUseError
from plink.base.interrupts import limit_interrupts_to_waits
from plink.base.lazy import lazy_imports
from plink.cli.hub_options import as_json, print_done, read_service
from plink.cli.stderr import note, note_if_others_read

with lazy_imports():
    from plink.formats import outputs
    from plink.hub import serving
    from plink.transport import addresses as transport_addresses
    from plink.transport import proofs
    from plink.transport import tls as transport_tls


@click.command(
    short_help="Aggregate gradients and step the optimiser for jobs, until interrupted.",
    epilog="Example: plink hub serve --listen 10.0.0.9:7100,10.0.1.9:7100 --cores 4 "
    "--secret-file hub.secret. Example: plink hub serve plan.json --host box "
    "--secret-file hub.secret",
)
@click.argument("plan", metavar="PLAN", required=False)
@click.option("--host", metavar="NAME", help="Host of the plan whose server this is.")
@click.option(
    "--listen",
    metavar="ADDRESS[,ADDRESS...]",
    help="HOST:PORT of each interface; workers connect to the first, and send data to all.",
)
@click.option(
    "--cores", type=click.IntRange(1, 1024), help="Number of event loops.  [default: all cores]"
)
@click.option(
    "--weights",
    metavar="NUMBER[,NUMBER...]",
    help="Weights of the interfaces, such as their rates.",
)
@click.option(
    "--secret-file",
    required=True,
    metavar="FILE",
    help="File with the secret for creating services; created if it does not exist.",
)
@click.option("--snapshots", metavar="FOLDER", help="Folder for writing and reading snapshots.")
@click.option(
    "--tls",
    metavar="FOLDER",
    help="Use TLS only, with the certificate in this folder (plink plan --certificates).",
)
@click.option(
    "--metrics", metavar="HOST:PORT", help="Address at which to serve Prometheus metrics."
)
@as_json
def serve(
    *,
    as_json: bool,
    plan: str | None,
    host: str | None,
    listen: str | None,
    cores: int | None,
    weights: str | None,
    secret_file: str,
    snapshots: str | None,
    tls: str | None,
    metrics: str | None,
) -> None:
    """Serve jobs whose workers push gradients and pull new values.

    Where it listens is told, or is that of a host's server in a plan with servers.

    Each interface is a port of its own: chunks of the model are spread over all of them. Services
    are made by plink hub create. What is sent is proven, and with --tls encrypted.
    """
    if (plan is None) == (listen is None) or (plan is not None and weights is not None):
        raise WrongUseError(
            "a server needs addresses, from --listen or from a plan",
            "plink hub serve --listen 10.0.0.9:7100, or plink hub serve plan.json --host NAME",
        )
    if plan is not None:
        its = read_service(plan).server(host or socket.gethostname(), plan)
        addresses, numbers = its.listen(), list(its.weights)
    else:
        addresses, numbers = _parse_addresses(listen or "", weights)
    for address in addresses:
        # Before a secret is made for nothing.
        transport_addresses.parse_address(address, "--listen")
    if os.path.lexists(secret_file):
        note_if_others_read(secret_file)
    else:
        proofs.make_secret(secret_file)
    if snapshots is not None and not os.path.isdir(snapshots):  # noqa: PTH112
        raise WrongUseError(f"{snapshots}: is not a folder", "create the folder first")
    files = None if tls is None else transport_tls.Tls.of_folder(tls)
    if files is not None:
        note_if_others_read(files.for_host().key)
    options = serving.ServerOptions(
        addresses,
        proofs.read_secret(secret_file),
        cores,
        weights=numbers,
        snapshots=snapshots,
        tls=files,
        metrics=metrics,
    )
    with limit_interrupts_to_waits() as wait, serving.Server(options, note) as server:
        text = ",".join(server.addresses)
        print_done(text, outputs.HubAddresses(server.addresses), as_json=as_json)
        if tls is None:
            note(
                "serving without encryption: peers are authenticated, but others on the network "
                "can "
                "read and change the data; --tls FOLDER encrypts"
            )
        else:
            note("serving with TLS only")
        if metrics is not None:
            note(f"metrics at http://{server.metrics_address}/metrics")
        is_asked_to_end = wait() == signal.SIGTERM
    if not is_asked_to_end:
        raise KeyboardInterrupt


def _parse_addresses(listen: str, weights: str | None) -> tuple[list[str], list[float]]:
    """Return the server's addresses with their weights; no weights if they are equal."""
    try:
        numbers = [float(word) for word in weights.split(",")] if weights else []
    except ValueError:
        raise WrongUseError(f"--weights {weights}: expected comma-separated numbers") from None
    return [address.strip() for address in listen.split(",")], numbers
