"""Cost of a worker with fast links or with a hub: the cost model of Luo 2020, §6.1.10.

A calculator with the user's prices. It does not reproduce Table 6.3, which contradicts the text
beside it: `contradiction` says by how much.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from plink.formats.limits import Amount, Positive, constrain_to_words
from plink.formats.structs import Output

# Of the table: throughput per $1000 with today's cheap GPUs and with dear ones; the same
# throughput at two prices, whose difference gives away what costs must have been.
_PRINTED_BASELINE = (46.11, 14.57)
_PRINTED_HUB = (55.19, 15.30)


@dataclass(frozen=True)
class Prices:
    """Prices in dollars; the defaults are those that the paper names.

    Args:
        worker: a worker without GPUs and network.
        gpu: one.
        fast_nic, fast_port, fast_cable: of a worker in the baseline, a port each.
        nic, port, cable: of a worker with a hub.
        server: of a hub without its interfaces.
        server_nic: of one of its ports.
    """

    worker: float = 4117.0
    gpu: float = 699.0
    fast_nic: float = 795.0
    fast_port: float = 21077.0 / 32
    fast_cable: float = 94.0
    nic: float = 260.0
    port: float = 21077.0 / 128
    cable: float = 31.25
    server: float = 8407.0
    server_nic: float = 162.5


@dataclass(frozen=True)
class Deployment:
    """Hardware of a deployment.

    Args:
        gpus: of a worker.
        switch_ports: of a rack's switch, at the rate of workers with a hub.
        server_ports: of a hub.
        throughput: of a worker with a hub, over one of the baseline.
    """

    gpus: int = 4
    switch_ports: int = 128
    server_ports: int = 20
    throughput: float = 0.98


class CostRow(Output, frozen=True):
    """A deployment's figures for each worker.

    Attributes:
        name: name of the deployment
        oversubscription: oversubscription of the uplinks; 1 for none
        workers: number of workers that share a hub; null for the baseline
        network: a worker's share of the network, in dollars
        hub: a worker's share of the hub, in dollars
        total: cost of a worker with everything, in dollars
        per_dollar: a worker's throughput per dollar, over the baseline's
    """

    name: Annotated[str, constrain_to_words("baseline", "hub")]
    oversubscription: Amount
    workers: Positive | None
    network: Amount
    hub: Amount
    total: Amount
    per_dollar: Amount


class Contradiction(Output, frozen=True):
    """Contradiction between the paper's Table 6.3 and the text beside it.

    Attributes:
        implied: cost of a baseline worker over one with a hub at 1:1, as the table implies
        least, most: the same, by the readings of the formulas with the prices beside it
        readings: number of readings of the formulas
    """

    implied: Amount
    least: Amount
    most: Amount
    readings: Positive


class Costs(Output, frozen=True):
    """What a worker costs with fast links and with a hub.

    Attributes:
        rows: deployments, the baseline first
        contradiction: what the paper's Table 6.3 contradicts
    """

    rows: Sequence[CostRow]
    contradiction: Contradiction


def network_cost(nic: float, port: float, cable: float, oversubscription: float) -> float:
    """Return a host's share of a network of three layers, in dollars: (N + S + C) + F (4 S + 2 C).

    What stands above the switch of a rack is divided by the oversubscription; the paper writes F.
    """
    return nic + port + cable + (4.0 * port + 2.0 * cable) / oversubscription


def workers_of_a_hub(deployment: Deployment, oversubscription: float) -> int:
    """Return how many workers a rack's switch has ports for, beside its hub and its uplinks."""
    down = int(deployment.switch_ports * oversubscription / (1.0 + oversubscription))
    return down - deployment.server_ports


def costs(
    prices: Prices, deployment: Deployment, oversubscriptions: tuple[float, ...] = (1.0, 2.0, 3.0)
) -> list[CostRow]:
    """Return the costs of the baseline, then of a hub at each oversubscription of the uplinks.

    An interface is paid once, and a hub costs what its own parts do: one of the readings.

    Raises:
        ValueError: a switch has no port for a worker left.
    """
    computing = prices.worker + deployment.gpus * prices.gpu
    fast = network_cost(prices.fast_nic, prices.fast_port, prices.fast_cable, 1.0)
    baseline = computing + fast
    rows = [CostRow("baseline", 1.0, None, fast, 0.0, baseline, 1.0)]
    for factor in oversubscriptions:
        workers = workers_of_a_hub(deployment, factor)
        if workers < 1:
            raise ValueError(
                f"a switch of {deployment.switch_ports} ports has none for workers beside a hub of "
                f"{deployment.server_ports} at {factor:g}:1"
            )
        slow = network_cost(prices.nic, prices.port, prices.cable, factor)
        of_port = network_cost(prices.server_nic, prices.port, prices.cable, factor)
        hub = (prices.server + deployment.server_ports * of_port) / workers
        total = computing + slow + hub
        per_dollar = deployment.throughput * baseline / total
        rows.append(CostRow("hub", factor, workers, slow, hub, total, per_dollar))
    return rows


def contradiction() -> Contradiction:
    """Return how far the paper's Table 6.3 is from its prices, however its formulas are read.

    They charge an interface in N and in A again; write W for the hub's price, and name H beside it;
    and do not say which interface's price a hub's ports have.
    """
    prices, deployment = Prices(), Deployment()
    ratios = []
    for is_twice, server, server_nic in itertools.product(
        (False, True), (prices.worker, prices.server), (prices.nic, prices.server_nic)
    ):
        again = float(is_twice)
        computing = prices.worker + deployment.gpus * prices.gpu
        fast = network_cost(prices.fast_nic, prices.fast_port, prices.fast_cable, 1.0)
        slow = network_cost(prices.nic, prices.port, prices.cable, 1.0)
        of_port = network_cost(server_nic, prices.port, prices.cable, 1.0) + again * server_nic
        hub = (server + deployment.server_ports * of_port) / workers_of_a_hub(deployment, 1.0)
        baseline = computing + fast + again * prices.fast_nic
        ratios.append(baseline / (computing + slow + again * prices.nic + hub))
    return Contradiction(_implied_ratio(), min(ratios), max(ratios), len(ratios))


def _implied_ratio() -> float:
    """Return the cost ratio that the table implies: X/c and X/(c + d) give X and c."""
    costs_of = []
    for cheap, dear in (_PRINTED_BASELINE, _PRINTED_HUB):
        throughput = 1.0 / (1.0 / dear - 1.0 / cheap)
        costs_of.append(throughput / cheap)
    return costs_of[0] / costs_of[1]
