"""Scaling of an all-reduce's buffer before and after the sum."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from plink.torch.pieces import PieceWork
from plink.torch.staging import Post, Stage


class ScaledStage:
    """Stage whose host buffer is multiplied before it is reduced, and after.

    Args:
        stage: which.
        before: a factor of what is contributed.
        after: a factor of the result.
    """

    def __init__(self, stage: Stage, before: float, after: float) -> None:
        self._stage = stage
        self._before = before
        self._after = after
        self.is_ready = stage.is_ready
        self.devices: Sequence[torch.device] = stage.devices

    @property
    def size_bytes(self) -> int:
        """Bytes of all tensors together."""
        return self._stage.size_bytes

    def fuse(self, tensors: Sequence[Tensor], stages: Sequence[Stage]) -> Stage:
        """Return one stage for the tensors of several, with the same factors."""
        return ScaledStage(self._stage.fuse(tensors, stages), self._before, self._after)

    def begin(self, post: Post) -> PieceWork | None:
        """Begin the wrapped stage, with scaled buffers."""

        def post_scaled(host: Tensor) -> PieceWork | None:
            if self._before != 1.0:
                host.mul_(self._before)
            work = post(host)
            if self._after == 1.0:
                return work
            if work is None:
                host.mul_(self._after)
                return None
            return _ScaledWork(work, host, self._after)

        return self._stage.begin(post_scaled)

    def finish(self) -> None:
        """Finish the wrapped stage."""
        self._stage.finish()

    def join(self) -> None:
        """Join the wrapped stage."""
        self._stage.join()

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Return the wrapped stage's context for the arrival."""
        return self._stage.arrival()


class _ScaledWork:
    """Work whose buffer is multiplied once it has ended, before anybody reads the buffer.

    Args:
        work: of the reduction.
        host: its buffer.
        factor: of the result.
    """

    def __init__(self, work: PieceWork, host: Tensor, factor: float) -> None:
        self._work = work
        self._host = host
        self._factor = factor
        self._lock = threading.Lock()
        self._is_scaled = False

    @property
    def posted_s(self) -> float | None:
        return self._work.posted_s

    @property
    def ended_s(self) -> float | None:
        return self._work.ended_s

    def done(self) -> bool:
        return self._work.done()

    def wait(self, timeout_s: float | None = None) -> None:
        self._work.wait(timeout_s)
        with self._lock:
            if not self._is_scaled:
                self._host.mul_(self._factor)
                self._is_scaled = True
