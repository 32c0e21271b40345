"""`plink hub serve`: a server of services."""

from __future__ import annotations

import os

import click

from plink.cli.hub_options import as_json, print_done


@click.command(
    short_help="Aggregate gradients and step the optimiser for jobs, until interrupted.",
    epilog="Example: plink hub serve --listen 10.0.0.9:7100,10.0.1.9:7100 --cores 4 "
    "--secret-file hub.secret",
)
@click.option(
    "--listen",
    required=True,
    metavar="ADDRESS[,ADDRESS...]",
    help="HOST:PORT of each interface; workers call the first, and send data to all.",
)
@click.option("--cores", type=click.IntRange(1, 1024), help="Event loops.  [default: all cores]")
@click.option(
    "--weights", metavar="NUMBER[,NUMBER...]", help="Of the interfaces, such as their rates."
)
@click.option(
    "--secret-file",
    required=True,
    metavar="FILE",
    help="Of whoever makes services; created if the file does not exist.",
)
@click.option("--snapshots", metavar="FOLDER", help="Where snapshots are written to and read from.")
@click.option(
    "--tls",
    metavar="FOLDER",
    help="Talk by TLS alone, with the certificate in this folder (plink plan --certificates).",
)
@click.option("--metrics", metavar="HOST:PORT", help="Serve Prometheus metrics there.")
@as_json
def command(
    *,
    as_json: bool,
    listen: str,
    cores: int | None,
    weights: str | None,
    secret_file: str,
    snapshots: str | None,
    tls: str | None,
    metrics: str | None,
) -> None:
    """Serve jobs whose workers push gradients and get new values.

    Each interface is a port of its own: chunks of the model are spread over all of them. Services
    are made by plink hub create. What is sent is proven, and with --tls encrypted.
    """
    import signal  # noqa: PLC0415
    import threading  # noqa: PLC0415

    from plink.base.errors import WrongUseError  # noqa: PLC0415
    from plink.cli.stderr import note  # noqa: PLC0415
    from plink.hub.serving import Server, ServerOptions  # noqa: PLC0415  numpy: slow `--help`
    from plink.transport.addresses import parse_address  # noqa: PLC0415
    from plink.transport.proofs import make_secret, read_secret  # noqa: PLC0415
    from plink.transport.tls import Tls  # noqa: PLC0415

    try:
        numbers = [float(word) for word in weights.split(",")] if weights else []
    except ValueError:
        raise WrongUseError(f"--weights {weights}: expected numbers") from None
    for address in listen.split(","):
        # Before a secret is made for nothing.
        parse_address(address, "--listen")
    if not os.path.lexists(secret_file):
        make_secret(secret_file)
    if snapshots is not None and not os.path.isdir(snapshots):  # noqa: PTH112
        raise WrongUseError(f"{snapshots}: is no folder")
    options = ServerOptions(
        listen.split(","),
        read_secret(secret_file),
        cores,
        weights=numbers,
        snapshots=snapshots,
        tls=None if tls is None else Tls.of_folder(tls),
        metrics=metrics,
    )
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with Server(options, note) as server:
        text = ",".join(server.addresses)
        print_done(text, {"addresses": server.addresses}, as_json=as_json)
        if tls is None:
            note(
                "serving in the clear: what is sent is proven, and whoever reads the network reads "
                "gradients and values, or changes them; --tls FOLDER encrypts"
            )
        else:
            note("serving by TLS alone")
        if metrics is not None:
            note(f"metrics at http://{server.metrics_address}/metrics")
        while not ended.wait(3600.0):
            continue
