"""Push of one iteration's gradients to the hub, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from plink.base.errors import WrongUseError
from plink.hub.hyper import Hyper
from plink.hub.worker import Step, Worker
from plink.torch.hub.layout import Layout


class Pushing:
    """Sender of gradients: copies each into the worker's array and pushes it, once an iteration.

    Args:
        worker: that sends.
        layout: of its arrays.
        hyper: what the next iteration is told, asked when its first gradient is there.
        scale: by which gradients are multiplied, asked when an iteration begins.
    """

    def __init__(
        self,
        worker: Worker,
        layout: Layout,
        hyper: Callable[[], list[Hyper]],
        scale: Callable[[], float],
    ) -> None:
        self._worker = worker
        self._layout = layout
        self._hyper = hyper
        self._scale = scale
        self._targets = layout.views(worker.gradients)
        self._lock = threading.Lock()
        self._told: list[Hyper] | None = None
        self._factor = 1.0
        # Of each pushed key the gradient, and what counted its changes when it was copied.
        self._pushed: dict[int, tuple[Tensor | None, int]] = {}

    @property
    def is_under_way(self) -> bool:
        """Whether an iteration has begun and waits for its step."""
        return self._told is not None

    @torch.no_grad()
    def came(self, index: int) -> None:
        """Push the gradient of a parameter, and begin the iteration if it is the first.

        Raises:
            WrongUseError: it was pushed in this iteration before, or is sparse.
        """
        with self._lock:
            if index in self._pushed:
                raise WrongUseError(
                    f"the gradient of '{self._layout.names[index]}' came once more before a step",
                    "call step() between, or use no_sync() for all backward passes but the last",
                )
            self._begin()
            self._push(index)

    @torch.no_grad()
    def rest(self) -> None:
        """Push what is missing in this iteration: gradients of earlier passes, or zeros."""
        with self._lock:
            self._begin()
            for index in range(len(self._layout)):
                if index not in self._pushed:
                    self._push(index)

    def verify(self) -> None:
        """Check that gradients and hyperparameters have not changed since they were pushed.

        GradScaler's own reading and unscaling do not count as changes, in PyTorch's count either.

        Raises:
            WrongUseError: gradients or hyperparameters were changed behind the pushes.
        """
        for index, (gradient, version) in self._pushed.items():
            now = self._layout.parameters[index].grad
            if now is not gradient or (now is not None and now._version != version):
                name = self._layout.names[index]
                raise WrongUseError(
                    f"the gradient of '{name}' was changed after it was pushed",
                    "clip_norm of hub.optimizer() clips at the hub; overlap=False pushes at step()",
                )
        if self._told is not None and self._told != self._hyper():
            raise WrongUseError(
                "hyperparameters were changed between backward and step, after they were pushed",
                "change them after step(), as schedulers do, or give overlap=False",
            )

    def wait(self) -> Step:
        """Wait for all new values of the iteration, then allow the next one."""
        try:
            return self._worker.wait()
        finally:
            self._pushed.clear()
            self._told = None

    def _begin(self) -> None:
        if self._told is None:
            hyper = self._hyper()
            self._worker.begin(hyper)
            self._told = hyper
            self._factor = self._scale()

    def _push(self, index: int) -> None:
        gradient = self._layout.parameters[index].grad
        target = self._targets[index]
        if gradient is None:
            target.zero_()
        elif gradient.is_sparse:
            raise sparse_error(self._layout.names, index)
        else:
            # Scaled in float32, in which no half-precision gradient overflows.
            target.copy_(gradient)
            if self._factor != 1.0:
                target.mul_(self._factor)
        self._pushed[index] = (gradient, 0 if gradient is None else gradient._version)
        self._worker.push(index, index + 1)


def sparse_error(names: Sequence[str], index: int) -> WrongUseError:
    """Return the error for a sparse gradient, which a hub does not take."""
    return WrongUseError(
        f"the gradient of '{names[index]}' is sparse, and a hub takes dense ones alone",
        "give sparse=False to the embedding",
    )
