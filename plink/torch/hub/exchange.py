"""Exchange of a model's fragment with the hub's weights of it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import Parameter

from plink.hub.hyper import Hyper
from plink.hub.worker import Step, Worker
from plink.torch.hub.layout import Layout
from plink.torch.hub.link import steps_taken


class Exchange:
    """Exchange of one fragment: pushes a worker's changes of weights, and takes new weights.

    Args:
        worker: who has not started.
        layout: of its arrays.
        hyper: of the outer step.
    """

    def __init__(self, worker: Worker, layout: Layout, hyper: Hyper) -> None:
        worker.initialise(layout.gathered())
        self._worker = worker
        self._layout = layout
        self._hyper = hyper
        self._values = layout.views(worker.values)
        self._changes = layout.views(worker.gradients)
        # The hub's weights before an exchange that is under way, or failed in the middle: the new
        # ones arrive in `_values` piece by piece.
        self._before: list[Tensor] | None = None
        self.is_under_way = False
        self.show()

    @property
    def iteration(self) -> int:
        """Number of outer steps that the hub has made with the fragment."""
        return steps_taken(self._worker, is_under_way=self.is_under_way)

    @property
    def parameters(self) -> list[Parameter]:
        """Parameters of the model in this fragment."""
        return self._layout.parameters

    def show(self) -> None:
        """Copy the hub's weights, as of the last exchange that has ended, into the model."""
        self._layout.scatter(self._values if self._before is None else self._before)

    @torch.no_grad()
    def send(self) -> None:
        """Push the change of the fragment's weights without waiting for new ones."""
        self._before = [value.clone() for value in self._values]
        for change, value, parameter in zip(
            self._changes, self._values, self._layout.parameters, strict=True
        ):
            change.copy_(parameter)
            torch.sub(value, change, out=change)
        self._worker.begin([self._hyper])
        self._worker.push(0, len(self._layout))
        self.is_under_way = True

    @torch.no_grad()
    def take(self, mixing: float) -> Step:
        """Wait for the hub's new weights, and mix them with the worker's own.

        Args:
            mixing: the share of the worker's own.

        Raises:
            PlinkError: the hub or a worker is lost.
        """
        self.is_under_way = False
        step = self._worker.wait()
        self._before = None
        if mixing == 0.0:
            self.show()
        else:
            for parameter, value in zip(self._layout.parameters, self._values, strict=True):
                parameter.lerp_(value.to(parameter.device, parameter.dtype), 1.0 - mixing)
        return step
