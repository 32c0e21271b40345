"""The ranks of a plan file: where each runs, whether it is a worker or a server, and its ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.files.document import brief
from plink.files.fields import Fields

# What a reader takes at most; a replay takes time and memory.
MAX_RANKS = 4096
MAX_PORTS = 256

# It contributes and gets the result; or it does neither, and aggregates for workers.
WORKER, SERVER = "worker", "server"
ROLES = (WORKER, SERVER)

_MAX_WEIGHT = 1e9


@dataclass(frozen=True)
class Port:
    """An interface of a server.

    Args:
        address: at which the server listens there.
        weight: how much it carries, beside the weights of other ports.
    """

    address: str
    weight: float = 1.0


@dataclass(frozen=True)
class PlanRank:
    """Where a rank runs, and what it does there.

    Args:
        host: its name.
        address: that its traffic uses; of a server with ports, that it is asked at.
        role: of `ROLES`.
        ports: of a server; none where its address is all that is known.
    """

    host: str
    address: str
    role: str = WORKER
    ports: tuple[Port, ...] = ()


def parse_ranks(fields: Fields, *, with_servers: bool) -> list[PlanRank]:
    """The ranks of a plan.

    Args:
        fields: of the plan.
        with_servers: whether it is of a version that has roles and ports.

    Raises:
        WrongUseError: none, too many, or ranks of a host that are not adjacent.
    """
    ranks: list[PlanRank] = []
    address_of: dict[str, str] = {}
    for item in fields.objects("ranks"):
        rank = PlanRank(
            item.word("host"),
            item.word("address"),
            *((_role(item), _ports(item)) if with_servers else ()),
        )
        if rank.ports and rank.role == WORKER:
            raise WrongUseError(f"{item.place}: has ports, which only servers have")
        if rank.host in address_of and rank.host != ranks[-1].host:
            raise WrongUseError(f"{item.place}: the ranks of {brief(rank.host)} are not adjacent")
        if address_of.setdefault(rank.host, rank.address) != rank.address:
            raise WrongUseError(f"{item.place}: {brief(rank.host)} has two addresses")
        ranks.append(rank)
    if not 0 < len(ranks) <= MAX_RANKS:
        raise WrongUseError(f"{fields.place}: has {len(ranks)} ranks, expected 1 to {MAX_RANKS}")
    return ranks


def ranks_to_json(ranks: Sequence[PlanRank]) -> list[dict[str, Any]]:
    """The same as JSON objects; members of servers are there for servers only."""
    return [
        {
            "host": rank.host,
            "address": rank.address,
            **({"role": rank.role} if rank.role != WORKER else {}),
            **({"ports": [vars(port) for port in rank.ports]} if rank.ports else {}),
        }
        for rank in ranks
    ]


def _role(item: Fields) -> str:
    role = item.optional_word("role") or WORKER
    if role not in ROLES:
        raise item.error("role", " or ".join(ROLES))
    return role


def _ports(item: Fields) -> tuple[Port, ...]:
    ports = tuple(
        Port(each.word("address"), _weight(each)) for each in item.objects("ports", optional=True)
    )
    if len(ports) > MAX_PORTS:
        raise WrongUseError(f"{item.place}: has {len(ports)} ports, expected at most {MAX_PORTS}")
    return ports


def _weight(port: Fields) -> float:
    weight = port.optional_number("weight", 0.0, _MAX_WEIGHT)
    if weight == 0.0:
        raise port.error("weight", "a number above 0")
    return 1.0 if weight is None else weight
