"""Annealing of orders under any cost function, for hosts with different numbers of slots."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from plink.solvers.limits import Deadline
from plink.solvers.search import EndedBy, Search, SearchOptions, Solution
from plink.solvers.slots.layout import RankLayout

Order = Sequence[int]

# So many random moves tell how much one changes.
_SAMPLES = 30
# In mean changes: temperatures fall from the first to the second, geometrically in time.
_HOT, _COLD = 0.5, 1e-3
# The share of the time for moves that help alone, from the best order.
_DESCENT_SHARE = 0.2

# So often the places get the numbers of ranks of the best order so far.
TURNS = 3


def anneal_order(
    cost: Callable[[Order], float],
    start: Order,
    used: Callable[[Order], int],
    options: SearchOptions,
) -> Solution:
    """Return the cheapest order that annealing under any cost function finds.

    Moves exchange two places, put one elsewhere, or turn a stretch around (Kirkpatrick, Gelatt,
    Vecchi 1983).

    Args:
        cost: cost of an order of all that may have a place.
        start: at least two; returned where nothing is cheaper.
        used: how many of an order, from its front, matter to its cost.
        options: seed, deadline and progress.
    """
    deadline = options.deadline
    search = Search(cost, start, deadline, on_progress=options.on_progress)
    rng = np.random.default_rng(options.seed)

    def climb() -> EndedBy:
        order, now = search.order, search.cost
        changes: list[float] = []
        while len(changes) < _SAMPLES and not deadline.is_over:
            changes.append(abs(cost(_draw_neighbour(order, used, rng)) - now))
        unit = float(np.mean(changes)) if changes else 0.0
        is_descending = False
        while not deadline.is_over:
            progress = search.progress / (1.0 - _DESCENT_SHARE)
            if progress >= 1.0 and not is_descending:
                is_descending = True
                order, now = search.order, search.cost
            temperature = 0.0 if is_descending else unit * _HOT * (_COLD / _HOT) ** progress
            proposed = _draw_neighbour(order, used, rng)
            price = cost(proposed)
            search.steps += 1
            allowed = -temperature * math.log(1.0 - rng.random()) if temperature else 0.0
            if price - now <= allowed:
                order, now = proposed, price
                search.offer(order, price)
            search.tell()
        return "time"

    return search.run(climb, "annealing")


def _draw_neighbour(
    given: Order, used: Callable[[Order], int], rng: np.random.Generator
) -> list[int]:
    """Return an order changed by one random move that concerns a host with ranks."""
    order = list(given)
    first = int(rng.integers(used(order)))
    second = int(rng.integers(len(order)))
    kind = int(rng.integers(4))
    if kind == 0:
        order.insert(second, order.pop(first))
    elif kind == 1:
        low, high = sorted((first, second))
        order[low : high + 1] = order[low : high + 1][::-1]
    else:
        order[first], order[second] = order[second], order[first]
    return order


def search_by_places(
    layout: RankLayout,
    starts: Sequence[Order],
    price: Callable[[Order], float],
    search: Callable[[npt.NDArray[np.intp], Order], Order],
    deadline: Deadline,
) -> list[int]:
    """Improve the best start order by searches that fix how many ranks each position takes.

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
    best = min([list(start) for start in starts], key=price)
    for _ in range(TURNS):
        if deadline.is_over:
            break
        place_of_rank = np.repeat(np.arange(layout.hosts), [layout.slots[host] for host in best])
        found = list(search(place_of_rank[: layout.ranks], best))
        if price(found) >= price(best):
            break
        best = found
    return best
