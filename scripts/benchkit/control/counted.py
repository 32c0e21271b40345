"""What machines say to each other, counted by kind, as they say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plink.torch.named.driver import Machine
from plink.training.control.actions import Action, Send
from plink.training.control.cycle_messages import REQUESTS, parse_response
from plink.training.control.events import Event, Heard
from plink.training.control.tree_messages import parse_downward, parse_upward


@dataclass
class Counts:
    """Of one rank's machine, sent and heard together.

    Args:
        messages: of all kinds.
        bytes: in them.
        asked: collectives that it named to its parent, by name, type and shape.
        told: collectives that its parent named to it; of the root, that it named to others.
    """

    messages: int = 0
    bytes: int = 0
    asked: int = 0
    told: int = 0

    def __sub__(self, other: Counts) -> Counts:
        """What came since."""
        return Counts(
            self.messages - other.messages,
            self.bytes - other.bytes,
            self.asked - other.asked,
            self.told - other.told,
        )


class Counted:
    """A machine, of which messages and bytes are counted that it says and hears.

    Args:
        machine: which.
        counts: where.
    """

    def __init__(self, machine: Machine, counts: Counts) -> None:
        self._machine = machine
        self._counts = counts

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """As the machine does."""
        actions = self._machine.step(events, now_s)
        for one in (*events, *actions):
            if isinstance(one, Heard | Send):
                self._counts.messages += 1
                self._counts.bytes += len(one.message)
        return actions


class CountedByName:
    """A machine, of which is counted how many collectives it names, and is named.

    Args:
        machine: which.
        counts: where.
        mode: of the machine.
        parent: rank of its parent, -1 at the root.
        ranks: how many there are.
    """

    def __init__(
        self, machine: Machine, counts: Counts, mode: str, parent: int, ranks: int
    ) -> None:
        self._machine = machine
        self._counts = counts
        self._is_cyclic = mode != "tree"
        self._parent = parent
        self._ranks = ranks

    def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
        """As the machine does."""
        actions = self._machine.step(events, now_s)
        heard = [event for event in events if isinstance(event, Heard)]
        sent = [action for action in actions if isinstance(action, Send)]
        down = [one.message for one in heard if one.rank == self._parent]
        if self._parent < 0:
            # All children are told the same.
            down = [one.message for one in sent if one.rank == sent[0].rank]
        up = [one.message for one in sent if one.rank == self._parent]
        self._counts.told += sum(self._count_named(message, is_up=False) for message in down)
        self._counts.asked += sum(self._count_named(message, is_up=True) for message in up)
        return actions

    def _count_named(self, message: bytes, *, is_up: bool) -> int:
        """How many collectives a message names."""
        if self._is_cyclic:
            if message[0] != REQUESTS:
                return 0
            message = message[1:]
        if is_up:
            return len(parse_upward(message, self._ranks).versions)
        said = (
            parse_response(message, self._ranks).said
            if self._is_cyclic
            else parse_downward(message, self._ranks)
        )
        return sum(member.request is not None for batch in said.batches for member in batch)
