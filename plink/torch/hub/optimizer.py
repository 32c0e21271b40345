"""Optimizer that pushes its gradients to a hub, which takes the steps."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from plink.base.errors import WrongUseError
from plink.hub.worker import Step, Worker
from plink.torch.hub import checkpoints
from plink.torch.hub.kinds import hyper_of
from plink.torch.hub.layout import Layout
from plink.torch.hub.link import steps_taken
from plink.torch.hub.pushing import Pushing


class HubOptimizer(Optimizer):
    """Optimizer whose steps a hub takes, returned by `Hub.optimizer`.

    Each gradient is pushed as soon as a backward pass has it, and `step` waits for the new values
    of all parameters. A parameter without a gradient has zeros, so that momentum and weight decay
    go on for it, and a group's `lr` counts from the first gradient of a step on.

    Its state is the hub's: `state` is empty, and `state_dict` asks for it.

    Args:
        optimizer: whose groups are trained; it takes no step itself.
        layout: of its parameters.
        worker: who has started.
        kind: as the hub calls the optimizer.
        overlap: push while the backward pass goes on; otherwise all at `step`.
        scaler: by which losses are scaled.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        layout: Layout,
        worker: Worker,
        kind: str,
        *,
        overlap: bool,
        scaler: torch.amp.GradScaler | None,
    ) -> None:
        self._inner = optimizer
        self._layout = layout
        self._worker = worker
        self._kind = kind
        self._scaler = scaler
        self._accumulates = False
        self._is_built = False
        self._last: Step | None = None
        super().__init__(optimizer.param_groups, optimizer.defaults)
        self._share_groups()
        self._is_built = True
        # GradScaler then calls `step` on all workers, and leaves skipping to it.
        self._step_supports_amp_scaling = True
        self._pushing = Pushing(
            worker, layout, lambda: hyper_of(kind, self.param_groups), self._factor
        )
        self._values = layout.views(worker.values)
        self._take_values()
        if overlap:
            self._hooks = [
                parameter.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                    functools.partial(self._came, index)
                )
                for index, parameter in enumerate(layout.parameters)
            ]

    @property
    def iteration(self) -> int:
        """Number of the last step whose values this worker has, counted from the hub's first.

        In the modes `async` and `ssp` it counts this worker's steps: other workers' steps between
        them do not count, and a worker that joins begins at the count of the fastest.
        """
        return steps_taken(self._worker, is_under_way=self._pushing.is_under_way)

    @property
    def last_step(self) -> Step | None:
        """Hub's answer to the last step; None before the first.

        It has the norm before clipping, whether the step was skipped, and how many workers took
        part.
        """
        return self._last

    def __repr__(self) -> str:
        return f"HubOptimizer({self._inner!r})"

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Let backward passes within the context add to gradients and push nothing."""
        before, self._accumulates = self._accumulates, True
        try:
            yield
        finally:
            self._accumulates = before

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear gradients as PyTorch does, between steps only.

        Raises:
            WrongUseError: gradients are on their way, and no step has taken them.
        """
        if self._pushing.is_under_way:
            raise WrongUseError(
                "gradients that were pushed cannot be set to zero",
                "call step() first, or use no_sync() for backward passes that are not to count",
            )
        super().zero_grad(set_to_none)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Push the gradients not yet pushed, wait for the hub's step, and take the new values.

        Raises:
            WrongUseError: there is a closure, or something changed behind what was pushed.
            PlinkError: the hub or a worker is lost.
        """
        if closure is not None:
            raise WrongUseError(
                "a closure computes gradients again, and the hub takes them once a step",
                "call loss.backward() and then step()",
            )
        self._verify_scaling()
        self._verify_values()
        self._pushing.verify()
        self._pushing.rest()
        self._last = self._pushing.wait()
        if self._last.skipped:
            self._tell_scaler()
        else:
            self._take_values()

    def add_param_group(self, param_group: Any) -> None:
        """Refuse a new group: what the hub holds is fixed from the start."""
        if self._is_built:
            raise WrongUseError(
                "parameters cannot be added to what a hub holds",
                "give all groups to the optimizer before hub.optimizer()",
            )
        super().add_param_group(param_group)

    def state_dict(self) -> Any:
        """Return PyTorch's `state_dict` with the hub's state; the plain optimizer can load it.

        Raises:
            WrongUseError: gradients are on their way.
        """
        self._verify_between("state_dict()")
        try:
            self.state.update(checkpoints.pull_state(self._worker, self._layout, self._kind))
            return super().state_dict()
        finally:
            self.state.clear()

    def load_state_dict(self, state_dict: Any) -> None:
        """Load a `state_dict` of this or the plain optimizer into the hub; all workers do so.

        Raises:
            WrongUseError: gradients are on their way, or it is not of such an optimizer.
        """
        self._verify_between("load_state_dict()")
        super().load_state_dict(state_dict)
        self._share_groups()
        try:
            checkpoints.push(self._worker, self._layout, self._kind, self.state)
        finally:
            self.state.clear()

    def _share_groups(self) -> None:
        # Schedulers of the one and of the other change the same groups.
        self._inner.param_groups = self.param_groups

    def _came(self, index: int, _: Tensor) -> None:
        if not self._accumulates:
            self._pushing.came(index)

    def _factor(self) -> float:
        if self._scaler is None or not self._scaler.is_enabled():
            return 1.0
        return 1.0 / float(self._scaler.get_scale())

    @torch.no_grad()
    def _take_values(self) -> None:
        self._layout.scatter(self._values)
        self._versions = [parameter._version for parameter in self._layout.parameters]

    def _verify_values(self) -> None:
        for name, parameter, version in zip(
            self._layout.names, self._layout.parameters, self._versions, strict=True
        ):
            if parameter._version != version:
                raise WrongUseError(
                    f"parameter '{name}' was changed outside of step(), of which the hub knows "
                    "nothing",
                    "load the model before hub.optimizer()",
                )

    def _verify_between(self, what: str) -> None:
        if self._pushing.is_under_way:
            raise WrongUseError(
                f"{what} came between a backward pass and its step", "call it after step()"
            )

    def _verify_scaling(self) -> None:
        is_scaling = self._scaler is not None and self._scaler.is_enabled()
        if hasattr(self, "grad_scale") != is_scaling:
            raise WrongUseError(
                "gradients are scaled otherwise than the hub was told",
                "give hub.optimizer() the GradScaler that scales losses, and call "
                "scaler.step(optimizer)",
            )

    def _tell_scaler(self) -> None:
        """Report gradients that were not finite on some worker, so that all lower their scale."""
        if self._scaler is not None and self._scaler.is_enabled():
            for found in self._scaler._found_inf_per_device(self).values():
                found.fill_(1.0)
