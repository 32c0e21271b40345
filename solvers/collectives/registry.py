"""Collective algorithms of papers and libraries, to find by name or by collective."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

from plink.solvers.collectives import gloo, lightgbm, mpi, nccl, papers
from plink.solvers.collectives.algorithm import Algorithm

ALGORITHMS: Mapping[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        *papers.ALL,
        *gloo.ALL,
        *mpi.OPEN_MPI,
        *mpi.MPICH,
        *nccl.ALL,
        *lightgbm.ALL,
        *papers.ALL_TO_ALL,
    )
}

# What carries out other collectives in a library.
OTHERS: Mapping[str, Algorithm] = {algorithm.name: algorithm for algorithm in gloo.OTHERS}

# Those of which a name may choose a variant, as in `bcube:2`.
_VARIANTS: Mapping[str, Callable[[int, str], Algorithm]] = {
    "bcube": papers.bcube,
    "gloo-bcube": gloo.legacy_bcube,
}


def find_by_collective(collective: str) -> list[Algorithm]:
    """Return the algorithms that implement a collective, such as `all-gather`."""
    known = [*ALGORITHMS.values(), *OTHERS.values()]
    return [each for each in known if each.collective == collective]


def find(name: str) -> Algorithm:
    """Return the algorithm of a name, such as `ring` or `bcube:8`; raise if there is none.

    Args:
        name: name of an algorithm, or `bcube:B` or `gloo-bcube:B` for groups of B ranks.

    Raises:
        ValueError: there is no such algorithm; the message has similar names, if there are any.
    """
    known = {**ALGORITHMS, **OTHERS}
    if name in known:
        return known[name]
    family, colon, number = name.partition(":")
    if colon and family in _VARIANTS and number.isdecimal():
        return _VARIANTS[family](int(number), name)
    near = difflib.get_close_matches(family, known, n=3)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    raise ValueError(f"there is no algorithm {name!r}{meant}")
