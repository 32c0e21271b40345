"""The plan file: weighted aggregation trees over ranks, and what they are for (`docs/plan.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import numpy as np
from msgspec import Meta, Struct

from plink.base.errors import WrongUseError
from plink.base.text import brief, format_count
from plink.formats import document
from plink.formats.hosts import Group, check_groups
from plink.formats.limits import (
    BufferBytes,
    Collective,
    Count,
    Seconds,
    Text,
    Word,
    constrain_to_words,
)
from plink.formats.structs import convert, encode
from plink.plans.check import BrokenForestError, Flags, Ports, check, check_ports, check_shapes
from plink.plans.forest import Forest
from plink.plans.names import ALL_REDUCE, MOST_CALLS

FORMAT: Final = "plink.plan"
VERSION: Final = 1

# What a reader takes at most: a replay takes time and memory.
MAX_RANKS = 4096
MAX_ROUTES = 1 << 16
MAX_PORTS = 256
_MAX_WEIGHT = 1e9

# A worker contributes and gets the result; a server does neither, and aggregates for workers.
WORKER, SERVER = "worker", "server"


class Port(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Network interface of a parameter server: address, and weight of its share of the traffic.

    Attributes:
        address: address at which the server listens there
        weight: share of the traffic that it carries, beside the weights of the other ports
    """

    address: Word
    weight: Annotated[float, Meta(gt=0, le=_MAX_WEIGHT)] = 1.0


class PlanRank(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Rank of a plan: its host, address, role (worker or server) and ports.

    Attributes:
        host: name of its host
        address: address that its traffic uses; for a server with ports, its control address
        role: `worker`, or `server` if it contributes nothing and need not get the result
        ports: interfaces of a server; empty if its address is all that is known
    """

    host: Word
    address: Word
    role: Annotated[str, constrain_to_words(WORKER, SERVER)] = WORKER
    ports: Annotated[tuple[Port, ...], Meta(max_length=MAX_PORTS)] = ()

    def __post_init__(self) -> None:
        if self.ports and self.role == WORKER:
            raise ValueError(f"the worker on {brief(self.host)} has ports, which only servers have")


class Predicted(Struct, frozen=True, forbid_unknown_fields=True):
    """Predicted seconds of one kind of plan, such as `ring` or `2lha`.

    Attributes:
        kind: kind of the plan
        time_s: time of all collectives together, in s
    """

    kind: Word
    time_s: Seconds


class Plan(Struct, frozen=True, forbid_unknown_fields=True):
    """Aggregation plan: weighted reduction and broadcast trees over ranks, as in its file.

    Attributes:
        kind: how the forest was built: `2lha`, `flat`, `ring`, `tree`, or another word
        ranks: where each rank runs; the ranks of a host are adjacent
        forest: R trees over the P ranks, as arrays: `weights` (R), `reduce_parents` (R, P) along
            which sums go, and `broadcast_parents` (R, P) along which results go; a parent is a
            rank, -1 at the root, or -2 at a server that the tree does without
        size_bytes: size of the buffer that the plan was made for, in bytes
        groups: groups of hosts that are near each other
        predicted: predicted times of this kind of plan and of those it was compared with
        bound_s: no plan takes less on this network, in s
        assumptions: what was assumed about the network, a sentence each
        seed: seed of the random choices
        made_from: SHA-256 (`sha256:...`) of the cluster that the plan was made from
        collectives: collectives that it was chosen for, one after the other
        route_ports: (R, P) port of each server by which its edges of a tree go, 0 elsewhere; absent
            if no rank has ports
        format: name of the format
        version: version of the format
    """

    kind: Word
    ranks: Annotated[Sequence[PlanRank], Meta(min_length=1, max_length=MAX_RANKS)]
    forest: Forest
    size_bytes: BufferBytes
    groups: Sequence[Group] = []
    predicted: Sequence[Predicted] = []
    bound_s: Seconds | None = None
    assumptions: Sequence[str] = []
    seed: Count = 0
    made_from: Text | None = None
    collectives: Annotated[Sequence[Collective], Meta(min_length=1, max_length=MOST_CALLS)] = (
        ALL_REDUCE,
    )
    route_ports: Ports | None = None
    format: Literal["plink.plan"] = FORMAT
    version: Literal[1] = VERSION

    def __post_init__(self) -> None:
        """Validate the plan: replay its forest, and check ranks, addresses, ports and groups.

        Raises:
            BrokenForestError: the forest does not aggregate, or is not over these ranks.
            ValueError: ranks of a host are not adjacent or have two addresses, or wrong groups.
        """
        forest = self.forest
        check_shapes(forest)
        if not 0 < forest.routes <= MAX_ROUTES:
            raise ValueError(f"the forest has {forest.routes} routes, expected 1 to {MAX_ROUTES}")
        if not (forest.weights <= _MAX_WEIGHT).all():
            raise ValueError(f"the weight of every route must be at most {_MAX_WEIGHT:g}")
        if forest.ranks != len(self.ranks):
            raise BrokenForestError(
                f"the forest is over {forest.ranks} ranks, but {len(self.ranks)} ranks are listed"
            )
        check(forest, self.is_server)
        if self.route_ports is not None:
            check_ports(forest, self.route_ports, [len(rank.ports) for rank in self.ranks])
        address_of: dict[str, str] = {}
        for index, rank in enumerate(self.ranks):
            if rank.host in address_of and rank.host != self.ranks[index - 1].host:
                raise ValueError(f"the ranks of {brief(rank.host)} are not adjacent")
            if address_of.setdefault(rank.host, rank.address) != rank.address:
                raise ValueError(f"{brief(rank.host)} has two addresses")
        check_groups(self.groups, address_of)

    @property
    def is_server(self) -> Flags:
        """Mask of the ranks that are servers and contribute nothing, shape (P,)."""
        return np.array([rank.role == SERVER for rank in self.ranks])

    @property
    def has_servers(self) -> bool:
        """Whether any rank is a parameter server; the engine does not run such a plan."""
        return any(rank.role == SERVER for rank in self.ranks)

    @property
    def contributors(self) -> int:
        """Number of ranks that contribute data, which is the divisor of a mean."""
        return sum(rank.role != SERVER for rank in self.ranks)

    @property
    def host_by_rank(self) -> list[int]:
        """Index of each rank's host, (P,), hosts numbered by first appearance."""
        places: dict[str, int] = {}
        return [places.setdefault(rank.host, len(places)) for rank in self.ranks]

    @property
    def group_by_rank(self) -> list[int]:
        """Index of each rank's group, (P,); a host in no group has a group of its own."""
        places = {host: index for index, group in enumerate(self.groups) for host in group.hosts}
        for rank in self.ranks:
            places.setdefault(rank.host, len(self.groups) + len(places))
        return [places[rank.host] for rank in self.ranks]


def read_plan(path: str, *, with_servers: bool = False) -> Plan:
    """Read a plan file (`-`: standard input), or raise WrongUseError, also for one with servers.

    Args:
        path: path of the file.
        with_servers: also accept a plan with servers, which the engine does not run.

    Raises:
        WrongUseError: the file is no plan file, its forest does not aggregate, or it has servers.
    """
    found = document.read(path)
    return decode_plan(found.data, found.source, with_servers=with_servers)


def write_plan(path: str, plan: Plan) -> None:
    """Write a plan file atomically; `-` is standard output."""
    document.write_bytes(path, document.dump(encode(plan)))


def decode_plan(data: Mapping[str, Any], source: str, *, with_servers: bool = False) -> Plan:
    """Return the plan in the JSON object of file `source`, or raise WrongUseError."""
    document.check_format(data, source, FORMAT, VERSION)
    plan = convert(data, Plan, source)
    if not with_servers:
        refuse_servers(plan, source)
    return plan


def refuse_servers(plan: Plan, source: str) -> None:
    """Raise WrongUseError for a plan with servers, which only `plink hub` runs."""
    if plan.has_servers:
        servers = len(plan.ranks) - plan.contributors
        raise WrongUseError(
            f"{source}: {format_count(servers, 'rank')} of this plan "
            f"{'is' if servers == 1 else 'are'} "
            f"{'a server' if servers == 1 else 'servers'}, which the engine does not run",
            "plink hub runs servers; a plan that is made without any is for the engine",
        )
