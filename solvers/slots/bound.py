"""What no order of hosts costs less than, however ranks fill them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from solvers.bounds.lower_bound import lower_bound
from solvers.collectives.form import Form
from solvers.slots.layout import RankLayout
from solvers.slots.slot_search import over_hosts, search_with_slots, slots_bound

Matrix = npt.NDArray[np.float64]

# So few hosts are mostly searched to the end, which proves more than a bound does.
_MOST_SEARCHED_HOSTS = 16

_SEARCH_SHARE = 0.5


def least_cost(
    form: Form, distance: Matrix, layout: RankLayout, order: Sequence[int], time_limit_s: float
) -> float:
    """A proven lower bound of the cost over all orders and choices of hosts, without a search.

    For where orders are searched on other distances than those that something is proven of.

    Args:
        form: what the cost sums up, over all ranks.
        distance: (H, H), symmetric, zero diagonal, finite, not negative.
        layout: how ranks fill the H hosts.
        order: a permutation of the hosts, for few hosts' search to begin with.
        time_limit_s: for the proof. An interrupt (Ctrl-C) ends it with 0 or what there is.
    """
    simpler = over_hosts(form, layout)
    found = 0.0
    try:
        if layout.hosts <= _MOST_SEARCHED_HOSTS:
            limit_s = _SEARCH_SHARE * time_limit_s
            found = search_with_slots(
                form, distance, layout, order, time_limit_s=limit_s, proof_limit_s=limit_s
            ).lower_bound
        elif simpler is not None:
            found = lower_bound(simpler, distance, time_limit_s).value
        else:
            found = slots_bound(form, distance, layout, time_limit_s)
    except KeyboardInterrupt:
        pass
    return found
