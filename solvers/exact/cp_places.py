"""CP-SAT variables that assign ranks to hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ortools.sat.python import cp_model

from plink.solvers.limits.deadline import Deadline

# `places[rank][host]`: whether the rank is on the host.
Places: TypeAlias = Sequence[Sequence[cp_model.IntVar]]

# `pairs[i, j]`: whether two ranks that are joined are on the hosts i and j.
Pairs: TypeAlias = Mapping[tuple[int, int], cp_model.IntVar]


def add_places(model: cp_model.CpModel, ranks: int) -> Places:
    """Add variables that place every rank on one host and every host under one rank."""
    everyone = range(ranks)
    places = [[model.new_bool_var(f"rank {p} on {i}") for i in everyone] for p in everyone]
    for rank in everyone:
        model.add_exactly_one(places[rank])
    for host in everyone:
        model.add_exactly_one(places[rank][host] for rank in everyone)
    return places


def join(
    model: cp_model.CpModel,
    places: Places,
    pairs: Pairs,
    peers: Mapping[int, Sequence[int]],
    deadline: Deadline,
) -> None:
    """Constrain the ranks of two hosts by whether the hosts are adjacent in the form.

    Args:
        model: to add to.
        places: places of the ranks.
        pairs: whether two hosts are joined, from the first to the second.
        peers: of every rank, those to which it is joined.
        deadline: when to stop.

    Raises:
        TimeoutError: the time did not suffice.
    """
    for (i, j), is_joined in pairs.items():
        deadline.require()
        for rank, others in peers.items():
            for other in others:
                model.add_bool_or(~places[rank][i], ~places[other][j], is_joined)
            model.add_bool_or(~places[rank][i], ~is_joined, *(places[q][j] for q in others))


def read_places(places: Places, is_true: Callable[[cp_model.IntVar], bool]) -> list[int]:
    """Return the order in a solution."""
    return [next(i for i, here in enumerate(row) if is_true(here)) for row in places]
