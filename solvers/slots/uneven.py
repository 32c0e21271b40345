"""Orders of hosts with different numbers of slots, by searches among hosts with equal slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers.limits.deadline import Deadline
from plink.solvers.slots.layout import RankLayout

Order = list[int]

# So often the places get the numbers of ranks of the best order so far.
TURNS = 3


def by_places(
    layout: RankLayout,
    starts: Sequence[Order],
    price: Callable[[Sequence[int]], float],
    search: Callable[[npt.NDArray[np.intp], Order], Sequence[int]],
    deadline: Deadline,
) -> Order:
    """Return the cheapest of some starting orders and of searches from the cheapest one.

    A search takes the places of an order to have as many ranks as they have in its start, whichever
    hosts come there. That is true of hosts with as many slots; what others change is seen when the
    order is priced, and the next turn begins with what it has become.

    Args:
        layout: how ranks fill hosts.
        starts: permutations of all hosts.
        price: of an order.
        search: of the place of every rank in a start, and that start: a permutation.
        deadline: no search begins after it.
    """
    best: Order = min([list(start) for start in starts], key=price)
    for _ in range(TURNS):
        if deadline.is_over:
            break
        place_of_rank = np.repeat(np.arange(layout.hosts), [layout.slots[host] for host in best])
        found = list(search(place_of_rank[: layout.ranks], best))
        if price(found) >= price(best):
            break
        best = found
    return best
