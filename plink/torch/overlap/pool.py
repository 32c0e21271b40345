"""Pool: one flat tensor for the gradients of one type and device, in the order of readiness."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

from plink.base.errors import WrongUseError


class Pool:
    """Flat tensor that holds the gradients of parameters, one after the other.

    `flat` has the gradients alone, n elements. Behind it, in the same memory, lies `tail`: as many
    elements as there are parameters, which travel with the last gradients.

    Args:
        parameters: names and parameters in pool order, of one type and device.

    Raises:
        WrongUseError: there is none, they are of several types or devices, or a name occurs twice.
    """

    def __init__(self, parameters: Sequence[tuple[str, Parameter]]) -> None:
        self._parameters = dict(parameters)
        if not parameters or len(self._parameters) != len(parameters):
            raise WrongUseError("a pool needs parameters of different names")
        if len({_kind(parameter) for _, parameter in parameters}) != 1:
            raise WrongUseError("a pool's parameters are of one type and on one device")
        self._lay_out([name for name, _ in parameters])

    def __len__(self) -> int:
        """Return the number of parameters."""
        return len(self._names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in pool order."""
        return self._names

    @property
    def flat(self) -> Tensor:
        """All gradients of the pool, (n,); another tensor after `reorder`."""
        return self._flat

    @property
    def tail(self) -> Tensor:
        """Tensor (L,) right behind `flat` in memory: an element per parameter, in pool order."""
        return self._tail

    @property
    def with_tail(self) -> Tensor:
        """`flat` and `tail` as one tensor, (n + L,)."""
        return self._whole

    @property
    def dtype(self) -> torch.dtype:
        """Type of all gradients."""
        return self._flat.dtype

    @property
    def version(self) -> int:
        """Number of reorderings so far, each of which makes earlier bounds void."""
        return self._version

    def parameter(self, index: int) -> Parameter:
        """Return the parameter at a place of the pool."""
        return self._ordered[index]

    def view(self, index: int) -> Tensor:
        """Return the gradient at a place, in the parameter's shape: a view of `flat`."""
        return self._views[index]

    def bounds(self, index: int) -> tuple[int, int]:
        """Return the range of elements of `flat` that holds the gradient at a place."""
        return self._begins[index], self._begins[index + 1]

    def slice(self, first: int, end: int) -> Tensor:
        """Return the gradients from one place to before another: a flat view of `flat`."""
        return self._flat[self._begins[first] : self._begins[end]]

    def attach(self) -> None:
        """Make each parameter's `grad` its view of the pool, with its values or zeros for None."""
        for parameter, view in zip(self._ordered, self._views, strict=True):
            if parameter.grad is None:
                view.zero_()
            elif parameter.grad is not view:
                view.copy_(_dense(parameter.grad))
            parameter.grad = view

    def absorb(self, index: int, factor: Tensor | None = None) -> bool:
        """Copy a parameter's gradient, times a factor, into its view, which becomes its `grad`.

        The gradient may not be None, and becomes dense.

        Args:
            index: the place in the pool.
            factor: of no dimension, on the CPU; None for 1.

        Returns:
            Whether the gradient was another tensor, which was copied.

        Raises:
            WrongUseError: the gradient is None.
        """
        parameter, view = self._ordered[index], self._views[index]
        gradient = parameter.grad
        if gradient is view:
            if factor is not None:
                view.mul_(factor)
            return False
        if gradient is None:
            raise WrongUseError(f"there is no gradient of '{self._names[index]}'")
        gradient = _dense(gradient)
        if factor is None:
            view.copy_(gradient)
        else:
            torch.mul(gradient, factor, out=view)
        parameter.grad = view
        return True

    def reorder(self, names: Sequence[str]) -> None:
        """Lay the pool out in another order, between steps; gradients keep their values.

        Raises:
            WrongUseError: these are not the pool's names.
        """
        if tuple(names) == self._names:
            return
        if sorted(names) != sorted(self._names):
            raise WrongUseError("a pool is reordered by the names that it has")
        before = list(zip(self._ordered, self._views, strict=True))
        # Views of the memory from before, which lives as long as they do.
        kept = {id(parameter): view for parameter, view in before if parameter.grad is view}
        self._version += 1
        self._lay_out(names)
        for parameter, view in zip(self._ordered, self._views, strict=True):
            if id(parameter) in kept:
                view.copy_(kept[id(parameter)])
                parameter.grad = view

    _version = 0

    def _lay_out(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._ordered = [self._parameters[name] for name in names]
        first = self._ordered[0]
        self._begins = [0]
        for parameter in self._ordered:
            self._begins.append(self._begins[-1] + parameter.numel())
        items = self._begins[-1]
        self._whole = torch.zeros(items + len(names), dtype=first.dtype, device=first.device)
        self._flat, self._tail = self._whole[:items], self._whole[items:]
        self._views = [
            self._flat[self._begins[i] : self._begins[i + 1]].as_strided(
                parameter.shape, _strides(parameter), self._begins[i]
            )
            for i, parameter in enumerate(self._ordered)
        ]


def pools_of(named_parameters: Iterable[tuple[str, Parameter]]) -> list[Pool]:
    """Create a pool for each type and device, in the order in which these first occur.

    Args:
        named_parameters: in pool order; those that need no gradient are left out.

    Raises:
        WrongUseError: a name occurs twice, or nothing needs a gradient.
    """
    kinds: dict[object, list[tuple[str, Parameter]]] = {}
    for name, parameter in named_parameters:
        if parameter.requires_grad:
            kinds.setdefault(_kind(parameter), []).append((name, parameter))
    if not kinds:
        raise WrongUseError("no parameter needs a gradient")
    return [Pool(members) for members in kinds.values()]


def pool_order(named_parameters: Iterable[tuple[str, Parameter]]) -> list[tuple[str, Parameter]]:
    """Return the parameters in reverse order of registration, about that of their gradients."""
    return list(named_parameters)[::-1]


def _kind(parameter: Parameter) -> tuple[torch.dtype, torch.device]:
    return parameter.dtype, parameter.device


def _dense(gradient: Tensor) -> Tensor:
    gradient = gradient.detach()
    return gradient if gradient.layout is torch.strided else gradient.to_dense()


def _strides(parameter: Parameter) -> tuple[int, ...]:
    """Return a new gradient's strides: the parameter's own if they leave no gaps."""
    return torch.empty_like(parameter, device="meta").stride()
