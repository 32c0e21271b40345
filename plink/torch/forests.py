"""Choice of the forest along which a group aggregates: rank 0 decides, the others follow."""

from __future__ import annotations

import functools
import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch

from plink.autotune.ranks.placing import Place, Placing, match, match_some
from plink.autotune.ranks.settings import Settings
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.engine import EngineError, Prepared
from plink.engine.forest import prepare_forest
from plink.engine.interfaces import host_addresses
from plink.formats import plan as plan_file
from plink.formats.plan import Plan
from plink.plans.forest import Forest
from plink.plans.regroup import flat, regroup_forest
from plink.plans.wire import decode_forest, encode_forest

T = TypeVar("T")

_LOG = logging.getLogger("plink.torch")


@dataclass(frozen=True)
class Agreed:
    """Plan of a group, as all its ranks know it.

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


class PlanChoice:
    """Choice of the forest of rank 0's plan, matched to the ranks; a flat one without a plan.

    Args:
        rank: this one.
        ranks: of the group.
        plan: path of the plan file; that of rank 0 counts.
        is_part: the group may be a part of the job's ranks: then a plan for other ranks is not an
            error, and the group is flat.
        members_change: ranks of the plan may be absent, and others may be there.
        addresses: at which this rank listens.
        tuned: how the plan is tuned; that of rank 0 counts. A plan for other ranks is not tuned.
        control: how ranks agree on the order of collectives, the same on all.
    """

    def __init__(
        self,
        rank: int,
        ranks: int,
        plan: str | None,
        *,
        is_part: bool,
        addresses: Sequence[str] = (),
        members_change: bool = False,
        tuned: Settings | None = None,
        control: object = None,
    ) -> None:
        self._rank = rank
        self._ranks = ranks
        self._path = plan
        self._is_part = is_part
        self._addresses = addresses
        self._members_change = members_change
        self._tuned = tuned
        self._control = str(control)
        self._plan: Plan | None = None
        self._agreed: Agreed | None = None

    @property
    def agreed(self) -> Agreed:
        """Plan that all ranks have agreed on; available once the ranks are connected."""
        if self._agreed is None:
            raise WrongUseError("the ranks have not met")
        return self._agreed

    def told(self) -> dict[str, Any]:
        """Return this rank's host, addresses and `control` option for rank 0.

        Raises:
            WrongUseError: at rank 0, the plan cannot be read.
        """
        if self._rank == 0:
            self._read()
        others = [address for addresses in host_addresses().values() for address in addresses]
        addresses = list(dict.fromkeys([*self._addresses, *others]))
        return {
            "name": socket.gethostname(),
            "addresses": addresses,
            "control": self._control,
        }

    def decided(self, told: Sequence[Any]) -> dict[str, Any]:
        """Return rank 0's decision: the plan's forest over the present ranks.

        Raises:
            WrongUseError: the plan is for others, or ranks are to agree in different ways.
            EngineError: a rank told something else than its place.
        """
        for rank, one in enumerate(told):
            control = _parse(one, rank, lambda data: str(data["control"]))
            if control != self._control:
                raise WrongUseError(
                    f"ranks differ in the option `control`: rank 0 has {self._control}, "
                    f"rank {rank} has {control}"
                )
        agreed = replace(self._choose(told), is_cut=torch.cuda.is_available())
        return agreement_to_json(agreed)

    def forest(self, decided: Any) -> Prepared:
        """Return the checked forest that rank 0 has decided on.

        Raises:
            EngineError: it decided something else.
        """
        self._agreed = _parse(decided, 0, functools.partial(_from_json, ranks=self._ranks))
        return prepare_forest(self._agreed.forest, self._ranks)

    def _read(self) -> None:
        if self._path is None:
            if self._tuned is not None:
                raise WrongUseError(
                    "PLINK_AUTOTUNE is set, but there is no plan to tune: set PLINK_PLAN, too"
                )
            return
        plan = plan_file.read_plan(self._path)
        if not self._is_part or len(plan.ranks) == self._ranks:
            self._plan = plan

    def _choose(self, told: Sequence[Any]) -> Agreed:
        without = Agreed(flat(self._ranks), Placing(range(self._ranks)))
        plan = self._plan
        if plan is None:
            return without
        places = [_parse(one, rank, _place) for rank, one in enumerate(told)]
        try:
            planned_rank = match(plan.ranks, places)
        except WrongUseError as error:
            if self._is_part:
                return without
            if self._members_change:
                _LOG.info("the plan %s %s: it is made to fit", self._path, error)
                fitting = regroup_forest(plan.forest, match_some(plan.ranks, places))
                return replace(without, forest=fitting)
            raise WrongUseError(f"the plan {self._path} {error}") from None
        placing = Placing(planned_rank)
        return Agreed(placing.to_job(plan.forest), placing, self._tuned)


def _parse(said: Any, rank: int, parse: Callable[[Any], T]) -> T:
    """Parse what a rank has put into the store.

    Raises:
        EngineError: it cannot be understood.
    """
    try:
        return parse(said)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise EngineError(
            f"rank {rank} put something into the store that cannot be read here",
            rank,
            "do all ranks have the same version of plink, and every job a store of its own?",
        ) from None


def _place(data: Any) -> Place:
    return Place(str(data["name"]), [str(address) for address in data["addresses"]])


def agreement_to_json(agreed: Agreed) -> dict[str, Any]:
    """Encode rank 0's message to all others; each rank makes a flat forest by itself."""
    return {
        "forest": None if _is_flat(agreed.forest) else encode_forest(agreed.forest),
        "planned": list(agreed.placing.planned_rank),
        "tuned": None if agreed.tuned is None else agreed.tuned.to_json(),
        "is_cut": agreed.is_cut,
    }


def _is_flat(forest: Forest) -> bool:
    usual = flat(forest.ranks)
    return all(
        np.array_equal(getattr(forest, name), getattr(usual, name))
        for name in ("weights", "reduce_parents", "broadcast_parents")
    )


def _from_json(data: Mapping[str, Any], ranks: int) -> Agreed:
    tuned = None if data["tuned"] is None else Settings.from_json(data["tuned"])
    text = data["forest"]
    forest = flat(ranks) if text is None else decode_forest(text, ranks)
    return Agreed(forest, Placing(data["planned"]), tuned, bool(data["is_cut"]))
