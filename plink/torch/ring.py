"""Host memory that copies from and to an accelerator use in turn."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_LEAST_BYTES = 64 << 10


def pinned_memory(size_bytes: int) -> Tensor:
    """Page-locked memory, without which copies block."""
    return torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True)


class Ring:
    """A few buffers, each allocated when it is first needed and then used again and again: to lock
    pages takes longer than to copy what they hold.

    One thread takes buffers, another gives them back in the same order.

    Args:
        slots: how many buffers there are.
        allocate: memory of so many bytes.
    """

    def __init__(self, slots: int, allocate: Callable[[int], Tensor] = pinned_memory) -> None:
        self._allocate = allocate
        self._free: queue.SimpleQueue[tuple[Tensor | None, Any]] = queue.SimpleQueue()
        for _ in range(slots):
            self._free.put((None, None))

    @property
    def has_free(self) -> bool:
        """Whether `take` would find a buffer at once; its last copy may still be under way."""
        return not self._free.empty()

    def take(self, size_bytes: int) -> Tensor:
        """Return a uint8 buffer of at least so many bytes, once one is free and no longer read."""
        buffer, read = self._free.get()
        try:
            if read is not None:
                read.synchronize()
            if buffer is None or buffer.numel() < size_bytes:
                # By powers of two, so that sizes that grow lock few pages anew.
                wanted = max(size_bytes, _LEAST_BYTES)
                buffer = self._allocate(1 << (wanted - 1).bit_length())
        except RuntimeError:
            self._free.put((None, None))
            raise
        return buffer

    def give_back(self, buffer: Tensor, read: Any = None) -> None:
        """`read`: the event after which nothing reads the buffer; None where nothing does."""
        self._free.put((buffer, read))
