"""Threads of a group where the interpreter ends: from Python 3.12 on no more can be started."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("torch")

from plink.torch.executors import Notifier, SerialExecutor


def refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't create new thread at interpreter shutdown")


def test_works_that_end_meanwhile_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    notifier, may_end = Notifier(), threading.Event()
    told: list[int] = []
    notifier.submit(may_end.wait, lambda: told.append(1))
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        notifier.submit(lambda: None, lambda: told.append(2))
        may_end.set()
        notifier.end()
    assert told == [1, 2]


def test_a_first_task_is_refused_and_nothing_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = SerialExecutor("plink-test")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="shutdown"):
            executor.submit(lambda: pytest.fail("it was refused"))
    assert executor.is_idle
    executor.end()
