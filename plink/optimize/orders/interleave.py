"""Search for placements of single ranks on slots: a host's ranks need not be neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.optimize.orders.contention import ContentionObjective
from plink.optimize.orders.latency import LatencyObjective
from plink.solvers.collectives.form import RingForm
from plink.solvers.limits import Deadline
from plink.solvers.orders.latency_search import search_by_latency
from plink.solvers.search import LEAST_S, SearchOptions, Solution
from plink.solvers.slots.anneal import anneal_order
from plink.solvers.slots.bound import by_slot, slots_bound
from plink.solvers.slots.layout import RankLayout, pad_form

# The search keeps a matrix of all slots.
_MOST_SLOTS = 4096

_PROOF_SHARE = 0.2

# A placement that saves less than this share is not worth to be apart for.
_LEAST_GAIN = 1e-6


def check_size(layout: RankLayout) -> None:
    """Raise WrongUseError if there are more slots than a search over single slots can handle.

    Raises:
        WrongUseError: too many.
    """
    slots = sum(layout.slots)
    if slots > _MOST_SLOTS:
        raise WrongUseError(
            f"{{interleave=}} is limited to {_MOST_SLOTS:,} slots, but there are {slots:,}",
            "without it the ranks of a host are adjacent, and any number of slots is allowed",
            arguments={"interleave": True},
        )


def search_interleaved(
    objective: LatencyObjective | ContentionObjective,
    adjacent: Solution,
    *,
    seed: int,
    deadline: Deadline,
) -> tuple[Solution, list[int]]:
    """Search interleaved placements; return the cheapest, or the adjacent one, with a bound.

    Args:
        objective: latency or contention.
        adjacent: the best order of hosts whose ranks are adjacent.
        seed: decides every choice by chance.
        deadline: deadline of the search.

    Returns:
        how it was found, and the host of every rank.
    """
    layout = objective.layout
    placement: list[int] = layout.placement(adjacent.order).tolist()
    if isinstance(objective, LatencyObjective):
        form, search = objective.form, partial(_by_latency, objective)
    else:
        form, search = objective.by_latency.form, partial(_by_time, objective)
    if isinstance(form, RingForm):
        # Every host is left once at least, and with adjacent ranks no more often.
        return adjacent, placement
    found = search(adjacent.order, seed, deadline)
    host_of = layout.host_by_slot
    if found.cost < adjacent.cost * (1.0 - _LEAST_GAIN):
        return found, host_of[found.order[: layout.ranks]].tolist()
    bound_us = min(found.lower_bound, adjacent.cost)
    kept = replace(adjacent, lower_bound=bound_us)
    # What proved the order of hosts proves nothing of other placements.
    return replace(kept, ended_by=found.ended_by), placement


def _slots_in_order(layout: RankLayout, order: Sequence[int]) -> list[int]:
    """Return the numbers of all hosts' slots, host after host in an order.

    Those of the host that is filled in part, too.
    """
    first = np.concatenate([[0], np.cumsum(layout.slots)])
    return [slot for host in order for slot in range(int(first[host]), int(first[host + 1]))]


def _by_latency(
    objective: LatencyObjective, order: Sequence[int], seed: int, deadline: Deadline
) -> Solution:
    layout = objective.layout
    if isinstance(objective.form, RingForm):
        raise TypeError("a ring keeps the ranks of a host adjacent, and cannot be interleaved")
    left_s = max(deadline.left_s, LEAST_S)
    proof_s = _PROOF_SHARE * left_s
    limits = objective.limits
    found = search_by_latency(
        pad_form(objective.form, sum(layout.slots)),
        by_slot(objective.matrix_us, layout),
        _slots_in_order(layout, order),
        seed=seed,
        time_limit_s=left_s - proof_s,
        threads=objective.threads,
        proof_limit_s=proof_s if limits is None else 0.0,
    )
    bound = found.lower_bound
    if limits is not None:
        # What the search proves is of distances that were filled in.
        bound = slots_bound(objective.form, limits.lowest_us, layout, min(proof_s, deadline.left_s))
    return replace(found, lower_bound=bound)


def _by_time(
    objective: ContentionObjective, order: Sequence[int], seed: int, deadline: Deadline
) -> Solution:
    layout = objective.layout
    host_of = layout.host_by_slot

    def price(slots: Sequence[int]) -> float:
        return objective.time_us(host_of[list(slots[: layout.ranks])])

    slots = _slots_in_order(layout, order)
    found = anneal_order(price, slots, lambda _: layout.ranks, SearchOptions(deadline, seed))
    return replace(found, solver="contention-annealing")
