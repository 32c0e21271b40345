"""Where Gloo meets: the engine tells all ranks, which it has connected, what each puts there."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import numpy as np
from torch.distributed.distributed_c10d import Store

from plink.engine import Engine


class EngineStore(Store):
    """Serves the set-up of a group in which every rank sets its keys before it reads the others'.

    Gloo's does, and reads one key a rank, one after the other, each in two round trips to PyTorch's
    store: the square of the ranks in all. Here two all-reduces tell everybody everything.

    Args:
        engine: over the same ranks; nobody else uses it meanwhile.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine
        self._untold: dict[str, str] = {}
        self._told: dict[str, bytes] = {}

    def set(self, key: str, value: Any) -> None:
        """Tell it with the next exchange."""
        self._untold[key] = bytes(value).hex()

    def get(self, key: str) -> bytes:
        """What a rank set before it first read.

        Raises:
            EngineError: a rank was lost, or did not come; it is named.
            RuntimeError: nobody has set it.
        """
        if key not in self._told:
            self._exchange()
        if key not in self._told:
            raise RuntimeError(f"no rank has set {key}")
        return self._told[key]

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:  # noqa: ARG002
        """Return when all are there. How long the engine waits counts, not `timeout`."""
        for key in keys:
            self.get(key)

    def _exchange(self) -> None:
        rank, ranks = self._engine.rank, self._engine.ranks
        own = json.dumps(self._untold).encode()
        self._untold = {}
        sizes = np.zeros(ranks, dtype=np.int64)
        sizes[rank] = len(own)
        self._engine.allreduce(sizes).wait()
        # Each rank's words begin at a whole item; where one speaks all others are silent.
        items = -(-sizes // 8)
        begins = np.concatenate([[0], np.cumsum(items)])
        words = np.zeros(begins[-1], dtype=np.int64)
        words.view(np.uint8)[8 * begins[rank] :][: len(own)] = np.frombuffer(own, dtype=np.uint8)
        self._engine.allreduce(words).wait()
        heard = words.tobytes()
        for begin, size in zip(begins, sizes, strict=False):
            told = json.loads(heard[8 * begin : 8 * begin + size])
            self._told.update({key: bytes.fromhex(value) for key, value in told.items()})
