"""`plink hub bounds` and `plink hub cost`: what a hub needs, and what it costs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.size import parse_size
from plink.cli.json_output import print_json_line
from plink.cli.options import FiniteRange, RateType, SectionedCommand, make_section_option

with lazy_imports():
    from plink.hub import bounds as placement_bounds
    from plink.hub import cost as cost_model
    from plink.hub import networks
    from plink.hub import racks as hub_racks
    from plink.show.terminal import hub, paper

if TYPE_CHECKING:
    from plink.hub.networks import TrainedNetwork


_servers = make_section_option("Servers on hosts of their own")
_racks = make_section_option("Racks")
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
def bounds(
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
    network, size_bytes = _model(model)
    if iteration_s is None and network is None:
        raise WrongUseError(
            f"--model {model} does not define the time of an iteration",
            "give it with --iteration SECONDS",
        )
    computing_s = iteration_s if iteration_s is not None else network.iteration_s  # type: ignore[union-attr]
    server_bits_s = ports * (link_bits_s if port_bits_s is None else port_bits_s)
    training = placement_bounds.Training(
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
        in_racks = hub_racks.Racks(
            racks, workers // racks, link_bits_s, server_bits_s, uplink_bits_s
        )
    found = hub.compute_bounds(model, training, in_racks, network if iteration_s is None else None)
    if as_json:
        print_json_line(found)
    else:
        hub.print_bounds(paper.paper(None).console, found)


def _model(text: str) -> tuple[TrainedNetwork | None, int]:
    """Return the neural network that a text names, if any, and the bytes of its parameters."""
    network = networks.NETWORKS.get(text.strip().lower())
    if network is not None:
        return network, network.model_bytes
    try:
        return None, parse_size(text)
    except WrongUseError:
        raise WrongUseError(
            f"--model {text!r} is neither a size nor a network that plink knows",
            f"write a size as 390MB, or one of {', '.join(networks.NETWORKS)}",
        ) from None


_MOST_DOLLARS = 1e9


@click.command(
    short_help="Compare the price of fast links with that of a hub and slow links.",
    epilog="Example: plink hub cost --price gpu=25000 --price server=12000 --gpus 8",
)
@click.option(
    "--price",
    "prices",
    metavar="NAME=DOLLARS",
    multiple=True,
    help="Price in dollars of a worker, gpu, fast-nic, fast-port, fast-cable, nic, port, "
    "cable, server or server-nic; may be given more than once.  [default: the paper's, of 2018]",
)
@click.option(
    "--gpus", type=click.IntRange(0, 1024), default=4, show_default=True, help="GPUs of a worker."
)
@click.option(
    "--switch-ports",
    type=click.IntRange(2, 1 << 16),
    default=128,
    show_default=True,
    help="Ports of a rack's switch, at the rate of workers with a hub.",
)
@click.option(
    "--server-ports",
    type=click.IntRange(1, 1 << 16),
    default=20,
    show_default=True,
    help="Ports of a hub.",
)
@click.option(
    "--oversubscription",
    "factors",
    type=FiniteRange(min=1.0, max=1000.0),
    multiple=True,
    default=(1.0, 2.0, 3.0),
    show_default="1, 2 and 3",
    metavar="F",
    help="Oversubscription of the racks' uplinks with a hub; may be given more than once.",
)
@click.option(
    "--throughput",
    type=FiniteRange(min=1e-6, max=1e6),
    default=0.98,
    show_default=True,
    metavar="RATIO",
    help="Throughput of a worker with a hub, relative to one with fast links.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def cost(
    *,
    prices: Sequence[str],
    gpus: int,
    switch_ports: int,
    server_ports: int,
    factors: Sequence[float],
    throughput: float,
    as_json: bool,
) -> None:
    """Compare a worker's cost with fast links and with a hub and slow links.

    The model is that of the paper's section 6.1.10, with your prices: links of 100 Gbit/s without
    oversubscription against 25 Gbit/s with a hub in every rack. It does not reproduce the paper's
    Table 6.3, which contradicts its own prices.
    """
    deployment = cost_model.Deployment(gpus, switch_ports, server_ports, throughput)
    try:
        rows = cost_model.costs(_prices(prices), deployment, tuple(factors))
    except ValueError as error:
        raise WrongUseError(str(error), "raise --switch-ports, or lower --server-ports") from None
    found = cost_model.Costs(rows, cost_model.contradiction())
    if as_json:
        print_json_line(found)
    else:
        hub.print_costs(paper.paper(None).console, found)


def _prices(given: Sequence[str]) -> cost_model.Prices:

    known = {
        field.name.replace("_", "-"): field.name for field in dataclasses.fields(cost_model.Prices)
    }
    found: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in known:
            raise WrongUseError(
                f"--price {text!r} names no part that the model knows",
                f"write NAME=DOLLARS with one of {', '.join(known)}",
            )
        try:
            dollars = float(value)
        except ValueError:
            dollars = math.nan
        if not 0.0 <= dollars <= _MOST_DOLLARS:
            raise WrongUseError(f"--price {text!r} is not a number of dollars from 0")
        found[known[name]] = dollars
    return cost_model.Prices(**found)
