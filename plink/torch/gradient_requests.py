"""Requests for groups of gradients, kept from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from plink.torch.by_name import members_of, request_of
from plink.torch.named.works import GroupedWork, NamedWork
from plink.torch.work import NO_TIMEOUT
from plink.training.control.requests import Request


class GradientRequests:
    """Builder of the request for a group of gradients, reused while types and shapes stay.

    Args:
        names: of their parameters.
        op: PyTorch's.
    """

    def __init__(self, names: Sequence[str], op: Any) -> None:
        self.names = names
        self._op = op
        self._is_alone = len(names) == 1
        self.name = names[0] if self._is_alone else f"{names[0]} and {len(names) - 1} more"
        # It takes longer to make than to compare.
        self._made: Request | None = None
        self._kinds: list[Any] = []

    def request(self, gradients: Sequence[Tensor]) -> Request:
        """Return the request for these gradients, which are in the order of `names`.

        Raises:
            WrongUseError: the engine does not reduce them.
        """
        kinds = [(one.dtype, one.device.type, one.layout, one.shape) for one in gradients]
        if self._made is None or kinds != self._kinds:
            members = () if self._is_alone else members_of(self.name, len(gradients))
            self._made = request_of(self.name, gradients, members, self._op)
            self._kinds = kinds
        return self._made

    def work(self, gradients: Sequence[Tensor]) -> NamedWork:
        """Create the work by which these gradients are awaited."""
        made = NamedWork if self._is_alone else GroupedWork
        return made(self.name, gradients, NO_TIMEOUT)
