"""Merging of good rings: candidate edges from their union."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def merge_ring_edges(
    distance: npt.NDArray[np.float64], rings: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return each host's neighbours in any of the rings, nearest first.

    A search among these edges alone merges the rings (Cook and Seymour 2003): few hosts have more
    than three, so that most of the rings stands firm and what differs is soon tried.
    """
    size = len(distance)
    ends = np.asarray(rings, dtype=np.int64)
    after = np.roll(ends, -1, axis=1)
    keys = np.unique(np.concatenate([(ends * size + after).ravel(), (after * size + ends).ravel()]))
    host, other = np.divmod(keys, size)
    nearest_first = np.lexsort((distance[host, other], host))
    bounds = np.cumsum(np.bincount(host, minlength=size))[:-1]
    return [part.tolist() for part in np.split(other[nearest_first], bounds)]
