"""Collectives that a group leaves to Gloo, and state that PyTorch's class keeps with Gloo."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
from torch.distributed import ProcessGroup

from plink.engine import Engine
from plink.torch import kinds
from plink.torch.collectives import EngineCollectives
from plink.torch.compiler import uncompiled
from plink.torch.executors import Notifier
from plink.torch.gloo import LateGloo
from plink.torch.gloo_fallback import GlooFallback
from plink.torch.pairs import Pair
from plink.torch.pieces import PieceWork
from plink.torch.reductions import DEVICES
from plink.torch.work import NO_TIMEOUT

# Of what a barrier compares, for people.
_MOST_TEXT = 300


def _by_gloo(name: str) -> Callable[..., Any]:
    def collective(self: GlooBeside, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._plain, name)(*args, **kwargs)

    collective.__name__ = name
    collective.__doc__ = f"As `ProcessGroup.{name}`, by Gloo."
    return uncompiled(collective)


class GlooBeside(EngineCollectives):
    """Group that runs collectives on the engine, and on Gloo those that the engine lacks.

    PyTorch's own class would hand these over, but some collectives of a subclass it begins
    (`PyProcessGroup.hpp`) with Python's global lock held: they then wait for Gloo's queue, which is
    locked by a thread of Gloo's while that frees a tensor, for which it waits for the global lock.
    So they are begun by a second group, of PyTorch's class itself, which gives the global lock up.

    Args:
        rank: in the group.
        ranks: of the group.
        gloo: over the same ranks, made when something first needs it.
        notifier: awaits works for their futures.
    """

    def __init__(self, rank: int, ranks: int, gloo: LateGloo, notifier: Notifier) -> None:
        # With a store it could not be subclassed: that constructor makes no object for Python.
        super().__init__(rank, ranks)  # type: ignore[call-arg]
        self._gloo = gloo
        self._of_gloo: Any = ProcessGroup(rank, ranks)  # type: ignore[call-arg]
        self._fallback = GlooFallback(self._of_gloo, notifier, self._compare if ranks > 1 else None)
        self._registering = threading.Lock()
        self._has_gloo = False
        self._named = self._described = ""
        self._begun = 0
        for group in (self, self._of_gloo):
            group._set_default_backend(ProcessGroup.BackendType.GLOO)
            for device in DEVICES:
                # Which backend is known from the start.
                group._register_backend(torch.device(device), ProcessGroup.BackendType.GLOO, None)

    # PyTorch's own class keeps name and description in its backend, which there may not be yet.

    def getGroupName(self) -> str:  # noqa: N802 - PyTorch's
        """Return the name by which PyTorch finds the group."""
        return self._named

    def setGroupName(self, name: str) -> None:  # noqa: N802 - PyTorch's
        """Set the group's name; PyTorch calls this."""
        self._named = name
        if self._has_gloo:
            self._of_gloo._set_group_name(name)

    def getGroupDesc(self) -> str:  # noqa: N802 - PyTorch's
        """Return the description that the group's creator gave."""
        return self._described

    def setGroupDesc(self, text: str) -> None:  # noqa: N802 - PyTorch's
        """Set the group's description; PyTorch calls this."""
        self._described = text
        if self._has_gloo:
            self._of_gloo._set_group_desc(text)

    def _get_sequence_number_for_group(self) -> int:
        # Gloo's count by the barrier before each.
        return self._begun

    @property
    def _plain(self) -> Any:
        """Group on Gloo, for collectives that the engine lacks; the first use makes Gloo."""
        if not self._has_gloo:
            backend = self._gloo.backend()
            with self._registering:
                if not self._has_gloo:
                    self._register(backend)
                    self._has_gloo = True
        return self._fallback

    def _register(self, backend: Any) -> None:
        for group in (self, self._of_gloo):
            for device in DEVICES:
                group._register_backend(
                    torch.device(device), ProcessGroup.BackendType.GLOO, backend
                )
        self._of_gloo._set_group_name(self._named)
        self._of_gloo._set_group_desc(self._described)

    @property
    def message_timeout(self) -> timedelta:
        """Longest time to wait for a message."""
        return self._gloo.timeout

    def _compare(self, called: str) -> Any:
        """Begin a barrier that fails where another rank's call differs from `called`."""
        layout = zlib.crc32(called.encode()) << 32 | zlib.adler32(called.encode())
        if len(called) > _MOST_TEXT:
            called = f"{called[:_MOST_TEXT]}... ({layout:x})"

        def begin(engine: Engine, _source: Any, _result: Any, _dtype: Any) -> PieceWork:
            return engine.barrier(layout=layout)

        return self.run_pairs(kinds.BARRIER, [Pair([], None)], begin, NO_TIMEOUT, op=called)

    def _get_backend(self, device: torch.device) -> Any:
        return self._plain._get_backend(device)

    def set_timeout(self, timeout: timedelta) -> None:
        """Set the timeout of Gloo's collectives, and of messages."""
        self._gloo.set_timeout(timeout)
        super().set_timeout(timeout)

    _end_coalescing = _by_gloo("_end_coalescing")
    _set_sequence_number_for_group = _by_gloo("_set_sequence_number_for_group")
    _start_coalescing = _by_gloo("_start_coalescing")
    monitored_barrier = _by_gloo("monitored_barrier")
