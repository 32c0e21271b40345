"""Collective call of a job, with a lower bound on the bytes that links must carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from plink.plans.names import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    COLLECTIVES,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND_RECEIVE,
)
from plink.solvers.forests.lower_bound import ExchangedBytes, LeastExchange, allreduce_exchange

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

# A barrier is an all-reduce of one number.
BARRIER_BYTES = 8


@dataclass(frozen=True)
class Demand:
    """Call of a collective by all ranks.

    Args:
        collective: one of `plink.plans.names.COLLECTIVES`.
        size_bytes: of the whole buffer: what a rank has before a reduce-scatter or an all-to-all
            and after an all-gather, what the root of a gather or scatter has, one message of a
            send-receive. A barrier has none.
        parts: (P,) the share of each rank in it, for those that have parts; of an all-to-all
            (P, P), from rank (row) to rank, in buffers of `size_bytes`. None where all are even.
        root: root of a broadcast, reduce, gather or scatter.

    Raises:
        ValueError: no such collective, or parts that are negative or sum up to something else.
    """

    collective: str
    size_bytes: float
    parts: Floats | None = field(default=None, compare=False)
    root: int = 0

    def __post_init__(self) -> None:
        if self.collective not in COLLECTIVES:
            raise ValueError(f"there is no collective {self.collective!r}")
        if self.parts is None:
            return
        sums = self.parts.sum() if self.parts.ndim == 1 else 1.0
        if (self.parts < 0.0).any() or abs(sums - 1.0) > 1e-9:
            raise ValueError("parts must not be negative, and must have the sum 1")

    def parts_bytes(self, ranks: int) -> Floats:
        """Return the bytes of each rank's part, shape (P,)."""
        shares = np.full(ranks, 1.0 / ranks) if self.parts is None else self.parts
        parts: Floats = self.size_bytes * shares
        return parts


def between_bytes(demand: Demand, ranks: int) -> Floats:
    """Return bytes sent directly from rank (row) to rank (column), without trees, (P, P)."""
    between = np.zeros((ranks, ranks))
    if demand.collective == GATHER:
        between[:, demand.root] = demand.parts_bytes(ranks)
    elif demand.collective == SCATTER:
        between[demand.root] = demand.parts_bytes(ranks)
    elif demand.collective == ALL_TO_ALL:
        shares = demand.parts if demand.parts is not None else np.full((ranks, ranks), 1.0 / ranks)
        between = demand.size_bytes * shares
    elif demand.collective == SEND_RECEIVE:
        everyone = np.arange(ranks)
        between[everyone, np.roll(everyone, -1)] = demand.size_bytes
    np.fill_diagonal(between, 0.0)
    return between


def compute_least_exchange(demand: Demand, host_of: Sequence[int] | Indices) -> LeastExchange:
    """Return the least bytes that hosts, or groups of hosts, must exchange.

    A segment of a reduce-scatter leaves every party but its owner's once, summed up there, and
    enters the owner's at least once; an all-gather is that turned round (as in Patarasuk and Yuan
    2009, for parties that are groups, too). A broadcast enters every party but the root's. What
    goes straight from rank to rank crosses between parties as it is.

    Args:
        demand: the collective.
        host_of: (P,) the host of each rank.
    """
    hosts = np.asarray(host_of, dtype=np.intp)
    if demand.collective in (ALL_REDUCE, BARRIER):
        return allreduce_exchange(
            BARRIER_BYTES if demand.collective == BARRIER else demand.size_bytes
        )
    if demand.collective in (REDUCE_SCATTER, BROADCAST, REDUCE, ALL_GATHER):
        # Turned round, a reduce-scatter is an all-gather, and a reduction a broadcast.
        is_gathered = demand.collective in (ALL_GATHER, BROADCAST)
        return lambda party_of: _least_along_trees(demand, party_of[hosts], is_gathered)
    between = between_bytes(demand, len(hosts))
    return lambda party_of: _least_of_messages(between, party_of[hosts])


def _least_along_trees(demand: Demand, party_of: Indices, is_gathered: bool) -> ExchangedBytes:
    """Return the least traffic of segments that are reduced to, or sent from, their owners."""
    parties = int(party_of.max()) + 1
    if demand.collective in (BROADCAST, REDUCE):
        parts = np.where(np.arange(len(party_of)) == demand.root, demand.size_bytes, 0.0)
    else:
        parts = demand.parts_bytes(len(party_of))
    owned: Floats = np.bincount(party_of, parts, parties).astype(np.float64)
    others = float(owned.sum()) - owned
    if parties == 1:
        owned = np.zeros(1)
    total = (parties - 1) * float(owned.sum())
    return (
        ExchangedBytes(owned, others, total)
        if is_gathered
        else ExchangedBytes(others, owned, total)
    )


def _least_of_messages(between: Floats, party_of: Indices) -> ExchangedBytes:
    """Return the least traffic of (P, P) messages that cannot be summed on the way."""
    parties = int(party_of.max()) + 1
    crossing = np.zeros((parties, parties))
    np.add.at(crossing, (party_of[:, None], party_of[None, :]), between)
    np.fill_diagonal(crossing, 0.0)
    return ExchangedBytes(crossing.sum(axis=1), crossing.sum(axis=0), float(crossing.sum()))
