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
    """What an engine offers beside collectives, in no order with them.

    The receiver asks the sender first (a rendezvous), so a message takes one way more than its own
    and waits in nobody's memory.
    """

    def send(self, array: Any, peer: int, tag: int = 0) -> Work:
        """Begin to send `array`, a contiguous buffer on the CPU, to rank `peer`.

        It ends when the peer receives it and the kernel has all of it. Messages to one peer with
        one tag arrive in the order of the calls.

        Raises:
            WrongUseError: an array, peer or tag that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        self._check(peer, tag)
        return self._message(array, peer, tag, is_received=False)

    def receive(self, array: Any, peer: int | None = None, tag: int = 0) -> Work:
        """Begin to receive a message of just as many bytes into `array`.

        Args:
            array: a writable, contiguous buffer on the CPU.
            peer: whose message; None for that of any rank, which `Work.peer` then names. A
                program that receives from any rank should do only that with this tag.
            tag: of the message.

        Raises:
            WrongUseError: an array, peer or tag that cannot be.
            EngineError: the engine has failed, now or before; it names the culprit.
        """
        self._check((self.rank + 1) % self.ranks if peer is None else peer, tag)
        return self._message(array, _ANYBODY if peer is None else peer, tag, is_received=True)

    def _check(self, peer: int, tag: int) -> None:
        if whole(peer, "a peer", 0, self.ranks - 1) == self.rank:
            raise WrongUseError(f"rank {self.rank} sends itself nothing")
        whole(tag, "a tag", 0, MOST_TAG)

    def _message(self, array: Any, peer: int, tag: int, *, is_received: bool) -> Work:
        try:
            return self._native.post_message(array, peer, tag, is_received)
        except ValueError as error:
            raise WrongUseError(f"this message cannot be: {error}") from None
