"""Which machine a rank runs, and by what: natively, or its twin in Python to compare with."""

from __future__ import annotations

import os
from collections.abc import Callable

from plink.base.errors import WrongUseError
from plink.engine import Engine
from plink.torch.named.driver import Driver, Machine
from plink.torch.named.native_driver import NativeDriver
from plink.training.control import _native
from plink.training.control.actions import Action
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.tree import Tree

CONTROL_VARIABLE = "PLINK_CONTROL"


def machine_of(place: Place, settings: Settings) -> Machine:
    """The machine of a rank, as `PLINK_CONTROL` says: `native`, or `python`. Ranks may differ.

    Raises:
        WrongUseError: it says something else.
    """
    asked = os.environ.get(CONTROL_VARIABLE, "native")
    if asked not in ("native", "python"):
        raise WrongUseError(f"{CONTROL_VARIABLE} is '{asked}'", "it is native or python")
    return _native.Tree(place, settings) if asked == "native" else Tree(place, settings)


def driver_of(
    machine: Machine, engine: Engine, do: Callable[[Action], None]
) -> Driver | NativeDriver:
    """What runs a machine beside an engine, in a thread of its own."""
    if isinstance(machine, _native.Tree):
        return NativeDriver(machine, engine, do)
    return Driver(machine, engine, do)
