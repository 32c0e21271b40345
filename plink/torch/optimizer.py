"""Optimizer whose gradients are reduced as they come about, in any order."""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.distributed import ReduceOp
from torch.distributed.distributed_c10d import ProcessGroup
from torch.nn import Parameter
from torch.optim import LBFGS, Optimizer
from torch.utils.hooks import RemovableHandle

from plink.base.arguments import check_instance, check_integer
from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.torch.by_name import negotiation_of, request_of
from plink.torch.first_step import FirstStep
from plink.torch.gradient_groups import Groups, group_names
from plink.torch.gradient_requests import GradientRequests
from plink.torch.named.works import NamedWork
from plink.torch.staging import Stage, fuse_stages
from plink.torch.work import NO_TIMEOUT

# Within it GradScaler looks at gradients.
_PAIR = 2
_UNSCALES = "_unscale_grads_"


class DistributedOptimizer(Optimizer):
    """Optimizer that reduces each gradient over all ranks once ready, and steps with the results.

        optimizer = plink.torch.DistributedOptimizer(optimizer, model.named_parameters())

    Ranks may get their gradients in different orders, and need not get all: what is missing at
    `step` counts as zeros. The first step compares weights and options of all ranks.

    Args:
        optimizer: that steps.
        named_parameters: all that it steps, by names that are the same on all ranks; what is not
            among them is not reduced.
        groups: of gradients that are announced together: how many, or at most how large ("25MB"),
            or lists of parameters or their names; None for each alone.
        backward_passes_per_step: so many passes add to a gradient before it is reduced.
        op: `ReduceOp.AVG`, or `ReduceOp.SUM`.
        group: one with `Options(control=...)`; None for the default group.

    Raises:
        WrongUseError: names are missing or occur twice, groups cannot be, or the optimizer decides
            by losses, as LBFGS does.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        named_parameters: Iterable[tuple[str, Parameter]],
        *,
        groups: Groups = None,
        backward_passes_per_step: int = 1,
        op: Any = ReduceOp.AVG,
        group: ProcessGroup | None = None,
    ) -> None:
        # PyTorch's own is not called: parameters, state and steps are the other optimizer's.
        check_instance("optimizer", optimizer, Optimizer, "a torch.optim.Optimizer")
        check_integer("backward_passes_per_step", backward_passes_per_step, 1)
        if group is not None:
            negotiation_of(group)
        if op not in (ReduceOp.AVG, ReduceOp.SUM):
            raise WrongUseError(f"op is {brief(op)}, expected ReduceOp.AVG or ReduceOp.SUM")
        if isinstance(optimizer, LBFGS):
            raise WrongUseError(
                "LBFGS decides by the loss how often it computes gradients, and ranks have "
                "different losses",
                "choose an optimizer that computes them once a step",
            )
        self._optimizer = optimizer
        self._group = group
        self._sums = op == ReduceOp.SUM
        self._passes = backward_passes_per_step
        self._parameters = _trained_parameters(optimizer, named_parameters)
        self._members = group_names(self._parameters, groups)
        self._group_of = {name: i for i, names in enumerate(self._members) for name in names}
        self._requests = [GradientRequests(names, op) for names in self._members]
        self._sources = {
            of_group.name: [self._parameters[name] for name in of_group.names]
            for of_group in self._requests
        }
        self._lock = threading.Lock()
        self._left = dict.fromkeys(self._parameters, self._passes)
        self._awaited = [len(names) for names in self._members]
        self._works: dict[int, NamedWork] = {}
        # Of accelerators' gradients that wait for others of their group: each may have been
        # computed on another stream.
        self._stages: dict[str, Stage] = {}
        self._synchronizes = True
        # Whether `synchronize` has reduced what the next step uses.
        self._is_reduced = False
        # With a sum: what each gradient was then, to which nothing may be added.
        self._reduced: dict[str, weakref.ref[Tensor]] = {}
        self._is_verified = False
        self._hooks = [
            parameter.register_post_accumulate_grad_hook(self._hook(name))  # type: ignore[no-untyped-call]
            for name, parameter in self._parameters.items()
        ]

    @property
    def param_groups(self) -> Any:  # type: ignore[override]
        """Parameter groups of the wrapped optimizer."""
        # GradScaler is about to look for infinite gradients, which all ranks must see alike.
        caller = sys._getframe(1).f_code.co_name
        if caller == _UNSCALES and self._synchronizes and not self._is_reduced:
            self.synchronize()
        return self._optimizer.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """State of the wrapped optimizer."""
        return self._optimizer.state

    @property
    def defaults(self) -> Any:  # type: ignore[override]
        """Defaults of the wrapped optimizer."""
        return self._optimizer.defaults

    def __repr__(self) -> str:
        return f"DistributedOptimizer({self._optimizer!r})"

    def state_dict(self) -> Any:
        """Return the wrapped optimizer's state, which can be read without plink as well."""
        return self._optimizer.state_dict()

    def load_state_dict(self, state_dict: Any) -> None:
        """Load state into the wrapped optimizer."""
        self._optimizer.load_state_dict(state_dict)

    def __getstate__(self) -> Any:
        """Refuse to copy: a copy would reduce nothing."""
        raise WrongUseError(
            "a DistributedOptimizer is not copied or written", "write its state_dict"
        )

    def register_step_pre_hook(self, hook: Any) -> RemovableHandle:
        """Register a hook that runs before the wrapped optimizer steps.

        Gradients are reduced by then, unless `step` has a closure, which computes them later.
        """
        return self._optimizer.register_step_pre_hook(hook)

    def register_step_post_hook(self, hook: Any) -> RemovableHandle:
        """Register a hook that runs after a step of the wrapped optimizer."""
        return self._optimizer.register_step_post_hook(hook)

    def register_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Register a hook that runs before `state_dict` of the wrapped optimizer."""
        return self._optimizer.register_state_dict_pre_hook(hook, prepend)

    def register_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Register a hook that runs after `state_dict` of the wrapped optimizer."""
        return self._optimizer.register_state_dict_post_hook(hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Any, prepend: bool = False
    ) -> RemovableHandle:
        """Register a hook that runs before `load_state_dict` of the wrapped optimizer."""
        return self._optimizer.register_load_state_dict_pre_hook(hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Any, prepend: bool = False
    ) -> RemovableHandle:
        """Register a hook that runs after `load_state_dict` of the wrapped optimizer."""
        return self._optimizer.register_load_state_dict_post_hook(hook, prepend)

    def add_param_group(self, param_group: Any) -> None:  # noqa: ARG002 - PyTorch's
        """Refuse a new group: names of parameters are the same on all ranks from the start."""
        raise WrongUseError("parameters cannot be added to a DistributedOptimizer")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the wrapped optimizer's gradients.

        Raises:
            WrongUseError: gradients are being reduced.
        """
        if self._works:
            raise WrongUseError(
                "gradients that are being reduced cannot be set to zero",
                "call step() or synchronize() first",
            )
        self._is_reduced = False
        self._reduced = {}
        self._optimizer.zero_grad(set_to_none)

    def learn(self, loss: Tensor) -> None:
        """Learn the order of all-reduces from a loss, right before each `loss.backward()`.

        For the mode `graph`: the order follows from what autograd is going to compute. In other
        modes, and where ranks know the order already, nothing happens.

        Args:
            loss: from which gradients are computed.

        Raises:
            WrongUseError: the group cannot agree on anything.
        """
        negotiation_of(self._group).learn(loss, self._sources)

    def synchronize(self) -> None:
        """Wait until all gradients are reduced, for example to clip them before `step`.

        `step` then does not reduce them again.

        Raises:
            DistBackendError: one could not be; it names the rank whose fault it is.
            WrongUseError: weights or options differ between ranks, at the first step.
        """
        first = None if self._is_verified else self._begin_first()
        for i, names in enumerate(self._members):
            if i not in self._works:
                for name in names:
                    parameter = self._parameters[name]
                    if parameter.grad is None:
                        parameter.grad = torch.zeros_like(parameter)
                self._announce(i)
        works, self._works = self._works, {}
        self._left = dict.fromkeys(self._parameters, self._passes)
        self._awaited = [len(names) for names in self._members]
        for work in works.values():
            work.wait()
        negotiation_of(self._group).end_iteration()
        if first is not None:
            check, work = first
            work.wait()
            check.verify()
            self._is_verified = True
        self._is_reduced = True
        if self._sums:
            self._reduced = {name: weakref.ref(self._gradient(name)) for name in self._parameters}

    @contextlib.contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """Let `step` skip the reduction within the context, after `synchronize`."""
        self._synchronizes = False
        try:
            yield
        finally:
            self._synchronizes = True

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Reduce the gradients that are not reduced yet, and step the wrapped optimizer.

        Args:
            closure: computes gradients, which are then reduced, and returns the loss; at most once
                a step.

        Raises:
            DistBackendError: a gradient could not be reduced; no step is made.
            WrongUseError: weights or options differ between ranks, at the first step; or a closure
                is called more than once, or within `skip_synchronize`.
        """
        if closure is None:
            if self._synchronizes and not self._is_reduced:
                self.synchronize()
            result = self._optimizer.step()
        else:
            result = self._optimizer.step(self._reducing(closure))
        self._is_reduced = False
        self._reduced = {}
        return result

    def _reducing(self, closure: Callable[[], float]) -> Callable[[], float]:
        """Return a closure that also reduces the gradients that the given one computes."""
        if not self._synchronizes:
            raise WrongUseError(
                "the gradients of a closure are reduced within the step",
                "call step(closure) outside of skip_synchronize()",
            )
        calls = 0

        def compute() -> float:
            nonlocal calls
            calls += 1
            if calls > 1:
                raise WrongUseError(
                    f"{type(self._optimizer).__name__} computes gradients more than once a step, "
                    "how often, ranks might decide differently",
                    "choose an optimizer that computes them once a step",
                )
            with torch.enable_grad():
                loss = closure()
            self.synchronize()
            return loss

        return compute

    def _begin_first(self) -> tuple[FirstStep, NamedWork]:
        """Begin to compare weights and options of all ranks."""
        check = FirstStep(self._optimizer, self._parameters)
        name = f"first step of '{self._requests[0].name}'"
        work = NamedWork(name, [check.tensor], NO_TIMEOUT)
        request = request_of(name, [check.tensor], (), ReduceOp.SUM)
        negotiation_of(self._group).announce([request], [work], is_of_iteration=False)
        return check, work

    def _hook(self, name: str) -> Callable[[Tensor], None]:
        def has_gradient(_: Tensor) -> None:
            i = self._group_of[name]
            reduced = self._reduced.get(name)
            if reduced is not None and reduced() is self._parameters[name].grad:
                raise WrongUseError(
                    f"the gradient of '{name}' was added to a sum over all ranks",
                    "call step() or zero_grad() between synchronize() and the next backward pass",
                )
            self._is_reduced = False
            with self._lock:
                self._left[name] -= 1
                if self._left[name] < 0:
                    raise WrongUseError(
                        f"the gradient of '{name}' came once more before a step",
                        "call step() between, or set backward_passes_per_step",
                    )
                if self._left[name] > 0:
                    return
                if len(self._members[i]) > 1 and not self._parameters[name].is_cpu:
                    stage = negotiation_of(self._group).stage([self._gradient(name)])
                    self._stages[name] = stage
                self._awaited[i] -= 1
                if self._awaited[i] > 0:
                    return
            self._announce(i)

        return has_gradient

    def _announce(self, i: int) -> None:
        requests = self._requests[i]
        gradients = [self._gradient(name) for name in requests.names]
        work = requests.work(gradients)
        stages = [stage for name in requests.names if (stage := self._stages.pop(name, None))]
        work.stage = fuse_stages(gradients, stages) if stages else None
        negotiation_of(self._group).announce(
            [requests.request(gradients)], [work], may_be_held=True
        )
        self._works[i] = work

    def _gradient(self, name: str) -> Tensor:
        gradient = self._parameters[name].grad
        if gradient is None or gradient.is_sparse:
            raise WrongUseError(f"the gradient of '{name}' is sparse, which cannot be reduced")
        return gradient


def _trained_parameters(
    optimizer: Optimizer, named_parameters: Iterable[tuple[str, Parameter]]
) -> dict[str, Parameter]:
    """Return the trained parameters by name, after checking that all of them have names."""
    check_instance("named_parameters", named_parameters, Iterable, "model.named_parameters()")
    parameters: dict[str, Parameter] = {}
    for pair in named_parameters:
        if not isinstance(pair, tuple) or len(pair) != _PAIR or not isinstance(pair[0], str):
            raise WrongUseError(
                "named_parameters has an entry that is no pair of a name and a parameter",
                "give model.named_parameters()",
            )
        name, parameter = pair
        check_instance(
            "named_parameters", parameter, Parameter, "a torch.nn.Parameter for each name"
        )
        if name in parameters:
            raise WrongUseError(f"two parameters are called '{name}'")
        if parameter.requires_grad:
            parameters[name] = parameter
    known = {id(parameter) for parameter in parameters.values()}
    for group in optimizer.param_groups:
        if any(one.requires_grad and id(one) not in known for one in group["params"]):
            raise WrongUseError(
                "the optimizer steps a parameter without a name",
                "give all of model.named_parameters()",
            )
    return parameters
