"""The chunked ring: every member is the end of a chain through all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.forests.routes import Routes, check_permutation, make_routes


def ring(order: Sequence[int]) -> Routes:
    """As many chains as members, of equal weight.

    The sum goes round from the member after the root to the root, and on round again.

    Args:
        order: the members in the order in which they send to each other.

    Raises:
        ValueError: no permutation.
    """
    members = check_permutation(order)
    after = np.empty_like(members)
    after[members] = np.roll(members, -1)
    before = np.empty_like(members)
    before[members] = np.roll(members, 1)
    up = np.tile(after, (len(members), 1))
    down = np.tile(before, (len(members), 1))
    # Roots in the order of the ring, so that chunks begin everywhere at once.
    routes = np.arange(len(members))
    up[routes, members] = -1
    down[routes, members] = -1
    return make_routes(np.ones(len(members)), up, down)
