"""Futures for PyTorch's hooks in C++, without ranks."""

from __future__ import annotations

import inspect
from types import FrameType
from typing import Any

import pytest
import torch
from torch.futures import Future

from plink.torch.typed import holding_tensors, is_asked_by_hook

HALVES = [torch.ones(3, dtype=torch.float16)]


def test_it_is_complete_after_the_other_one_and_holds_the_same_tensors() -> None:
    ended: Future[Any] = Future()
    future = holding_tensors(ended, HALVES)
    assert not future.done()
    ended.set_result(None)
    assert [one is half for one, half in zip(future.wait(), HALVES, strict=True)] == [True]


def test_it_fails_as_the_other_one_does() -> None:
    def fail(_: Future[Any]) -> None:
        raise RuntimeError("rank 2 (10.0.0.7) is lost")

    ended: Future[Any] = Future()
    future = holding_tensors(ended.then(fail), HALVES)
    ended.set_result(None)
    with pytest.raises(Exception, match=r"rank 2 \(10\.0\.0\.7\) is lost"):
        future.wait()


class Work:
    """Has what C++ and Python call alike."""

    def get_future(self) -> FrameType | None:
        return inspect.currentframe()


def test_who_names_the_method_is_no_hook() -> None:
    frame = Work().get_future()
    assert not is_asked_by_hook(HALVES, frame)


def test_who_does_not_name_it_is_a_hook_if_all_is_of_16_bits() -> None:
    def not_named(call: Any) -> FrameType | None:
        frame: FrameType | None = call()
        assert is_asked_by_hook(HALVES, frame)
        return frame

    frame = not_named(Work().get_future)
    assert not is_asked_by_hook([*HALVES, torch.ones(3)], frame)
    assert not is_asked_by_hook(HALVES, None)
