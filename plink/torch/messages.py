"""Messages from and to tensors whose memory the engine can read and write in place.

A message of some kilobytes takes tens of microseconds: the way on which a collective's tensors are
brought to the engine would take longer than the network.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor
from torch.distributed import Work

from plink.base.errors import PlinkError
from plink.engine import Engine
from plink.torch.executors import Notifier
from plink.torch.kinds import SEND, Kind
from plink.torch.layouts import type_code
from plink.torch.profiling import event
from plink.torch.staging import is_plain
from plink.torch.work import Reduction


class _AtHand:
    """Stage of a tensor in host memory that needs no copies."""

    devices: Sequence[torch.device] = ()

    def finish(self) -> None:
        """Do nothing: the tensor is in host memory."""

    def join(self) -> None:
        """Do nothing: the tensor is in host memory."""

    def arrival(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context that does nothing, as no stream is involved."""
        return contextlib.nullcontext()


_AT_HAND: Any = _AtHand()
_POSTED = threading.Event()
_POSTED.set()


def is_at_hand(tensor: Tensor) -> bool:
    """Return whether a tensor is dense, contiguous host memory with its numbers as they are."""
    return tensor.is_cpu and tensor.layout == torch.strided and is_plain(tensor)


def awaited_text(kind: Kind, peer: int | None, tag: int) -> str:
    """Return the text of the error for a message that is not over in time."""
    if kind is SEND:
        return f"rank {peer} has not received a message with tag {tag}"
    sender = "no rank" if peer is None else f"rank {peer}"
    return f"{sender} has {'' if peer is None else 'not '}sent a message with tag {tag}"


class MessageWork(Reduction):
    """Work of one message, which begins on creation; `wait` raises its failure.

    Args:
        kind: whether it is sent or received.
        tensor: the user's, kept until the end.
        peer: at the other end; None to receive from anybody.
        tag: of the message.
        engine: of this rank.
        notifier: awaits the end for the future, where nobody else does.
        timeout: seconds that `wait` and the future wait.
    """

    def __init__(
        self,
        kind: Kind,
        tensor: Tensor,
        peer: int | None,
        tag: int,
        *,
        engine: Engine,
        notifier: Notifier,
        timeout: timedelta,
    ) -> None:
        Work.__init__(self)
        self._tensors = [tensor]
        self._stage = _AT_HAND
        self._timeout = timeout
        self.awaited = awaited_text(kind, peer, tag)
        self._submit = notifier.submit_alone
        self._posted = _POSTED
        self._engine_work = None
        self._error = None
        self._is_settled = False
        self._is_told = False
        self._settling = threading.Lock()
        self._ended = self._future = None
        self._kind = kind
        self._event = event(kind)
        try:
            self._engine_work = engine.message_at(
                tensor.data_ptr(),
                tensor.nbytes,
                tensor,
                peer,
                tag,
                is_received=kind is not SEND,
                type_code=type_code(tensor.dtype),
            )
        except PlinkError as error:
            self._error = str(error)
        if self._event is not None:
            self._submit(self._settle_in_time, self._event.end)
