"""Collectives with two buffers of an accelerator, on its stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from plink.torch.accelerator import Lane
from plink.torch.pairs import AcceleratorPairs, HostPairs, Pair
from pytorch import staging_checks as checks
from pytorch.late_device import Runtime

pytestmark = pytest.mark.timing


class Tripling:
    """In the engine's place: the result is there where `wait` has returned, and not before."""

    def __init__(self, source: Tensor, result: Tensor) -> None:
        self._source, self._result = source, result

    def done(self) -> bool:
        return False

    def wait(self, timeout_s: float | None = None) -> None:
        self._result.copy_(self._source[: len(self._result)] * 3)


@contextmanager
def lane(runtime: Runtime, down: set[str] | None = None) -> Iterator[Lane]:
    made, homebound = checks.lane_of(runtime, down or set())
    try:
        yield made
    finally:
        homebound.end()


def tripled(runtime: Runtime, way: Lane, source: Tensor, results: list[Tensor]) -> list[Tensor]:
    """The caller computes the source, has it tripled by way of the host, and uses the results."""
    there = runtime.place(source)
    into = [runtime.place(result) for result in results]
    stage = AcceleratorPairs([Pair([there], into)], way, checks.ordinary)
    work = stage.begin(Tripling)
    assert work is not None
    work.wait(60.0)
    stage.finish()
    stage.join()
    return [runtime.fetch(one) for one in into]


def test_a_pair_goes_to_the_host_and_back() -> None:
    runtime, source = Runtime(), torch.arange(24.0)
    with lane(runtime) as way:
        first, second = tripled(runtime, way, source, [torch.zeros(4, 3), torch.zeros(5)])
    assert torch.equal(first, 3 * source[:12].view(4, 3))
    assert torch.equal(second, 3 * source[12:17])
    assert runtime.unrecorded == []


def test_in_place() -> None:
    runtime, source = Runtime(), torch.arange(7.0)
    with lane(runtime) as way:
        there = runtime.place(source)
        stage = AcceleratorPairs([Pair([there], None)], way, checks.ordinary)
        stage.begin(Tripling).wait(60.0)  # type: ignore[union-attr]
        stage.finish()
        stage.join()
        assert torch.equal(runtime.fetch(there), 3 * source)


@pytest.mark.parametrize("forgotten", ["wait_event"])
def test_the_stand_in_shows_what_is_not_waited_for(forgotten: str) -> None:
    runtime, source = Runtime(), torch.arange(9.0)
    with lane(runtime, {forgotten}) as way:
        (result,) = tripled(runtime, way, source, [torch.zeros(9)])
    assert not torch.equal(result, 3 * source)


def test_pairs_on_the_host_use_the_users_memory_where_they_can() -> None:
    source, whole, strided = torch.arange(6.0), torch.zeros(6), torch.zeros(12)[::2]
    seen = []

    def post(given: Tensor, result: Tensor) -> Tripling:
        seen.append((given.data_ptr(), result.data_ptr()))
        return Tripling(given, result)

    stage = HostPairs([Pair([source], [whole]), Pair([source], [strided])])
    stage.begin(post).wait()  # type: ignore[union-attr]
    stage.finish()
    assert seen[0] == (source.data_ptr(), whole.data_ptr())
    assert seen[1][1] != strided.data_ptr()
    assert torch.equal(whole, 3 * source)
    assert torch.equal(strided, 3 * source)
