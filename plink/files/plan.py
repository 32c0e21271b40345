"""The plan file: a weighted forest over ranks, and what it was made for (`docs/plan.md`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.files import document
from plink.files.document import brief
from plink.files.fields import Fields
from plink.files.groups import Group, groups_to_json, parse_groups
from plink.plans.check import BrokenForestError, check
from plink.plans.forest import Forest, make_forest
from plink.plans.names import ALL_REDUCE, COLLECTIVES, MOST_CALLS

FORMAT = "plink.plan"
VERSION = 1

# What a reader takes at most; a replay takes time and memory.
MAX_RANKS = 4096
MAX_ROUTES = 1 << 16

_MAX_SECONDS = 1e9
_MAX_SEED = (1 << 63) - 1
_MAX_SIZE_BYTES = (1 << 63) - 1
_MAX_WEIGHT = 1e9


@dataclass(frozen=True)
class PlanRank:
    """Where a rank runs: the name of its host, and the address that its traffic uses."""

    host: str
    address: str


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
        forest: over these ranks; `plink.plans.check` lets it pass.
        size_bytes: of the buffer that it was made for.
        groups: of near hosts.
        predicted: of this kind and of those it was compared with.
        bound_s: these collectives take no less on this network, in all.
        assumptions: what was assumed about the network, a sentence each.
        seed: decided what chance did.
        made_from: hash of the cluster file.
        collectives: that it was chosen for, one after the other
            (`plink.plans.names.COLLECTIVES`).
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


def read(path: str) -> Plan:
    """The plan in a file.

    Raises:
        WrongUseError: not a plan file, or one whose forest does not aggregate.
    """
    found = document.read(path)
    return from_json(found.data, found.source)


def write(path: str, plan: Plan) -> None:
    """Write a plan file, whole or not at all.

    Raises:
        BrokenForestError: the forest does not aggregate.
    """
    document.write_bytes(path, document.dump(to_json(plan)))


def parse(content: bytes, source: str) -> Plan:
    """The plan in the JSON text `content`; `source` names it in errors."""
    return from_json(document.parse(content, source), source)


def from_json(data: Mapping[str, Any], source: str) -> Plan:
    """The plan in a JSON object; `source` names it in errors."""
    document.check_format(data, source, FORMAT, VERSION)
    fields = Fields(data, source)
    ranks = _parse_ranks(fields)
    hosts = list(dict.fromkeys(rank.host for rank in ranks))
    return Plan(
        kind=fields.word("kind"),
        ranks=ranks,
        forest=_parse_forest(fields, len(ranks)),
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
    )


def to_json(plan: Plan) -> dict[str, Any]:
    """`plan` as a JSON object.

    Raises:
        BrokenForestError: the forest does not aggregate, or is not over these ranks.
    """
    forest = plan.forest
    check(forest)
    if forest.ranks != len(plan.ranks):
        raise BrokenForestError(f"a forest over {forest.ranks} ranks, and {len(plan.ranks)} ranks")
    routes = zip(
        forest.weights.tolist(),
        forest.reduce_parents.tolist(),
        forest.broadcast_parents.tolist(),
        strict=True,
    )
    return {
        "format": FORMAT,
        "version": VERSION,
        **({} if plan.made_from is None else {"made_from": plan.made_from}),
        "kind": plan.kind,
        "size_bytes": plan.size_bytes,
        "collectives": list(plan.collectives),
        "seed": plan.seed,
        "predicted": [vars(predicted) for predicted in plan.predicted],
        **({} if plan.bound_s is None else {"bound_s": plan.bound_s}),
        "assumptions": list(plan.assumptions),
        "ranks": [vars(rank) for rank in plan.ranks],
        **({"groups": groups_to_json(plan.groups)} if plan.groups else {}),
        "routes": [
            {"weight": weight, "reduce": up, "broadcast": down} for weight, up, down in routes
        ],
    }


def _parse_collectives(fields: Fields) -> tuple[str, ...]:
    """Those named; an all-reduce where none is, for which alone older files were made."""
    names = fields.texts("collectives")
    if len(names) > MOST_CALLS or any(name not in COLLECTIVES for name in names):
        raise fields.error("collectives", f"at most {MOST_CALLS} of {', '.join(COLLECTIVES)}")
    return tuple(names) or (ALL_REDUCE,)


def _parse_ranks(fields: Fields) -> list[PlanRank]:
    ranks: list[PlanRank] = []
    address_of: dict[str, str] = {}
    for item in fields.objects("ranks"):
        rank = PlanRank(item.word("host"), item.word("address"))
        if rank.host in address_of and rank.host != ranks[-1].host:
            raise WrongUseError(f"{item.place}: the ranks of {brief(rank.host)} are not adjacent")
        if address_of.setdefault(rank.host, rank.address) != rank.address:
            raise WrongUseError(f"{item.place}: {brief(rank.host)} has two addresses")
        ranks.append(rank)
    if not 0 < len(ranks) <= MAX_RANKS:
        raise WrongUseError(f"{fields.place}: has {len(ranks)} ranks, expected 1 to {MAX_RANKS}")
    return ranks


def _parse_forest(fields: Fields, ranks: int) -> Forest:
    routes = fields.objects("routes")
    if not 0 < len(routes) <= MAX_ROUTES:
        raise WrongUseError(f"{fields.place}: has {len(routes)} routes, expected 1 to {MAX_ROUTES}")
    forest = make_forest(
        [route.number("weight", 0.0, _MAX_WEIGHT) for route in routes],
        [route.integers("reduce", ranks, -1, ranks - 1) for route in routes],
        [route.integers("broadcast", ranks, -1, ranks - 1) for route in routes],
    )
    try:
        check(forest)
    except BrokenForestError as error:
        raise WrongUseError(f"{fields.place}: {error}") from None
    return forest
