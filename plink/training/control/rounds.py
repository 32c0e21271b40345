"""Rounds of one kind after the other, over a tree of ranks, with equal results on all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from plink.training.control.actions import Action, Send
from plink.training.control.cycle_messages import FAIL
from plink.training.control.digest import digest, mix_bits
from plink.training.control.events import Heard, Left
from plink.training.control.shape import Place
from plink.training.control.sweeps import OutOfStepError, Sweeps
from plink.training.control.wire import WireError

Value = TypeVar("Value")


@dataclass(frozen=True)
class Round:
    """Handlers of one kind of round; values are bytes.

    Args:
        combine: those of children, by rank, with this rank's own.
        conclude: at the root, the result from the value of all.
        apply: on every rank, the result.
    """

    combine: Callable[[dict[int, bytes]], bytes]
    conclude: Callable[[bytes], bytes]
    apply: Callable[[bytes], None]


class Rounds:
    """One rank's part in them.

    Args:
        place: in the tree.
        act: does what follows.
        fail: nothing can go on here; with why, for people.
    """

    def __init__(
        self, place: Place, act: Callable[[Action], None], fail: Callable[[str], None]
    ) -> None:
        self.kinds: dict[int, Round] = {}
        # Why nothing can go on, which all ranks are to hear.
        self.broken = ""
        self._place = place
        self._act = act
        self._fail = fail
        self._sweeps = Sweeps(place.children)
        self._taken = 0
        self._history = 0

    @property
    def kind(self) -> int | None:
        """Kind of the round that is under way; None between cycles."""
        return self._sweeps.kind

    @property
    def digest(self) -> int:
        """Digest of all results, equal on ranks that took as many."""
        return self._history

    @property
    def taken(self) -> int:
        """Results so far."""
        return self._taken

    def enter(self, kind: int) -> None:
        """Take part in a round."""
        self._sweeps.begin(kind)
        self._gather()

    def end(self) -> None:
        """Take part in none."""
        self._sweeps.end()

    def hear(self, event: Heard) -> None:
        """A parent or a child says something."""
        message = event.message or b"\xff"
        try:
            if event.rank == self._place.parent:
                self._come_down(message)
            elif event.rank in self._place.children:
                if message[0] == FAIL:
                    self._lose(event.rank, message[1:].decode(errors="replace"))
                else:
                    self._sweeps.hear(event.rank, message)
                    self._gather()
            else:
                raise WireError("it is neither parent nor child")
        except WireError as error:
            text = _protocol(event.rank, error)
            if self._place.parent is not None:
                self._act(Send(self._place.parent, bytes([FAIL]) + text.encode()))
            self._fail_below(text)

    def leave(self, event: Left) -> None:
        """Handle the loss of a parent or a child, through which others were reached."""
        if event.rank == self._place.parent:
            self._fail_below(event.text)
        elif event.rank in self._place.children:
            self._lose(event.rank, event.text)

    def parsed(
        self, values: Mapping[int, bytes], parse: Callable[[bytes], Value]
    ) -> dict[int, Value]:
        """Parse the children's values, leaving out those that broke the protocol."""
        parsed: dict[int, Value] = {}
        for child, value in values.items():
            try:
                parsed[child] = parse(value)
            except WireError as error:
                self._lose(child, _protocol(child, error))
        return parsed

    def _gather(self) -> None:
        """Pass on the values of all below, when they have come."""
        try:
            values = self._sweeps.take()
        except OutOfStepError as error:
            self._lose(error.child, _protocol(error.child, error))
            return
        kind = self._sweeps.kind
        if values is None or kind is None:
            return
        value = self.kinds[kind].combine(values)
        if self._place.parent is None:
            self._come_down(bytes([kind]) + self.kinds[kind].conclude(value))
        else:
            self._act(Send(self._place.parent, bytes([kind]) + value))

    def _come_down(self, message: bytes) -> None:
        """Take a round's result, and pass it on."""
        if message[0] == FAIL:
            self._fail_below(message[1:].decode(errors="replace"))
            return
        if not self._sweeps.expects(message[0]):
            raise WireError("it takes part in another round")
        self._pass_down(message)
        self._sweeps.end()
        self._taken += 1
        self._history = mix_bits(self._history ^ digest(message, self._taken))
        self.kinds[message[0]].apply(message[1:])

    def _pass_down(self, message: bytes) -> None:
        for child in self._place.children:
            self._act(Send(child, message))

    def _lose(self, child: int, text: str) -> None:
        """Nothing can go on: said at the next chance, so that it ends alike everywhere."""
        self.broken = self.broken or text
        self._sweeps.lose(child)
        self._gather()

    def _fail_below(self, text: str) -> None:
        """Here, and for all who hear of others through this rank."""
        self._pass_down(bytes([FAIL]) + text.encode())
        self._fail(text)


def _protocol(rank: int, error: Exception) -> str:
    return f"rank {rank} broke the protocol of control: {error}"
