"""What ranks read of PyTorch's store, and the forest that rank 0 tells."""

from __future__ import annotations

import base64
import struct
import time
import zlib
from typing import Any

import pytest
from torch.distributed import HashStore, PrefixStore

from plink.engine import C10dStore, EngineError
from plink.engine.store import get_all
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


def test_an_agreement_that_unpacks_to_too_much_is_refused() -> None:
    packed = struct.pack("<II?", 1, 2, True) + zlib.compress(bytes(1 << 16))
    agreement: dict[str, Any] = {
        "forest": base64.b64encode(packed).decode(),
        "planned": [0, 1],
        "tuned": None,
        "is_cut": False,
    }
    with pytest.raises(EngineError, match="cannot be read here"):
        PlanChoice(0, 2, None, is_part=False).forest(agreement)
