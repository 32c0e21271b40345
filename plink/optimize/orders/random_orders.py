"""Median cost of random orders, the baseline that an order is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from plink.files.matrices import Matrix
from plink.optimize.orders.request import RANDOM_ORDERS
from plink.solvers.limits.deadline import Deadline

Orders = npt.NDArray[np.int64]

# Numbers in a block of orders: about how many are drawn between two looks at the clock.
_BLOCK = 1 << 16


def median_random_cost(
    costs_of: Callable[[Orders, Deadline], Matrix], hosts: int, seed: int, deadline: Deadline
) -> tuple[Matrix, int]:
    """Return the median cost of up to `RANDOM_ORDERS` random orders, and their number.

    Args:
        costs_of: the costs (K, ...) of the first K of (M, H) orders, at least one of them.
        hosts: H.
        seed: decides which orders.
        deadline: when to stop; one order is priced in any case.
    """
    costs: list[Matrix] = []
    for orders in _blocks(hosts, seed):
        costs.append(costs_of(orders, deadline))
        if deadline.is_over:
            break
    every = np.sort(np.concatenate(costs), axis=0)
    # NumPy's own median imports all of its masked arrays.
    middle = every[(len(every) - 1) // 2 : len(every) // 2 + 1]
    return middle.mean(axis=0), len(every)


def _blocks(hosts: int, seed: int) -> Iterator[Orders]:
    """Yield blocks of (M, H) random orders, independent of the block size."""
    rng = np.random.default_rng([seed, RANDOM_ORDERS])
    at_once = max(1, _BLOCK // hosts)
    for begin in range(0, RANDOM_ORDERS, at_once):
        count = min(at_once, RANDOM_ORDERS - begin)
        yield np.array([rng.permutation(hosts) for _ in range(count)], dtype=np.int64)
