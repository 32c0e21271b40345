"""How the agents of a round agree on their numbers, in the store that the round has for itself.

Every agent says who it is; the one that PyTorch numbered 0 hears all, decides, and tells the
others. One decides, so that no two agents ever number a round differently.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from plink.base.errors import PlinkError
from plink.base.text import named
from plink.engine.store import Store, get_all
from plink.torchrun.echoing import Door
from plink.torchrun.members import Member, from_bytes, to_bytes

# Who decides gives up first, and tells the others.
_LATER_S = 5.0
_MOST_NAMED = 64

_UNREADABLE = "says what cannot be read here"
_VERSION_HINT = "do all hosts have the same version of plink?"


class MeetAgainError(PlinkError):
    """The round came to nothing, for an agent was lost: the others meet in another one."""


@dataclass(frozen=True)
class Decision:
    """What the agents of a round agree on.

    Args:
        new_ranks: by the number that PyTorch gave.
        hosts: alike, the names of their hosts.
        master_address, master_port: where the workers' store is, on the host of rank 0.
        again: why the agents are to meet again; empty where they need not.
    """

    new_ranks: Sequence[int] = ()
    hosts: Sequence[str] = ()
    master_address: str = ""
    master_port: int = 0
    again: str = ""

    @property
    def in_order(self) -> str:
        """The hosts in order, as messages name them."""
        agents = sorted(range(len(self.hosts)), key=lambda agent: self.new_ranks[agent])
        return named([self.hosts[agent] for agent in agents], _MOST_NAMED)


class Meeting:
    """A round's meeting, as one agent attends it.

    Args:
        store: of this round alone.
        number: that PyTorch gave this agent.
        agents: how many there are.
        wait_s: how long for the others.
    """

    def __init__(self, store: Store, number: int, agents: int, *, wait_s: float) -> None:
        self._store = store
        self._number, self._agents = number, agents
        self._wait_s = wait_s
        self._words = 0
        self._is_measured = False

    def members(self, own: Member) -> list[Member]:
        """For agent 0: all agents by their numbers.

        Raises:
            MeetAgainError: one did not come, or said what cannot be read.
        """
        values = self._said_by_all("member")
        members = [own]
        for number, value in enumerate(values, start=1):
            try:
                members.append(from_bytes(value))
            except (ValueError, KeyError, TypeError):
                raise MeetAgainError(f"agent {number} {_UNREADABLE}", _VERSION_HINT) from None
        return members

    def come(self, own: Member) -> None:
        """For the others: say who this is."""
        self._store.set(f"member/{self._number}", to_bytes(own))

    def ask(self, door: Door) -> None:
        """For agent 0: ask the others to measure their hosts."""
        self._say({"door": asdict(door)})
        self._is_measured = True

    def all_are_back(self) -> None:
        """For agent 0: wait until the others have measured, if they were asked to.

        Raises:
            MeetAgainError: one did not come back.
        """
        if self._is_measured:
            self._said_by_all("back")

    def decide(self, decision: Decision) -> None:
        """For agent 0: tell the others."""
        self._say({"decision": asdict(decision)})

    def decision(self, measure: Callable[[Door], None]) -> Decision:
        """For the others: what agent 0 decides, once they did what it asks for.

        Args:
            measure: takes part in a measurement, and returns when it is over.

        Raises:
            MeetAgainError: it said nothing, what cannot be read, or that all are to meet again.
        """
        while True:
            word = self._heard()
            if isinstance(word, Decision):
                if word.again:
                    raise MeetAgainError(word.again)
                if self._number >= len(word.new_ranks):
                    raise MeetAgainError(f"agent 0 does not count agent {self._number}")
                return word
            measure(word)
            self._store.set(f"back/{self._number}", b"")

    def _said_by_all(self, key: str) -> list[bytes]:
        keys = [f"{key}/{number}" for number in range(1, self._agents)]
        values = get_all(self._store, keys, time.monotonic() + self._wait_s)
        found = [value for value in values if value is not None]
        if len(found) < len(keys):
            number = values.index(None) + 1
            raise MeetAgainError(
                f"agent {number} of {self._agents} was not heard for {self._wait_s:g} s"
            )
        return found

    def _say(self, word: dict[str, Any]) -> None:
        self._store.set(f"word/{self._words}", json.dumps(word).encode())
        self._words += 1

    def _heard(self) -> Decision | Door:
        wait_s = self._wait_s + _LATER_S
        try:
            word = json.loads(self._store.get(f"word/{self._words}", wait_s))
            self._words += 1
            if "door" in word:
                return Door(**word["door"])
            return Decision(**word["decision"])
        except TimeoutError:
            raise MeetAgainError(
                f"agent 0 of {self._agents} was not heard for {wait_s:g} s"
            ) from None
        except (ValueError, TypeError, KeyError):
            raise MeetAgainError(f"agent 0 {_UNREADABLE}", _VERSION_HINT) from None
