"""Conversion of a plan's forest for the native engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import plink.engine._native as core
from plink.base.errors import WrongUseError
from plink.plans.forest import ABSENT, OTHER_NUMBER, Forest


@dataclass(frozen=True)
class Prepared:
    """Plan that is checked and can be installed without delay."""

    forest: core.Forest


def prepare_forest(forest: Forest, ranks: int) -> Prepared:
    """Check that a forest fits `ranks` ranks and return it ready to be installed.

    Raises:
        WrongUseError: it does not fit them, or is not a forest.
    """
    checked = native(forest)
    if forest.ranks != ranks:
        raise WrongUseError(
            f"the plan is for {forest.ranks} ranks, there are {ranks}", OTHER_NUMBER
        )
    return Prepared(checked)


def native(forest: Forest) -> core.Forest:
    """Convert a forest for the native engine, and check it.

    Raises:
        WrongUseError: a tree is not one, or two trees of a route have different roots.
    """
    reduce, broadcast = (
        np.ascontiguousarray(parents, dtype=np.int32)
        for parents in (forest.reduce_parents, forest.broadcast_parents)
    )
    if reduce.ndim != 2 or broadcast.shape != reduce.shape:
        raise WrongUseError("a forest's parents are two arrays of routes by ranks")
    if (reduce == ABSENT).any() or (broadcast == ABSENT).any():
        raise WrongUseError(
            "the plan has servers that some of its routes do without, and the engine runs none",
            "plink hub runs servers",
        )
    weights = np.asarray(forest.weights, dtype=np.float64).tolist()
    try:
        return core.Forest(reduce.shape[1], weights, reduce, broadcast)
    except ValueError as error:
        raise WrongUseError(f"the plan cannot be used: {error}") from None
