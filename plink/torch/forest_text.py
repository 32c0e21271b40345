"""A forest as rank 0 tells it to the others."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from plink.base.expanding import expand
from plink.plans.forest import Forest, Parents
from plink.plans.regroup import flat

# Parents of a plan's trees, unpacked: 4 bytes a rank and tree.
_MOST_BYTES = 64 << 20


def forest_to_json(forest: Forest) -> dict[str, Any] | None:
    """Encode a forest for the other ranks; None for the flat forest, which every rank can make.

    A plan of 1,000 ranks may have millions of parents, which would take JSON long: they go as
    bytes, compressed and in base 64.
    """
    usual = flat(forest.ranks)
    reduce, broadcast = forest.reduce_parents, forest.broadcast_parents
    if all(
        np.array_equal(one, other)
        for one, other in (
            (forest.weights, usual.weights),
            (reduce, usual.reduce_parents),
            (broadcast, usual.broadcast_parents),
        )
    ):
        return None
    return {
        "weights": forest.weights.tolist(),
        "reduce": _parents_to_text(reduce),
        "broadcast": None if np.array_equal(reduce, broadcast) else _parents_to_text(broadcast),
    }


def forest_from_json(data: Mapping[str, Any] | None, ranks: int) -> Forest:
    """Parse the output of `forest_to_json` for so many ranks.

    Raises:
        ValueError, KeyError, TypeError, zlib.error: it made something else.
    """
    if data is None:
        return flat(ranks)
    weights = np.array(data["weights"], dtype=np.float64)
    reduce = _parents_from_text(data["reduce"], len(weights))
    is_alike = data["broadcast"] is None
    broadcast = reduce if is_alike else _parents_from_text(data["broadcast"], len(weights))
    return Forest(weights, reduce, broadcast)


def _parents_to_text(parents: Parents) -> str:
    packed = zlib.compress(np.ascontiguousarray(parents, dtype="<i4").tobytes(), 1)
    return base64.b64encode(packed).decode()


def _parents_from_text(text: str, routes: int) -> Parents:
    content = expand(base64.b64decode(text, validate=True), _MOST_BYTES)
    return np.frombuffer(content, dtype="<i4").reshape(routes, -1).astype(np.int32)
