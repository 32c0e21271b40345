"""`plink hub bounds` and `cost`: link rates that parameter servers need, and costs with them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import click

from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import option
from plink.base.size import parse_size
from plink.cli.json_output import json_option, print_json_line
from plink.cli.options import FiniteRange, SectionedCommand
from plink.cli.request_options import with_request

with lazy_imports():
    from plink.hub import bounds as placement_bounds
    from plink.hub import cost as cost_model
    from plink.hub import networks
    from plink.hub import racks as hub_racks
    from plink.show.terminal import hub, paper


_SERVERS = "Servers on hosts of their own"
_RACKS = "Racks"
_MOST_WORKERS = 1 << 20


@dataclass(frozen=True, kw_only=True)
class BoundsRequest:
    """Options of `plink hub bounds`: a training workload, and links of workers and servers."""

    model: str = option(
        "",
        is_required=True,
        metavar="SIZE|NAME",
        help="Bytes of the model's parameters, such as 390MB, or a network of Luo 2020, Table "
        "6.1: alexnet, vgg11, vgg19, googlenet, inception-v3, resnet18, resnet50, resnet269, "
        "resnext269.",
    )
    iteration_s: float | None = option(
        None,
        "--iteration",
        low=1e-6,
        high=1e6,
        metavar="SECONDS",
        help="Seconds that an iteration computes.  [default: that of a named network, on a GTX "
        "1080 Ti]",
    )
    workers: int = option(2, is_required=True, low=2, high=_MOST_WORKERS, help="Number of workers.")
    link_bits_s: float = option(
        "10gbit", "--link", kind="rate", help="Rate of a worker's link, in one direction."
    )
    servers: int | None = option(
        None,
        low=1,
        high=_MOST_WORKERS,
        section=_SERVERS,
        help="Number of servers that share the model in NCS.  [default: as many as workers]",
    )
    ports: int = option(
        1, low=1, high=4096, section=_SERVERS, help="Number of interfaces of each server."
    )
    port_bits_s: float | None = option(
        None,
        "--port-rate",
        kind="rate",
        section=_SERVERS,
        help="Rate of each interface.  [default: a worker's link]",
    )
    racks: int | None = option(
        None, low=2, high=4096, section=_RACKS, help="Number of equal racks, with a server in each."
    )
    uplink_bits_s: float | None = option(
        None,
        "--uplink",
        kind="rate",
        section=_RACKS,
        help="Rate of a rack's uplink, in one direction.",
    )

    def build_racks(self, server_bits_s: float) -> hub_racks.Racks | None:
        """Return the racks of `--racks` and `--uplink`, each with a server, or None without."""
        if (self.racks is None) != (self.uplink_bits_s is None):
            raise WrongUseError("--racks and --uplink go together", "give both, or neither")
        if self.racks is None or self.uplink_bits_s is None:
            return None
        if self.workers % self.racks:
            raise WrongUseError(
                f"{self.workers} workers cannot be divided evenly among {self.racks} racks",
                "the bound holds for racks of equal size",
            )
        return hub_racks.Racks(
            self.racks,
            self.workers // self.racks,
            self.link_bits_s,
            server_bits_s,
            self.uplink_bits_s,
        )


@click.command(
    cls=SectionedCommand,
    short_help=(
        "Compute the bandwidth that hides a model's communication, with and without servers."
    ),
    epilog="Example: plink hub bounds --model 390MB --iteration 0.35 --workers 8 --link 10gbit. "
    "Example: plink hub bounds --model resnet50 --workers 8 --ports 4 --racks 2 --uplink 20gbit",
)
@with_request(BoundsRequest)
@json_option("Print everything as JSON.")
def bounds(*, request: BoundsRequest, as_json: bool) -> None:
    """Compute the bandwidth that hides a model's communication behind computation.

    Every worker pushes gradients and pulls weights in every iteration. A server is central or
    sharded, and on a worker's host (CC, CS) or on hosts of its own (NCC, NCS). With --racks, it
    says whether a server in each rack pays.
    """
    network, size_bytes = _parse_model(request.model)
    if request.iteration_s is not None:
        network, iteration_s = None, request.iteration_s
    elif network is not None:
        iteration_s = network.iteration_s
    else:
        raise WrongUseError(
            f"--model {request.model} has no known time of an iteration",
            "give it with --iteration SECONDS",
        )
    server_bits_s = request.ports * (request.port_bits_s or request.link_bits_s)
    training = placement_bounds.Training(
        size_bytes,
        iteration_s,
        request.workers,
        request.link_bits_s,
        request.servers or request.workers,
        server_bits_s,
    )
    racks = request.build_racks(server_bits_s)
    found = hub.compute_bounds(request.model, training, racks, network)
    if as_json:
        print_json_line(found)
    else:
        hub.print_bounds(paper.paper(None).console, found)


def _parse_model(text: str) -> tuple[networks.TrainedNetwork | None, int]:
    """Parse `--model`: return a known neural network or None, and its parameters' bytes."""
    network = networks.NETWORKS.get(text.strip().lower())
    if network is not None:
        return network, network.model_bytes
    try:
        return None, parse_size(text)
    except WrongUseError:
        raise WrongUseError(
            f"--model {text!r} is neither a size nor a known neural network",
            f"write a size as 390MB, or one of {', '.join(networks.NETWORKS)}",
        ) from None


_MOST_DOLLARS = 1e9


@dataclass(frozen=True, kw_only=True)
class CostRequest:
    """Options of `plink hub cost`: a worker's GPUs, ports of switch and hub, and throughput."""

    gpus: int = option(4, low=0, high=1024, help="GPUs of a worker.")
    switch_ports: int = option(
        128,
        low=2,
        high=1 << 16,
        help="Ports of a rack's switch, at the rate of workers with a hub.",
    )
    server_ports: int = option(20, low=1, high=1 << 16, help="Ports of a hub.")
    throughput: float = option(
        0.98,
        low=1e-6,
        high=1e6,
        metavar="RATIO",
        help="Throughput of a worker with a hub, relative to one with fast links.",
    )


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
@with_request(CostRequest)
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
@json_option("Print everything as JSON.")
def cost(
    *, request: CostRequest, prices: Sequence[str], factors: Sequence[float], as_json: bool
) -> None:
    """Compare a worker's price with fast links, and with slow links and a parameter server (hub).

    The model is that of the paper's section 6.1.10, with your prices: links of 100 Gbit/s without
    oversubscription against 25 Gbit/s with a hub in every rack. It does not reproduce the paper's
    Table 6.3, which contradicts its own prices.
    """
    deployment = cost_model.Deployment(**vars(request))
    try:
        rows = cost_model.costs(_parse_prices(prices), deployment, tuple(factors))
    except ValueError as error:
        raise WrongUseError(str(error), "raise --switch-ports, or lower --server-ports") from None
    found = cost_model.Costs(rows, cost_model.contradiction())
    if as_json:
        print_json_line(found)
    else:
        hub.print_costs(paper.paper(None).console, found)


def _parse_prices(given: Sequence[str]) -> cost_model.Prices:
    known = {
        field.name.replace("_", "-"): field.name for field in dataclasses.fields(cost_model.Prices)
    }
    found: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in known:
            raise WrongUseError(
                f"--price {text!r} names no part of the cost model",
                f"write NAME=DOLLARS with one of {', '.join(known)}",
            )
        try:
            dollars = float(value)
        except ValueError:
            dollars = math.nan
        if not 0.0 <= dollars <= _MOST_DOLLARS:
            raise WrongUseError(f"--price {text!r} is not a number of dollars up to a billion")
        found[known[name]] = dollars
    return cost_model.Prices(**found)
