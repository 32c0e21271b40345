"""Collectives as events of PyTorch's profiler."""

from __future__ import annotations

from typing import Any

import torch
from torch.futures import Future

from plink.torch.kinds import Kind


class Event:
    """Event of PyTorch's profiler for a collective, such as `plink:all_reduce`, until `end`.

    The profiler watches single threads. PyTorch's own operator for events that end elsewhere lets
    this one end in any thread; it records no shapes.
    """

    def __init__(self, kind: Kind) -> None:
        record = torch.ops.profiler._record_function_enter_new(f"plink:{kind.name}", None)
        self._ended: Future[Any] = Future()
        end = torch.ops.profiler._call_end_callbacks_on_jit_fut._RecordFunction
        self._recorded = end(record, self._ended)

    def end(self) -> None:
        """End the event, as the collective has ended. To be called once."""
        self._ended.set_result(None)

    def wait(self) -> None:
        """Wait until another thread has called `end` and the profiler knows of it."""
        self._recorded.wait()


def event(kind: Kind) -> Event | None:
    """Begin a profiler event for a collective; None if no profiler watches this thread."""
    return Event(kind) if torch._C._autograd._profiler_enabled() else None
