"""The plan file: a weighted forest over ranks, and what it was made for (`docs/plan.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.text import counted
from plink.files import document
from plink.files.fields import Fields
from plink.files.groups import Group, groups_to_json, parse_groups
from plink.files.plan_ranks import (
    MAX_PORTS,
    MAX_RANKS,
    SERVER,
    PlanRank,
    Port,
    parse_ranks,
    ranks_to_json,
)
from plink.plans.check import BrokenForestError
from plink.plans.check_servers import Flags, Ports, check_ports, check_with_servers
from plink.plans.forest import ABSENT, NO_PARENT, Forest, make_forest
from plink.plans.names import ALL_REDUCE, COLLECTIVES, MOST_CALLS

__all__ = ["FORMAT", "MAX_RANKS", "MAX_ROUTES", "Plan", "PlanRank", "Port", "Predicted"]

FORMAT = "plink.plan"
# The second is written where there are servers only.
VERSION, VERSION_WITH_SERVERS = 1, 2

# What a reader takes at most; a replay takes time and memory.
MAX_ROUTES = 1 << 16

_MAX_SECONDS = 1e9
_MAX_SEED = (1 << 63) - 1
_MAX_SIZE_BYTES = (1 << 63) - 1
_MAX_WEIGHT = 1e9


@dataclass(frozen=True)
class Predicted:
    """What a plan's collectives are predicted to take, in all, by a plan of some kind."""

    kind: str
    time_s: float


@dataclass(frozen=True)
class Plan:
    """How ranks aggregate.

    Args:
        kind: how the forest was built: `2lha`, `flat`, `ring`, `tree`, or another word.
        ranks: rank r runs there. The ranks of a host stand together.
        forest: over these ranks; `plink.plans.check_servers` lets it pass.
        size_bytes: of the buffer that it was made for.
        groups: of near hosts.
        predicted: of this kind and of those it was compared with.
        bound_s: these collectives take no less on this network, in all.
        assumptions: what was assumed about the network, a sentence each.
        seed: decided what chance did.
        made_from: hash of the cluster file.
        collectives: that it was chosen for, one after the other
            (`plink.plans.names.COLLECTIVES`).
        route_ports: (R, P) the port of each server by which its edges of a route go; 0 elsewhere.
            None where no rank has ports.
    """

    kind: str
    ranks: Sequence[PlanRank]
    forest: Forest
    size_bytes: int
    groups: Sequence[Group] = ()
    predicted: Sequence[Predicted] = ()
    bound_s: float | None = None
    assumptions: Sequence[str] = ()
    seed: int = 0
    made_from: str | None = None
    collectives: Sequence[str] = (ALL_REDUCE,)
    route_ports: Ports | None = None

    @property
    def is_server(self) -> Flags:
        """(P,) which ranks contribute nothing."""
        return np.array([rank.role == SERVER for rank in self.ranks])

    @property
    def has_servers(self) -> bool:
        """Whether some rank contributes nothing; the engine does not run such a plan."""
        return any(rank.role == SERVER for rank in self.ranks)

    @property
    def contributors(self) -> int:
        """By how many a mean is divided."""
        return sum(rank.role != SERVER for rank in self.ranks)

    @property
    def host_of(self) -> list[int]:
        """The index of each rank's host, by first appearance."""
        places: dict[str, int] = {}
        return [places.setdefault(rank.host, len(places)) for rank in self.ranks]

    @property
    def group_of(self) -> list[int]:
        """The index of each rank's group; a host in no group is one by itself."""
        places = {host: index for index, group in enumerate(self.groups) for host in group.hosts}
        for rank in self.ranks:
            places.setdefault(rank.host, len(self.groups) + len(places))
        return [places[rank.host] for rank in self.ranks]


def read(path: str, *, with_servers: bool = False) -> Plan:
    """The plan in a file.

    Args:
        path: of the file.
        with_servers: take a plan with servers, too, which the engine does not run.

    Raises:
        WrongUseError: not a plan file, or one whose forest does not aggregate, or with servers.
    """
    found = document.read(path)
    return from_json(found.data, found.source, with_servers=with_servers)


def refuse_servers(plan: Plan, source: str) -> None:
    """Refuse a plan that only `plink hub` runs; `source` names it.

    Raises:
        WrongUseError: some of its ranks are servers.
    """
    if plan.has_servers:
        servers = len(plan.ranks) - plan.contributors
        raise WrongUseError(
            f"{source}: {counted(servers, 'rank')} of this plan {'is' if servers == 1 else 'are'} "
            f"{'a server' if servers == 1 else 'servers'}, which the engine does not run",
            "plink hub runs servers; a plan that is made without any is for the engine",
        )


def write(path: str, plan: Plan) -> None:
    """Write a plan file, whole or not at all.

    Raises:
        BrokenForestError: the forest does not aggregate.
    """
    document.write_bytes(path, document.dump(to_json(plan)))


def parse(content: bytes, source: str, *, with_servers: bool = False) -> Plan:
    """The plan in the JSON text `content`; `source` names it in errors; as of `read`."""
    return from_json(document.parse(content, source), source, with_servers=with_servers)


def from_json(data: Mapping[str, Any], source: str, *, with_servers: bool = False) -> Plan:
    """The plan in a JSON object; `source` names it in errors; as of `read`."""
    is_first = data.get("version") in (VERSION, None)
    document.check_format(data, source, FORMAT, VERSION if is_first else VERSION_WITH_SERVERS)
    fields = Fields(data, source)
    ranks = parse_ranks(fields, with_servers=not is_first)
    hosts = list(dict.fromkeys(rank.host for rank in ranks))
    forest, route_ports = _parse_forest(fields, ranks, with_servers=not is_first)
    plan = Plan(
        kind=fields.word("kind"),
        ranks=ranks,
        forest=forest,
        size_bytes=fields.integer("size_bytes", 1, _MAX_SIZE_BYTES),
        collectives=_parse_collectives(fields),
        groups=tuple(parse_groups(fields, hosts)),
        predicted=[
            Predicted(item.word("kind"), item.number("time_s", 0.0, _MAX_SECONDS))
            for item in fields.objects("predicted", optional=True)
        ],
        bound_s=fields.optional_number("bound_s", 0.0, _MAX_SECONDS),
        assumptions=fields.texts("assumptions"),
        seed=fields.integer("seed", 0, _MAX_SEED, default=0),
        made_from=fields.optional_text("made_from"),
        route_ports=route_ports,
    )
    if not with_servers:
        refuse_servers(plan, source)
    return plan


def to_json(plan: Plan) -> dict[str, Any]:
    """`plan` as a JSON object.

    Raises:
        BrokenForestError: the forest does not aggregate, or is not over these ranks.
    """
    forest = plan.forest
    check_with_servers(forest, plan.is_server)
    if forest.ranks != len(plan.ranks):
        raise BrokenForestError(f"a forest over {forest.ranks} ranks, and {len(plan.ranks)} ranks")
    ports = plan.route_ports
    if ports is not None:
        check_ports(forest, ports, [len(rank.ports) for rank in plan.ranks])
    routes = zip(
        forest.weights.tolist(),
        forest.reduce_parents.tolist(),
        forest.broadcast_parents.tolist(),
        [{}] * forest.routes if ports is None else [{"ports": each} for each in ports.tolist()],
        strict=True,
    )
    return {
        "format": FORMAT,
        "version": VERSION_WITH_SERVERS if plan.has_servers else VERSION,
        **({} if plan.made_from is None else {"made_from": plan.made_from}),
        "kind": plan.kind,
        "size_bytes": plan.size_bytes,
        "collectives": list(plan.collectives),
        "seed": plan.seed,
        "predicted": [vars(predicted) for predicted in plan.predicted],
        **({} if plan.bound_s is None else {"bound_s": plan.bound_s}),
        "assumptions": list(plan.assumptions),
        "ranks": ranks_to_json(plan.ranks),
        **({"groups": groups_to_json(plan.groups)} if plan.groups else {}),
        "routes": [
            {"weight": weight, "reduce": up, "broadcast": down, **by}
            for weight, up, down, by in routes
        ],
    }


def _parse_collectives(fields: Fields) -> tuple[str, ...]:
    """Those named; an all-reduce where none is, for which alone older files were made."""
    names = fields.texts("collectives")
    if len(names) > MOST_CALLS or any(name not in COLLECTIVES for name in names):
        raise fields.error("collectives", f"at most {MOST_CALLS} of {', '.join(COLLECTIVES)}")
    return tuple(names) or (ALL_REDUCE,)


def _parse_forest(
    fields: Fields, ranks: Sequence[PlanRank], *, with_servers: bool
) -> tuple[Forest, Ports | None]:
    """The forest, and the ports by which servers take part in its routes."""
    routes = fields.objects("routes")
    if not 0 < len(routes) <= MAX_ROUTES:
        raise WrongUseError(f"{fields.place}: has {len(routes)} routes, expected 1 to {MAX_ROUTES}")
    least, count = ABSENT if with_servers else NO_PARENT, len(ranks)
    forest = make_forest(
        [route.number("weight", 0.0, _MAX_WEIGHT) for route in routes],
        [route.integers("reduce", count, least, count - 1) for route in routes],
        [route.integers("broadcast", count, least, count - 1) for route in routes],
    )
    route_ports = _parse_ports(routes, count) if any(rank.ports for rank in ranks) else None
    try:
        check_with_servers(forest, np.array([rank.role == SERVER for rank in ranks]))
        if route_ports is not None:
            check_ports(forest, route_ports, [len(rank.ports) for rank in ranks])
    except BrokenForestError as error:
        raise WrongUseError(f"{fields.place}: {error}") from None
    return forest, route_ports


def _parse_ports(routes: Sequence[Fields], ranks: int) -> Ports:
    """(R, P) the port of each rank in each route; the first where a route does not say."""
    return np.array(
        [
            [0] * ranks
            if route.values.get("ports") is None
            else route.integers("ports", ranks, 0, MAX_PORTS - 1)
            for route in routes
        ],
        dtype=np.int32,
    )
