"""Pairwise all-to-all."""

from __future__ import annotations

from plink.solvers.collectives.algorithm import define
from plink.solvers.collectives.form import rounds_form
from plink.solvers.collectives.steps import ring_round
from plink.solvers.collectives.table import PeerTable


def _pairwise(ranks: int, size_bytes: int) -> PeerTable:
    """Return rounds in which rank r sends its part to rank r + k, for k = 1, 2, ..."""
    rounds = [ring_round(ranks, distance, size_bytes / ranks) for distance in range(1, ranks)]
    return PeerTable(ranks, rounds)


ALL = (
    define(
        "all-to-all",
        "pairwise all-to-all: in round k every rank sends a part of its own to the k-th after it",
        _pairwise,
        lambda ranks: rounds_form(ranks, _pairwise(ranks, ranks).rounds),
        messages=lambda ranks: ranks * (ranks - 1),
        collective="all-to-all",
    ),
)
