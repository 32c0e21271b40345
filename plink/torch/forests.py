"""Which forest a group aggregates along: rank 0 decides, the others follow."""

from __future__ import annotations

import functools
import json
import logging
import socket
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch

from plink.autotune.ranks.placing import Place, Placing, match, match_some
from plink.autotune.ranks.settings import Settings
from plink.base.errors import WrongUseError
from plink.engine import EngineError, Options, Store
from plink.engine.store import get_all
from plink.files import plan as plan_file
from plink.plans.forest import Forest
from plink.plans.regroup import flat, regrouped
from plink.torch.addresses import host_addresses
from plink.torch.forest_text import forest_from_json, forest_to_json

T = TypeVar("T")

_LOG = logging.getLogger("plink.torch")


@dataclass(frozen=True)
class Agreed:
    """What all ranks of a group know of its plan.

    Args:
        forest: over the group's ranks.
        placing: of these ranks in the plan file.
        tuned: how the plan is tuned; None where it stays.
        is_cut: whether buffers are reduced in pieces, as is best for tensors on an accelerator;
            rank 0 says so where it has one, and the others do alike, wherever their tensors are.
    """

    forest: Forest
    placing: Placing
    tuned: Settings | None = None
    is_cut: bool = False


def agreed_forest(
    store: Store,
    rank: int,
    ranks: int,
    plan: str | None,
    *,
    is_part: bool,
    options: Options,
    members_change: bool = False,
    tuned: Settings | None = None,
) -> Agreed:
    """The forest of rank 0's plan, with ranks as they are here; flat without a plan.

    Args:
        store: where the ranks meet.
        plan: path of the plan file; that of rank 0 counts.
        is_part: the group may be a part of the job's ranks: then a plan for other ranks is not an
            error, and the group is flat.
        members_change: ranks of the plan may be absent, and others may be there.
        options: how long to wait, and at which addresses this rank listens.
        tuned: how the plan is tuned; that of rank 0 counts. A plan for other ranks is not tuned.

    Raises:
        WrongUseError: the plan cannot be read or is for other ranks; on every rank.
        EngineError: a rank did not come.
    """
    deadline = time.monotonic() + options.setup_timeout_s
    if rank == 0:
        try:
            if tuned is not None and plan is None:
                raise WrongUseError(
                    "PLINK_AUTOTUNE is set, but there is no plan to tune: set PLINK_PLAN, too"
                )
            agreed = _decided(
                store,
                ranks,
                plan,
                is_part=is_part,
                members_change=members_change,
                deadline=deadline,
                options=options,
                tuned=tuned,
            )
        except (WrongUseError, EngineError) as error:
            store.set("forest", _packed({"error": str(error)}))
            raise
        agreed = replace(agreed, is_cut=torch.cuda.is_available())
        store.set("forest", packed_agreement(agreed))
        return agreed
    place = {"name": socket.gethostname(), "addresses": _own_addresses(options)}
    store.set(f"place/{rank}", _packed(place))
    (value,) = get_all(store, ["forest"], deadline)
    decided = _parsed(value, 0, functools.partial(_decision, ranks=ranks), options)
    if isinstance(decided, str):
        raise WrongUseError(decided)
    return decided


def _decided(
    store: Store,
    ranks: int,
    path: str | None,
    *,
    is_part: bool,
    members_change: bool,
    deadline: float,
    options: Options,
    tuned: Settings | None,
) -> Agreed:
    without = Agreed(flat(ranks), Placing(range(ranks)))
    if path is None:
        return without
    plan = plan_file.read(path)
    if is_part and len(plan.ranks) != ranks:
        return without
    places = [Place(socket.gethostname(), _own_addresses(options))]
    keys = [f"place/{other}" for other in range(1, ranks)]
    for other, value in enumerate(get_all(store, keys, deadline), start=1):
        places.append(_parsed(value, other, _place, options))
    try:
        planned_rank = match(plan.ranks, places)
    except WrongUseError as error:
        if is_part:
            return without
        if members_change:
            _LOG.info("the plan %s %s: it is made to fit", path, error)
            return Agreed(regrouped(plan.forest, match_some(plan.ranks, places)), without.placing)
        raise WrongUseError(f"the plan {path} {error}") from None
    placing = Placing(planned_rank)
    return Agreed(placing.to_job(plan.forest), placing, tuned)


def _own_addresses(options: Options) -> list[str]:
    others = [address for addresses in host_addresses().values() for address in addresses]
    return list(dict.fromkeys([*options.addresses, *others]))


def _parsed(value: bytes | None, rank: int, parse: Callable[[Any], T], options: Options) -> T:
    """What a rank put into the store.

    Raises:
        EngineError: it did not come in time, or put something else there.
    """
    if value is None:
        raise EngineError(
            f"rank {rank} did not come to the meeting within {options.setup_timeout_s:g} s", rank
        )
    try:
        return parse(json.loads(zlib.decompress(value)))
    except (zlib.error, ValueError, KeyError, TypeError, RecursionError):
        raise EngineError(
            f"rank {rank} put something into the store that cannot be read here",
            rank,
            "do all ranks have the same version of plink, and every job a store of its own?",
        ) from None


def _place(data: Any) -> Place:
    return Place(str(data["name"]), [str(address) for address in data["addresses"]])


def _decision(data: Any, ranks: int) -> Agreed | str:
    """The plan, or the sentence that says why there is not one."""
    return str(data["error"]) if "error" in data else _from_json(data, ranks)


def packed_agreement(agreed: Agreed) -> bytes:
    """What rank 0 puts into the store."""
    return _packed(_to_json(agreed))


def _packed(value: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(value).encode())


def _to_json(agreed: Agreed) -> dict[str, Any]:
    return {
        "forest": forest_to_json(agreed.forest),
        "planned": list(agreed.placing.planned_rank),
        "tuned": None if agreed.tuned is None else agreed.tuned.to_json(),
        "is_cut": agreed.is_cut,
    }


def _from_json(data: Mapping[str, Any], ranks: int) -> Agreed:
    tuned = None if data["tuned"] is None else Settings.from_json(data["tuned"])
    forest = forest_from_json(data["forest"], ranks)
    return Agreed(forest, Placing(data["planned"]), tuned, bool(data["is_cut"]))
