"""An accelerator's stand-in that does everything as late as it may.

What is queued on a stream happens when somebody waits for it, and not before: an event's
`synchronize` runs its stream up to that event, and `wait_event` makes one stream run another's
first. So whoever forgets to wait finds what was there before, in every run. Memory of the device is
ordinary memory, in tensors that queue what is done with them on the current stream.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch
from torch import Tensor

# What the memory of a result holds until it is computed.
POISON = 77


class Event:
    """After so much of a stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._count = len(stream.queued)

    def synchronize(self) -> None:
        if "synchronize" not in self._stream.ignored:
            self.happen()

    def happen(self) -> None:
        self._stream.run(self._count)


class Stream:
    """What is queued, in order, and how much of it has happened.

    `ignored`: calls that do nothing, as if they had been forgotten.
    """

    def __init__(self, runtime: Runtime, name: str, ignored: Collection[str] = ()) -> None:
        self._runtime = runtime
        self.name = name
        self.ignored = ignored
        self.queued: list[Callable[[], object]] = []
        self._happened = 0

    def queue(self, what: Callable[[], object]) -> None:
        with self._runtime.lock:
            self.queued.append(what)

    def run(self, count: int) -> None:
        with self._runtime.lock:
            while self._happened < count:
                self._happened += 1
                self.queued[self._happened - 1]()

    def record_event(self) -> Event:
        return Event(self)

    def wait_event(self, event: Event) -> None:
        if "wait_event" not in self.ignored:
            self.queue(event.happen)


class Runtime:
    """The functions of `torch.cuda` that are used."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.callers = Stream(self, "caller")
        self._current = threading.local()
        self._memory: dict[tuple[int, str], RemoteTensor] = {}
        self._recorded: set[tuple[int, str]] = set()

    def current_stream(self, device: object = None) -> Stream:
        stream: Stream = getattr(self._current, "stream", self.callers)
        return stream

    @contextlib.contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        before = self.current_stream()
        self._current.stream = stream
        yield
        self._current.stream = before

    def place(self, tensor: Tensor) -> RemoteTensor:
        """The same on the device, computed by the current stream: later."""
        stream = self.current_stream()
        placed = RemoteTensor(torch.full_like(tensor, POISON), self, stream.name)
        stream.queue(lambda: placed.elements.copy_(tensor))
        return placed

    def fetch(self, tensor: RemoteTensor) -> Tensor:
        """As the caller's stream finds it after all that is queued there."""
        stream = self.current_stream()
        fetched = torch.empty_like(tensor.elements)
        stream.queue(lambda: fetched.copy_(tensor.elements))
        stream.run(len(stream.queued))
        return fetched

    def use(self, tensor: RemoteTensor, stream: Stream) -> None:
        """Somebody has queued something with a tensor's memory."""
        self._memory[tensor.memory, stream.name] = tensor

    def record(self, tensor: RemoteTensor, stream: Stream) -> None:
        self._recorded.add((tensor.memory, stream.name))

    @property
    def unrecorded(self) -> list[str]:
        """Streams that used memory of which the allocator knew nothing."""
        return [
            name
            for (memory, name), tensor in self._memory.items()
            if name != tensor.made_on and (memory, name) not in self._recorded
        ]


class RemoteTensor(Tensor):
    """Memory of the device. `elements` is for the streams alone."""

    elements: Tensor
    runtime: Runtime
    made_on: str
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    def __new__(cls, elements: Tensor, runtime: Runtime, made_on: str) -> RemoteTensor:
        made: RemoteTensor = Tensor._make_subclass(cls, elements)  # type: ignore[assignment]
        made.elements, made.runtime, made.made_on = elements, runtime, made_on
        return made

    def __init__(self, *_: object) -> None:
        super().__init__()

    @property
    def memory(self) -> int:
        return self.elements.untyped_storage().data_ptr()

    def record_stream(self, stream: Any) -> None:
        self.runtime.record(self, stream)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        remote = [one for one in torch.utils._pytree.tree_leaves(args) if isinstance(one, cls)]
        runtime, made_on = remote[0].runtime, remote[0].made_on
        plain = torch.utils._pytree.tree_map_only(cls, lambda one: one.elements, args)

        def wrapped(result: Any, on: str) -> Any:
            return torch.utils._pytree.tree_map_only(Tensor, lambda t: cls(t, runtime, on), result)

        if func.is_view:
            return wrapped(func(*plain, **kwargs), made_on)
        stream = runtime.current_stream()
        for one in remote:
            runtime.use(one, stream)
        if func._schema.is_mutable:
            stream.queue(lambda: func(*plain, **kwargs))
            return args[0]
        result = func(*plain, **kwargs)
        result.fill_(POISON)
        stream.queue(lambda: result.copy_(func(*plain, **kwargs)))
        return wrapped(result, stream.name)
