"""Factors before and after a sum."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from plink.torch.pieces import PieceWork
from plink.torch.staging import Post, Stage


class ScaledStage:
    """A stage whose buffer is multiplied before, and its tensors after.

    Args:
        stage: which.
        tensors: of it.
        before: a factor of what is contributed.
        after: a factor of the result.
    """

    def __init__(
        self, stage: Stage, tensors: Sequence[Tensor], before: float, after: float
    ) -> None:
        self._stage = stage
        self._tensors = tensors
        self._before = before
        self._after = after
        self.is_ready = stage.is_ready
        self.devices: Sequence[torch.device] = stage.devices

    @property
    def size_bytes(self) -> int:
        """Of all tensors together."""
        return self._stage.size_bytes

    def begin(self, post: Post) -> PieceWork | None:
        """As the stage does."""
        if self._before == 1.0:
            return self._stage.begin(post)
        return self._stage.begin(lambda host: post(host.mul_(self._before)))

    def finish(self) -> None:
        """As the stage does."""
        self._stage.finish()
        if self._after != 1.0:
            for tensor in self._tensors:
                tensor.detach().mul_(self._after)

    def join(self) -> None:
        """As the stage does."""
        self._stage.join()

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """As the stage does."""
        return self._stage.arrival()
