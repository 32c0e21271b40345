"""A forest that rank 0 puts into the job's store comes back whole, and nothing larger does."""

from __future__ import annotations

import base64
import tracemalloc
import zlib

import numpy as np
import pytest

from engine.forests import stars
from plink.torch.forest_text import forest_from_json, forest_to_json

RANKS = 4


def data() -> dict[str, object]:
    forest = stars(RANKS)
    forest = type(forest)(
        np.arange(1.0, 1.0 + RANKS), forest.reduce_parents, forest.broadcast_parents
    )
    found = forest_to_json(forest)
    assert found is not None
    return found


def test_a_forest_comes_back() -> None:
    forest = forest_from_json(data(), RANKS)
    assert forest.weights.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert np.array_equal(forest.reduce_parents, stars(RANKS).reduce_parents)


@pytest.mark.parametrize("size_bytes", [0, 4 * RANKS * RANKS - 1, 4 * RANKS * RANKS + 1, 1 << 28])
def test_parents_of_another_size_are_refused_before_they_are_unpacked(size_bytes: int) -> None:
    packed = base64.b64encode(zlib.compress(bytes(size_bytes), 9)).decode()
    given = {**data(), "reduce": packed}
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="bytes"):
            forest_from_json(given, RANKS)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
