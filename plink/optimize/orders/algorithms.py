"""The algorithms by name, and whether a cluster can run them."""

from __future__ import annotations

from plink.base.errors import WrongUseError
from plink.optimize.orders.slots import modelled
from solvers.collectives.algorithm import Algorithm
from solvers.collectives.registry import ALGORITHMS, find
from solvers.slots.layout import RankLayout


def algorithm_for(name: str, filling: RankLayout) -> Algorithm:
    """The algorithm of that name.

    Raises:
        WrongUseError: there is none, or its library does not run it with that many ranks.
    """
    try:
        found = find(name)
    except ValueError as error:
        raise WrongUseError(str(error), "plink order --list-algorithms names them all") from None
    ranks = modelled(found, filling).ranks
    refusal = found.refusal(ranks)
    if refusal is not None:
        raise WrongUseError(refusal, _alternative(name, ranks))
    return found


def _alternative(name: str, ranks: int) -> str | None:
    """Algorithms of the same kind that take so many ranks."""
    kind = name.split("-", 1)[-1] if name not in ALGORITHMS else name
    others = [
        other
        for other, algorithm in ALGORITHMS.items()
        if kind in other and other != name and algorithm.refusal(ranks) is None
    ]
    return f"with {ranks} ranks: {', '.join(others)}" if others else None
