"""Costs of a forest on any network: rounds and bytes of a collective (Luo 2020, Table 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plink.plans.forest import Forest, Parents

Bytes = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measures:
    """Traffic of one collective call: rounds, bytes on the wire, between groups and by rank.

    Args:
        rounds: messages that the longest way from a rank to the root and on to a rank takes.
        wire_bytes: what hosts send to each other.
        cross_group_bytes: of those, what goes from a group to another.
        sent_bytes, received_bytes: (P,) of every rank, also within its host.
        balance: what the busiest rank sends and receives, as a multiple of the mean; 1 is even.
    """

    rounds: int
    wire_bytes: float
    cross_group_bytes: float
    sent_bytes: Bytes
    received_bytes: Bytes
    balance: float


def measure(
    forest: Forest,
    size_bytes: float,
    *,
    group_of: Sequence[int] | None = None,
    host_of: Sequence[int] | None = None,
) -> Measures:
    """Count rounds and bytes of one all-reduce along a valid forest.

    Ranks that a route does without, which are servers, send and receive nothing along it.

    Args:
        forest: forest of P ranks; a tree without edges is a direction in which nothing goes.
        size_bytes: size of the buffer, in bytes.
        group_of: (P,) the group of each rank; None for one group.
        host_of: (P,) the host of each rank; None for a host each.
    """
    between = bytes_between(forest, size_bytes)
    return measure_messages(between, _rounds(forest), group_of=group_of, host_of=host_of)


def measure_messages(
    between: Bytes,
    rounds: int,
    *,
    group_of: Sequence[int] | None = None,
    host_of: Sequence[int] | None = None,
) -> Measures:
    """Compute the traffic of one call from the bytes between each pair of ranks, (P, P).

    Args:
        between: (P, P) what each rank (row) sends to each other.
        rounds: as in `Measures`.
        group_of, host_of: as of `measure`.
    """
    ranks = len(between)
    group = np.zeros(ranks) if group_of is None else np.asarray(group_of)
    host = np.arange(ranks) if host_of is None else np.asarray(host_of)
    is_on_wire = host[:, None] != host[None, :]
    crosses = is_on_wire & (group[:, None] != group[None, :])
    sent, received = between.sum(axis=1), between.sum(axis=0)
    return Measures(
        rounds=rounds,
        wire_bytes=float(between[is_on_wire].sum()),
        cross_group_bytes=float(between[crosses].sum()),
        sent_bytes=sent,
        received_bytes=received,
        balance=_balance(sent + received),
    )


def bytes_between(forest: Forest, size_bytes: float) -> Bytes:
    """Return bytes from each rank (row) to each other (column) in one all-reduce, (P, P)."""
    total = np.zeros((forest.ranks, forest.ranks))
    share = size_bytes * forest.shares
    route, child = np.nonzero(forest.reduce_parents >= 0)
    np.add.at(total, (child, forest.reduce_parents[route, child]), share[route])
    route, child = np.nonzero(forest.broadcast_parents >= 0)
    np.add.at(total, (forest.broadcast_parents[route, child], child), share[route])
    return total


def sum_measures(each: Sequence[Measures]) -> Measures:
    """Add up the traffic of several collectives that the same ranks run one after another."""
    sent = np.sum([one.sent_bytes for one in each], axis=0)
    received = np.sum([one.received_bytes for one in each], axis=0)
    return Measures(
        rounds=sum(one.rounds for one in each),
        wire_bytes=sum(one.wire_bytes for one in each),
        cross_group_bytes=sum(one.cross_group_bytes for one in each),
        sent_bytes=sent,
        received_bytes=received,
        balance=_balance(sent + received),
    )


def _rounds(forest: Forest) -> int:
    is_used = forest.weights > 0.0
    up, down = _depths(forest.reduce_parents), _depths(forest.broadcast_parents)
    return int((up.max(axis=1) + down.max(axis=1))[is_used].max())


def _depths(parents: Parents) -> npt.NDArray[np.intp]:
    """Return the number of edges from every rank to its root, shape (R, P)."""
    is_root = parents < 0
    depth = np.where(is_root, 0, 1)
    above = np.where(is_root, np.arange(parents.shape[1]), parents)
    for _ in range(int(parents.shape[1]).bit_length()):
        depth = depth + np.take_along_axis(depth, above, axis=1)
        above = np.take_along_axis(above, above, axis=1)
    return depth


def _balance(busy: Bytes) -> float:
    return float(busy.max() / busy.mean()) if busy.any() else 1.0
