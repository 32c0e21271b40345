"""`plink hub cost`: compare the cost of workers with fast links and with a hub."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from plink.base.errors import WrongUseError
from plink.cli.json_output import print_json_line
from plink.cli.options import FiniteRange

if TYPE_CHECKING:
    from plink.hub.cost import Prices

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
def command(
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
    from plink.hub.cost import Costs, Deployment, contradiction, costs  # noqa: PLC0415  as of all verbs
    from plink.show.terminal.hub import print_costs  # noqa: PLC0415
    from plink.show.terminal.paper import paper  # noqa: PLC0415

    deployment = Deployment(gpus, switch_ports, server_ports, throughput)
    try:
        rows = costs(_prices(prices), deployment, tuple(factors))
    except ValueError as error:
        raise WrongUseError(str(error), "raise --switch-ports, or lower --server-ports") from None
    found = Costs(rows, contradiction())
    if as_json:
        print_json_line(found)
    else:
        print_costs(paper(None).console, found)


def _prices(given: Sequence[str]) -> Prices:
    from plink.hub.cost import Prices  # noqa: PLC0415

    known = {field.name.replace("_", "-"): field.name for field in dataclasses.fields(Prices)}
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
    return Prices(**found)
