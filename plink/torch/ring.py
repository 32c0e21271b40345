"""Ring of host buffers for copies from and to an accelerator."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_LEAST_BYTES = 64 << 10


def pinned_memory(size_bytes: int) -> Tensor:
    """Allocate page-locked host memory as uint8, (size_bytes,); copies from other memory block."""
    return torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True)


class Ring:
    """Ring of a few buffers, each allocated when first needed and then used again and again.

    To lock pages takes longer than to copy what they hold.

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
        """Whether `take` would get a buffer at once; the buffer's last copy may be under way."""
        return not self._free.empty()

    def take(self, size_bytes: int) -> Tensor:
        """Return a uint8 buffer of at least `size_bytes`, once one is free and no longer read."""
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
        """Return a buffer to the ring; nothing reads it after the event `read`, if there is one."""
        self._free.put((buffer, read))
