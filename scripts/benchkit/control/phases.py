"""What a gradient waits for: its group, other ranks, its reduction."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from unittest import mock

from torch import Tensor
from torch.nn import Parameter

from plink.torch.named.negotiation import Negotiation
from plink.torch.named.works import NamedWork
from plink.torch.work import Reduction

_LOOK_S = 0.001


@dataclass(frozen=True)
class Waits:
    """Of a step's gradients on one rank; means over gradients, in seconds.

    Args:
        for_group: from the gradient to its announcement.
        for_ranks: to its release: other ranks have it, and there is a buffer for it.
        reducing: to the end of its reduction, those begun before included.
        busy_s: while anything was being reduced.
        buffers: how many reductions there were.
    """

    for_group: float
    for_ranks: float
    reducing: float
    busy_s: float
    buffers: int


class Phases:
    """Notes of each gradient when it came, was announced, released and reduced.

    The library's own methods are wrapped for as long as it is entered: nothing is noted otherwise.

    Args:
        parameters: whose gradients; before an optimizer has hooks on them.
    """

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        # By address, which no other gradient has until the next step.
        self._came_s: dict[int, float] = {}
        self._announced_s: dict[int, float] = {}
        self._released_s: dict[int, float] = {}
        self._ended_s: dict[int, float] = {}
        self._patches: list[Any] = []
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self._come)  # type: ignore[no-untyped-call]

    def __enter__(self) -> Phases:
        announce, release, end = Negotiation.announce, NamedWork.release, Reduction.end

        def announcing(it: Negotiation, requests: Any, works: Any, **options: Any) -> None:
            for work in works:
                self._note(self._announced_s, work.tensors)
            announce(it, requests, works, **options)

        def releasing(it: NamedWork, batch: Reduction) -> None:
            self._note(self._released_s, it.tensors)
            release(it, batch)

        def ending(it: Reduction) -> None:
            end(it)
            self._note(self._ended_s, it.result())

        self._patches = [
            mock.patch.object(Negotiation, "announce", announcing),
            mock.patch.object(NamedWork, "release", releasing),
            mock.patch.object(Reduction, "end", ending),
        ]
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        for patch in self._patches:
            patch.stop()

    def take(self) -> Waits:
        """Of the step since the last; all its gradients are reduced."""
        came, ended = self._came_s, self._ended_s
        # The thread that notes it may come after the one that waited for it.
        while not came.keys() <= ended.keys():
            time.sleep(_LOOK_S)
        spans = sorted({(self._released_s[one], ended[one]) for one in came})
        waits = Waits(
            statistics.mean(self._announced_s[one] - came[one] for one in came),
            statistics.mean(self._released_s[one] - self._announced_s[one] for one in came),
            statistics.mean(ended[one] - self._released_s[one] for one in came),
            _covered_s(spans),
            len({ended_s for _, ended_s in spans}),
        )
        for notes in (came, self._announced_s, self._released_s, ended):
            notes.clear()
        return waits

    def _come(self, parameter: Tensor) -> None:
        if parameter.grad is not None:
            self._note(self._came_s, [parameter.grad])

    def _note(self, notes: dict[int, float], tensors: Iterable[Tensor]) -> None:
        now_s = time.monotonic()
        for tensor in tensors:
            notes[tensor.data_ptr()] = now_s


def _covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """How long at least one of these lasted, which are sorted by their begin."""
    covered_s = until_s = 0.0
    for begin_s, end_s in spans:
        covered_s += max(0.0, end_s - max(begin_s, until_s))
        until_s = max(until_s, end_s)
    return covered_s
