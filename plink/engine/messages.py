"""Messages between two ranks of an engine."""

from __future__ import annotations

from typing import Any

from plink.base.errors import WrongUseError
from plink.engine._native import Work
from plink.engine.calls import whole
from plink.engine.connected import Connected

MOST_TAG = 2**32 - 1
_ANYBODY = -1


class Messages(Connected):
    """Messages between two ranks, unordered with collectives.

    Up to 64 KB are sent at once (eager) and kept by the receiver, up to 256 KB from each peer.
    What is larger, or more, waits until its receiver has asked for it (a rendezvous).
    """

    def send(self, array: Any, peer: int, tag: int = 0, *, type_code: int = 0) -> Work:
        """Begin to send `array`, a contiguous buffer on the CPU, to rank `peer`.

        It ends when the kernel has all of it; beyond what the receiver keeps, not before the peer
        receives it. Messages to one peer with one tag arrive in the order of the calls.

        Args:
            array: what is sent.
            peer: to whom.
            tag: of the message.
            type_code: of its elements, 16 bits as the program numbers types: the receiver must say
                the same, or the engine fails on both.

        Raises:
            WrongUseError: an array, peer or tag that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        self._check(peer, tag)
        return self._message(array, peer, tag, type_code, is_received=False)

    def receive(
        self, array: Any, peer: int | None = None, tag: int = 0, *, type_code: int = 0
    ) -> Work:
        """Begin to receive into `array` a message of as many bytes as it has.

        Args:
            array: a writable, contiguous buffer on the CPU.
            peer: whose message; None for that of any rank, which `Work.peer` then names. A
                program that receives from any rank should do only that with this tag.
            tag: of the message.
            type_code: of its elements, as in `send`.

        Raises:
            WrongUseError: an array, peer or tag that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        self._check((self.rank + 1) % self.ranks if peer is None else peer, tag)
        whose = _ANYBODY if peer is None else peer
        return self._message(array, whose, tag, type_code, is_received=True)

    def message_at(
        self,
        address: int,
        size_bytes: int,
        owner: Any,
        peer: int | None,
        tag: int,
        *,
        is_received: bool,
        type_code: int = 0,
    ) -> Work:
        """Begin to send or receive in memory at `address`, which `owner` keeps until the end.

        Raises:
            WrongUseError: a peer or tag that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        self._check((self.rank + 1) % self.ranks if peer is None else peer, tag)
        whose = _ANYBODY if peer is None else peer
        return self._native.post_message_at(
            owner, address, size_bytes, whose, tag, type_code, is_received
        )

    def _check(self, peer: int, tag: int) -> None:
        if whole(peer, "a peer", 0, self.ranks - 1) == self.rank:
            raise WrongUseError(f"rank {self.rank} sends itself nothing")
        whole(tag, "a tag", 0, MOST_TAG)

    def _message(
        self, array: Any, peer: int, tag: int, type_code: int, *, is_received: bool
    ) -> Work:
        try:
            return self._native.post_message(array, peer, tag, type_code, is_received)
        except ValueError as error:
            raise WrongUseError(f"this message cannot be: {error}") from None
