"""What it costs to note when gradients come and collectives end."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch

from plink.torch.overlap.profiling import HostClock, Passes
from support.cpu_time import least_cpu_s

GRADIENTS, COLLECTIVES, PASSES = 604, 7, 20


class Work:
    """One that has ended."""

    def __init__(self) -> None:
        self._tensors = [torch.zeros(1)]
        self._posted_s = time.monotonic()

    def times_s(self) -> tuple[float, float]:
        return self._posted_s, self._posted_s + 1e-3

    def result(self) -> list[torch.Tensor]:
        return self._tensors


@pytest.mark.timing
def test_a_pass_of_604_gradients_is_noted_in_a_hundredth_of_a_tenth_of_a_second() -> None:
    def noted() -> Passes:
        passes = Passes(HostClock(GRADIENTS), 2)
        passes.begin()
        for _ in range(PASSES):
            for place in range(GRADIENTS):
                passes.ready(place)
            for _ in range(COLLECTIVES):
                work: Any = Work()
                passes.posted([work])
            passes.end()
            passes.begin()
        return passes

    assert least_cpu_s(noted, PASSES * 1e-3) < PASSES * 1e-3
    passes = noted()
    assert len(passes.steps_s) == len(passes.took_s) == PASSES
    assert passes.timings.begun_s.shape == (PASSES, COLLECTIVES)
