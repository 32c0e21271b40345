"""Flat sharded aggregation: every member is the root of a star (a fully sharded, colocated PS)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from solvers.forests.balance import master_shares
from solvers.forests.routes import Routes, make_routes


def flat(link_bytes_s: npt.ArrayLike) -> Routes:
    """A star for every member, weighted so that no member's link is the last to end.

    Equal links get equal shares: Luo 2020, Table 4.1, "PS (fully sharded)".

    Args:
        link_bytes_s: (P,) what each member's link carries in either direction.

    Raises:
        ValueError: no members, or rates that are not above 0.
    """
    rates = np.asarray(link_bytes_s, dtype=np.float64)
    everyone = np.arange(len(rates))
    shares = master_shares(np.zeros(len(rates), dtype=np.intp), rates, np.array([np.inf]))
    roots = np.flatnonzero(shares.of_members > 0.0)
    parents = np.where(everyone[None, :] == roots[:, None], -1, roots[:, None])
    return make_routes(shares.of_members[roots], parents)
