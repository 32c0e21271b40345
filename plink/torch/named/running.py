"""Choice of a rank's negotiation machine and driver: native, or in Python to compare."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from plink.base.errors import WrongUseError
from plink.engine import Engine
from plink.plans.forest import NO_PARENT, Forest
from plink.torch.named.alone import Alone
from plink.torch.named.driver import Driver, Machine
from plink.torch.named.native_driver import NativeDriver
from plink.torch.named.options import Control
from plink.training.control import _native
from plink.training.control.actions import Action
from plink.training.control.bitvector import BitVector
from plink.training.control.full import Full
from plink.training.control.graphed import Graphed
from plink.training.control.settings import Settings
from plink.training.control.shape import Place, control_parents, places
from plink.training.control.tree import Tree

CONTROL_VARIABLE = "PLINK_CONTROL"

_MACHINES: dict[str, tuple[Callable[[Place, Settings], Machine], ...]] = {
    "tree": (_native.Tree, Tree),
    "full": (_native.Full, Full),
    "full-tree": (_native.Full, Full),
    "bitvector": (_native.BitVector, BitVector),
}


def machine_of(
    control: Control, forest: Forest | None, rank: int, *, is_deterministic: bool = False
) -> Machine:
    """Create a rank's machine, as `PLINK_CONTROL` says: `native`, or its twin in `python`.

    That of mode `graph` begins with that of `tree`. Ranks may differ in the variable.

    Args:
        control: of the group.
        forest: of the plan; None for a rank without others.
        rank: whose.
        is_deterministic: what shares a buffer must not depend on timing.

    Raises:
        WrongUseError: the variable says something else.
    """
    asked = os.environ.get(CONTROL_VARIABLE, "native")
    if asked not in ("native", "python"):
        raise WrongUseError(f"{CONTROL_VARIABLE} is '{asked}'", "it is native or python")
    place = places(_parents(control, forest))[rank]
    native, python = _MACHINES["tree" if control.mode == "graph" else control.mode]
    make = native if asked == "native" else python
    if control.mode != "graph":
        return make(place, control.settings)
    settings = replace(control.settings, is_deterministic=is_deterministic)
    # While the graph is learnt nothing may share a buffer by chance.
    inner = replace(settings, fusion_bytes=0) if is_deterministic else settings
    return Graphed(place, settings, lambda: make(place, inner))


def _parents(control: Control, forest: Forest | None) -> list[int]:
    if forest is None:
        return [NO_PARENT]
    if control.mode == "full":
        return [NO_PARENT, *[0] * (forest.ranks - 1)]
    return control_parents(forest)


def driver_of(
    machine: Machine, engine: Engine | None, do: Callable[[Action], None]
) -> Driver | NativeDriver:
    """Start the thread that runs a machine beside an engine, or beside none for a rank alone."""
    if engine is None:
        return Driver(machine, Alone(), do)
    if isinstance(machine, _native.Machine):
        return NativeDriver(machine, engine, do)
    return Driver(machine, engine, do)
