"""What ranks read of PyTorch's store, and the forest that rank 0 tells."""

from __future__ import annotations

import base64
import json
import time
import zlib
from typing import Any

import numpy as np
import pytest
from torch.distributed import HashStore, PrefixStore

from plink.engine import C10dStore, EngineError
from plink.engine.store import get_all
from plink.plans.forest import Forest
from plink.plans.regroup import flat
from plink.torch import forest_text
from plink.torch.forest_text import forest_from_json, forest_to_json
from plink.torch.forests import PlanChoice


class CountingStore:
    """PyTorch's, and how often it was asked."""

    def __init__(self) -> None:
        self.store: Any = PrefixStore("job", HashStore())
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(self.store, name)


def test_many_keys_are_one_question() -> None:
    counting = CountingStore()
    store = C10dStore(counting)
    keys = [str(rank) for rank in range(1000)]
    for key in keys:
        store.set(key, key.encode())
    counting.asked.clear()
    assert get_all(store, keys, time.monotonic() + 20) == [key.encode() for key in keys]
    assert counting.asked.count("wait") == 1
    assert "get" not in counting.asked


def test_what_is_missing_is_none() -> None:
    store = C10dStore(PrefixStore("job", HashStore()))
    store.set("0", b"here")
    assert get_all(store, ["0", "1"], time.monotonic() + 0.05) == [b"here", None]


@pytest.mark.parametrize("is_alike", [True, False])
def test_a_forest_is_told_in_few_bytes(is_alike: bool) -> None:
    ranks = 300
    chains = np.tile(np.arange(-1, ranks - 1, dtype=np.int32), (ranks, 1))
    stars = flat(ranks).reduce_parents
    broadcast = chains if is_alike else np.where(chains < 0, chains, 0).astype(np.int32)
    forest = Forest(np.arange(1.0, ranks + 1), chains, broadcast)
    text = json.dumps(forest_to_json(forest))
    told = forest_from_json(json.loads(text), ranks)
    assert len(zlib.compress(text.encode())) < 20_000
    assert np.array_equal(told.weights, forest.weights)
    assert np.array_equal(told.reduce_parents, chains)
    assert np.array_equal(told.broadcast_parents, broadcast)
    assert forest_to_json(flat(ranks)) is None
    assert np.array_equal(forest_from_json(None, ranks).reduce_parents, stars)


def test_a_forest_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest_text, "_MOST_BYTES", 1 << 10)
    packed = base64.b64encode(zlib.compress(bytes(1 << 16))).decode()
    agreement: dict[str, Any] = {
        "forest": {"weights": [1.0], "reduce": packed, "broadcast": None},
        "planned": [0, 1],
        "tuned": None,
        "is_cut": False,
    }
    with pytest.raises(ValueError, match="more than 1,024 bytes"):
        forest_from_json(agreement["forest"], 2)
    with pytest.raises(EngineError, match="cannot be read here"):
        PlanChoice(0, 2, None, is_part=False).forest(agreement)
