"""Announcements of ranks in an iteration, and their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plink.training.control.events import Announced
from plink.training.control.requests import Request

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Workload:
    """Computing after which tensors are ready, one call after the other.

    Args:
        calls: (C,) what is announced together: the requests of each, names all different.
        ready_s: (C,) after how much computing of an iteration each is announced, ascending.
        compute_s: of an iteration; what comes after the last call follows its all-reduces' end
            on this rank, as the optimizer's step does.
        deviation: of a rank's computing in an iteration, of the logarithm: the same for all calls.
        disorder_s: each call comes by chance so much earlier or later, as standard deviation.
    """

    calls: Sequence[tuple[Request, ...]]
    ready_s: Sequence[float]
    compute_s: float
    deviation: float = 0.0
    disorder_s: float = 0.0

    def __post_init__(self) -> None:
        if len(self.calls) != len(self.ready_s) or not self.calls:
            raise ValueError("each call has its time, and there is one at least")
        names = [request.name for call in self.calls for request in call]
        if len(set(names)) != len(names):
            raise ValueError("a name is announced twice in an iteration")
        if list(self.ready_s) != sorted(self.ready_s) or self.ready_s[-1] > self.compute_s:
            raise ValueError("times of calls ascend, up to that of the computing")

    @property
    def requests(self) -> int:
        """Number of requests in an iteration."""
        return sum(map(len, self.calls))

    def events(self) -> list[tuple[Announced, ...]]:
        """Return (C,) of each call: a tensor has a call of its own, and a group is one."""
        return [tuple(Announced((request,)) for request in call) for call in self.calls]

    def drawn(self, ranks: int, random: np.random.Generator) -> tuple[Ints, Floats]:
        """Draw the calls of each rank in an iteration, and its computing time before each.

        Returns:
            (P, C) calls, and seconds, ascending in each row.
        """
        factors = random.lognormal(0.0, self.deviation, (ranks, 1))
        times_s = np.asarray(self.ready_s) * factors
        if self.disorder_s:
            times_s += random.normal(0.0, self.disorder_s, times_s.shape)
            np.maximum(times_s, 0.0, out=times_s)
        order = np.argsort(times_s, axis=1, kind="stable")
        return order, np.take_along_axis(times_s, order, axis=1)


def backward(
    layers: Sequence[tuple[Request, ...]],
    work: Sequence[float],
    compute_s: float,
    forward_share: float = 1 / 3,
) -> tuple[list[tuple[Request, ...]], list[float]]:
    """Calls in the order of the backward pass, and after how much computing each is made.

    Args:
        layers: (L,) in the order of the forward pass, and what each announces.
        work: (L,) of each layer, in any unit, both ways alike.
        compute_s: of an iteration.
        forward_share: of it.
    """
    each = np.asarray(work, dtype=float)[::-1]
    done = forward_share + (1.0 - forward_share) * np.cumsum(each) / each.sum()
    return list(layers)[::-1], [float(share) * compute_s for share in np.minimum(done, 1.0)]
