"""Starting orders of a search: groups in sequence, and a short ring through them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers.collectives.form import RingForm
from plink.solvers.contention.network import Floats, Network
from plink.solvers.contention.stages import Waits
from plink.solvers.limits.deadline import Deadline
from plink.solvers.slots.layout import RankLayout
from plink.solvers.slots.slot_search import search_with_slots

# A search has some time at least.
_LEAST_S = 1e-3
# Other distances are made and looked at, in so long a time a pair of hosts.
_PREPARATION_S = 1e-8


def in_sequence(order: Sequence[int], group_of: npt.NDArray[np.intp]) -> list[int]:
    """Return the order with the hosts of each group adjacent, otherwise unchanged.

    A host without a group stays by itself.
    """
    first_place: dict[int, int] = {}
    keys = []
    for place, host in enumerate(order):
        group = int(group_of[host])
        keys.append(place if group < 0 else first_place.setdefault(group, place))
    places = sorted(range(len(order)), key=lambda place: (keys[place], place))
    return [order[place] for place in places]


def ring_by_groups(
    waits: Waits, network: Network, distance: Floats, seed: int, deadline: Deadline
) -> list[int] | None:
    """Return one ring that leaves as few groups as possible, then is as short as possible.

    Args:
        waits: waits of the table, of as many positions as the ring takes hosts.
        network: the hosts and their groups.
        distance: (N, N), symmetric.
        seed: seed of the search for the nearest ring.
        deadline: deadline of that search.

    Returns:
        position p is on host `order[p]`, and the hosts that are left follow; None where the table
        is something else, or the time does not suffice to prepare the search.

    Raises:
        KeyboardInterrupt: the user ended that search.
    """
    if len(waits.counts) != 1 or not waits.goes_round[0]:
        return None
    if deadline.left_s < _PREPARATION_S * network.hosts**2:
        return None
    ring = len(waits.sources)
    found = search_with_slots(
        RingForm(ring),
        _with_penalties(distance, network.group_of),
        RankLayout([1] * network.hosts, ring),
        range(network.hosts),
        seed=seed,
        time_limit_s=max(deadline.left_s, _LEAST_S),
    )
    if found.ended_by == "interrupt":
        raise KeyboardInterrupt
    next_of = np.empty(ring, dtype=np.intp)
    next_of[waits.sources] = waits.destinations
    order = [0] * ring
    position = 0
    for host in found.order[:ring]:
        order[position] = host
        position = int(next_of[position])
    return [*order, *found.order[ring:]]


def _with_penalties(distance: Floats, group_of: npt.NDArray[np.intp]) -> Floats:
    """Return distances in which an extra crossing between groups outweighs any saving."""
    penalty = max(1.0, float(distance.max())) * len(distance)
    found = distance.copy()
    for host, group in enumerate(group_of):
        found[host] += penalty * (group_of != group)
    return found
