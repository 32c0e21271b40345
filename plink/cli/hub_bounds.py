"""`plink hub bounds`: which placement of servers hides communication behind computation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from plink.base.errors import WrongUseError
from plink.cli.json_output import print_json_line
from plink.cli.options import FiniteRange, RateType, SectionedCommand, options_of

if TYPE_CHECKING:
    from plink.hub.networks import TrainedNetwork

_servers = options_of("Servers on hosts of their own")
_racks = options_of("Racks")
_MOST_WORKERS = 1 << 20


@click.command(
    cls=SectionedCommand,
    short_help=(
        "Compute the bandwidth that hides a model's communication, with and without servers."
    ),
    epilog="Example: plink hub bounds --model 390MB --iteration 0.35 --workers 8 --link 10gbit. "
    "Example: plink hub bounds --model resnet50 --workers 8 --ports 4 --racks 2 --uplink 20gbit",
)
@click.option(
    "--model",
    required=True,
    metavar="SIZE|NAME",
    help="Bytes of the model's parameters, such as 390MB, or a network of Luo 2020, Table "
    "6.1: alexnet, vgg11, vgg19, googlenet, inception-v3, resnet18, resnet50, resnet269, "
    "resnext269.",
)
@click.option(
    "--iteration",
    "iteration_s",
    type=FiniteRange(min=1e-6, max=1e6),
    metavar="SECONDS",
    help=(
        "Seconds that an iteration computes.  [default: that of a named network, on a GTX 1080 Ti]"
    ),
)
@click.option(
    "--workers", type=click.IntRange(2, _MOST_WORKERS), required=True, help="Number of workers."
)
@click.option(
    "--link",
    "link_bits_s",
    type=RateType(),
    default="10gbit",
    show_default=True,
    help="Rate of a worker's link, in one direction.",
)
@_servers(
    "--servers",
    type=click.IntRange(1, _MOST_WORKERS),
    help="Number of servers that share the model in NCS.  [default: as many as workers]",
)
@_servers(
    "--ports",
    type=click.IntRange(1, 4096),
    default=1,
    show_default=True,
    help="Number of interfaces of each server.",
)
@_servers(
    "--port-rate",
    "port_bits_s",
    type=RateType(),
    help="Rate of each interface.  [default: a worker's link]",
)
@_racks(
    "--racks", type=click.IntRange(2, 4096), help="Number of equal racks, with a server in each."
)
@_racks(
    "--uplink", "uplink_bits_s", type=RateType(), help="Rate of a rack's uplink, in one direction."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(
    *,
    model: str,
    iteration_s: float | None,
    workers: int,
    link_bits_s: float,
    servers: int | None,
    ports: int,
    port_bits_s: float | None,
    racks: int | None,
    uplink_bits_s: float | None,
    as_json: bool,
) -> None:
    """Compute the bandwidth that hides a model's communication behind computation.

    Every worker pushes gradients and pulls weights in every iteration. A server is central or
    sharded, and on a worker's host (CC, CS) or on hosts of its own (NCC, NCS). With --racks, it
    says whether a server in each rack pays.
    """
    from plink.hub.bounds import Training  # noqa: PLC0415  as of all verbs
    from plink.hub.racks import Racks  # noqa: PLC0415
    from plink.show.terminal.hub import compute_bounds, print_bounds  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415

    network, size_bytes = _model(model)
    if iteration_s is None and network is None:
        raise WrongUseError(
            f"--model {model} does not define the time of an iteration",
            "give it with --iteration SECONDS",
        )
    computing_s = iteration_s if iteration_s is not None else network.iteration_s  # type: ignore[union-attr]
    server_bits_s = ports * (link_bits_s if port_bits_s is None else port_bits_s)
    training = Training(
        size_bytes, computing_s, workers, link_bits_s, servers or workers, server_bits_s
    )
    if (racks is None) != (uplink_bits_s is None):
        raise WrongUseError("--racks and --uplink go together", "give both, or neither")
    in_racks = None
    if racks is not None and uplink_bits_s is not None:
        if workers % racks:
            raise WrongUseError(
                f"{workers} workers cannot be divided evenly among {racks} racks",
                "the bound holds for racks of equal size",
            )
        in_racks = Racks(racks, workers // racks, link_bits_s, server_bits_s, uplink_bits_s)
    found = compute_bounds(model, training, in_racks, network if iteration_s is None else None)
    if as_json:
        print_json_line(found)
    else:
        print_bounds(paper(None).console, found)


def _model(text: str) -> tuple[TrainedNetwork | None, int]:
    """Return the network that `text` names, if any, and the bytes of the model's parameters."""
    from plink.base.size import parse_size  # noqa: PLC0415
    from plink.hub.networks import NETWORKS  # noqa: PLC0415

    network = NETWORKS.get(text.strip().lower())
    if network is not None:
        return network, network.model_bytes
    try:
        return None, parse_size(text)
    except WrongUseError:
        raise WrongUseError(
            f"--model {text!r} is neither a size nor a network that plink knows",
            f"write a size as 390MB, or one of {', '.join(NETWORKS)}",
        ) from None
