"""Agreement of a job's processes on their new numbers, in a store that all of them reach.

Every process says who it is; number 0 hears all, decides, and tells the others, in *words* that
all read in turn. Of several values for a word the first one counts, so that a process that gives
up waiting makes all others give up, too, and no two ever number a job differently.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

import msgspec
from msgspec import Struct

from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.base.text import format_names, printable
from plink.engine.store import SharedStore, get_all, peek
from plink.renumber.echo_agent import MeasuringPort
from plink.renumber.members import Member, from_bytes, to_bytes

# Number 0 gives up first, and tells the others.
_LATER_S = 5.0
_MOST_NAMED = 64
# How long number 0 waits for a process before it looks whether another one has given up.
_LOOK_S = 0.5

_UNREADABLE = "says what cannot be read here"
_VERSION_HINT = "do all hosts have the same version of plink?"


class MeetAgainError(PlinkError):
    """Error of a meeting that lost a process: the others meet in another one."""


class RefusedError(PlinkError):
    """Error of a meeting that a process refused; all processes raise it, for the same reason."""


class Decision(Struct, frozen=True, forbid_unknown_fields=True):
    """New numbers of a job's processes, as all of them agree on.

    Args:
        new_ranks: new number of each process, by the number that it had.
        hosts: name of each process's host, alike.
        master_address: address of the process with new number 0.
        master_port: its port for the workers' store (torchrun).
        again: why the processes are to meet again; empty where they need not.
        refused: why the job cannot be numbered; empty where it can.
        hint: what the user can do about that.
    """

    new_ranks: Sequence[int] = ()
    hosts: Sequence[str] = ()
    master_address: str = ""
    master_port: int = 0
    again: str = ""
    refused: str = ""
    hint: str = ""

    @property
    def hosts_in_order(self) -> list[str]:
        """Name of the host of each process, by new number."""
        agents = sorted(range(len(self.hosts)), key=lambda agent: self.new_ranks[agent])
        return [self.hosts[agent] for agent in agents]

    @property
    def in_order(self) -> str:
        """Hosts by new number, as text for messages."""
        return format_names(self.hosts_in_order, _MOST_NAMED)


class Word(Struct, frozen=True, forbid_unknown_fields=True):
    """Message of process 0 to all others: to measure first, or the new numbers.

    Args:
        decision: what all agree on; None where processes are to measure first.
        port: where these connect.
        numbers: of these processes.
    """

    decision: Decision | None = None
    port: MeasuringPort | None = None
    numbers: Sequence[int] = ()


def parse_word(content: bytes) -> Word:
    """Parse a message of process 0.

    Raises:
        ValueError: it says what no honest process says.
    """
    try:
        word = msgspec.json.decode(content, type=Word)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    decision = word.decision
    if decision is None:
        if word.port is None:
            raise ValueError("a word has a decision or a port")
        return word
    ranks = len(decision.new_ranks)
    if len(decision.hosts) != ranks or sorted(decision.new_ranks) != list(range(ranks)):
        raise ValueError("new ranks are all numbers from 0 on, one for each host that is named")
    shown = replace(
        decision,
        again=printable(decision.again),
        refused=printable(decision.refused),
        hint=printable(decision.hint),
        hosts=[printable(name) for name in decision.hosts],
    )
    return replace(word, decision=shown)


class Meeting:
    """A process's connection to a meeting, in which processes agree on new numbers.

    Args:
        store: with keys of this meeting alone.
        number: of this process.
        processes: number of processes.
        wait_s: seconds that number 0 waits for the others.
        noun: what messages call a process.
    """

    def __init__(
        self,
        store: SharedStore,
        number: int,
        processes: int,
        *,
        wait_s: float,
        noun: str = "agent",
    ) -> None:
        self._store = store
        self._number, self._processes = number, processes
        self._wait_s = wait_s
        self._noun = noun
        self._words = 0
        self._measuring: Sequence[int] = ()

    def come(self, own: Member) -> None:
        """Announce this process to the meeting.

        Raises:
            MeetAgainError: process 0 is not reached.
            RefusedError: another process has the same number; all others are told so.
        """
        key, content = f"member/{self._number}", to_bytes(own)
        with self._telling():
            first = self._store.claim(key, content)
        if first != content:
            self.refuse(
                f"two processes have {self._noun} {self._number}: {_process(first)} and "
                f"{_process(content)}",
                f"every process needs a {self._noun} of its own",
            )

    def members(self, own: Member) -> list[Member]:
        """Wait for all processes and return them by number; only process 0 calls this.

        Raises:
            MeetAgainError: one did not come, or said what cannot be read.
            RefusedError: another process has refused.
        """
        values = self._said_by("member", range(1, self._processes), self._wait_s)
        members = [own]
        for number, value in enumerate(values, start=1):
            try:
                members.append(from_bytes(value))
            except ValueError:
                raise MeetAgainError(
                    f"{self._noun} {number} {_UNREADABLE}", _VERSION_HINT
                ) from None
        return members

    def wait_for(self, numbers: Sequence[int], wait_s: float) -> None:
        """Wait for processes that process 0 did not count on, for at most `wait_s` seconds.

        Only process 0 calls this. It returns, too, where they do not come.
        """
        deadline = time.monotonic() + wait_s
        with suppress(TimeoutError):
            for number in numbers:
                self._store.get(f"member/{number}", max(0.0, deadline - time.monotonic()))

    def ask(self, port: MeasuringPort, numbers: Sequence[int]) -> None:
        """Ask processes to measure their hosts; only process 0 calls this.

        Args:
            port: where the measurement is conducted.
            numbers: of the processes that are to measure.
        """
        self._say(Word(port=port, numbers=list(numbers)))
        self._measuring = [number for number in numbers if number != self._number]

    def all_are_back(self, wait_s: float | None = None) -> None:
        """Wait until the processes asked to measure have done so; only process 0 calls this.

        Raises:
            MeetAgainError: one did not come back.
            RefusedError: another process has refused.
        """
        self._said_by("back", self._measuring, self._wait_s if wait_s is None else wait_s)

    def decide(self, decision: Decision) -> None:
        """Tell the other processes the decision; only process 0 calls this.

        Raises:
            MeetAgainError: the store is not reached.
            RefusedError: another process has refused.
        """
        self._say(Word(decision))

    def refuse(self, reason: str, hint: str | None = None) -> NoReturn:
        """Raise an error in this process and make all other processes raise it, too.

        Raises:
            MeetAgainError: process 0 is not reached.
            RefusedError: otherwise.
        """
        self._say(Word(Decision(refused=reason, hint=hint or "")))
        raise RefusedError(reason, hint)

    def give_up(self, reason: str, hint: str | None = None) -> NoReturn:
        """Raise an error and make all processes that still wait raise it, if they are reached.

        Raises:
            RefusedError: always.
        """
        with suppress(OSError, RuntimeError, MeetAgainError):
            self.refuse(reason, hint)
        raise RefusedError(reason, hint)

    def decision(
        self, measure: Callable[[MeasuringPort], None], wait_s: float | None = None
    ) -> Decision:
        """Wait for process 0's decision, measuring when it asks for that; the others call this.

        Args:
            measure: takes part in a measurement, and returns when it is over.
            wait_s: seconds to wait for each word; None for a little longer than number 0 waits.

        Raises:
            MeetAgainError: it said nothing, what cannot be read, or that all are to meet again.
            RefusedError: it refused, or another process did.
        """
        while True:
            word = self._heard(self._wait_s + _LATER_S if wait_s is None else wait_s)
            if word.decision is not None:
                if self._number >= len(word.decision.new_ranks):
                    raise MeetAgainError(
                        f"{self._noun} 0 does not count {self._noun} {self._number}"
                    )
                return word.decision
            if word.port is not None and self._number in word.numbers:
                measure(word.port)
                with self._telling():
                    self._store.set(f"back/{self._number}", b"1")

    def _said_by(self, key: str, numbers: Sequence[int], wait_s: float) -> list[bytes]:
        """Wait until the processes have set a key each and return the values in their order."""
        deadline = time.monotonic() + wait_s
        for number in numbers:
            while True:
                left_s = deadline - time.monotonic()
                try:
                    self._store.get(f"{key}/{number}", max(0.0, min(_LOOK_S, left_s)))
                    break
                except TimeoutError:
                    self._look_for_the_end()
                    absent = self._absent(key, numbers) if left_s <= 0.0 else []
                    if absent:
                        reason = self._not_heard(absent, wait_s)
                        raise MeetAgainError(reason) from None
        values = get_all(self._store, [f"{key}/{number}" for number in numbers], deadline)
        return [value or b"" for value in values]

    def _absent(self, key: str, numbers: Sequence[int]) -> list[str]:
        return [str(number) for number in numbers if peek(self._store, f"{key}/{number}") is None]

    def _not_heard(self, absent: Sequence[str], wait_s: float) -> str:
        were = (
            f"{self._noun}s {format_names(absent)}"
            if len(absent) > 1
            else f"{self._noun} {absent[0]}"
        )
        verb = "were" if len(absent) > 1 else "was"
        return f"{were} of {self._processes} {verb} not heard for {wait_s:g} s"

    def _look_for_the_end(self) -> None:
        word = peek(self._store, f"word/{self._words}")
        if word is not None:
            _raise_end(word)

    def _say(self, word: Word) -> None:
        content = msgspec.json.encode(word)
        with self._telling():
            first = self._store.claim(f"word/{self._words}", content)
        self._words += 1
        if first != content:
            _raise_end(first)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # The store is gone with the process that holds it.
            raise MeetAgainError(f"{self._noun} 0 is not reached ({error})") from None

    def _heard(self, wait_s: float) -> Word:
        try:
            content = self._store.get(f"word/{self._words}", wait_s)
        except TimeoutError:
            content = self._given_up(
                f"{self._noun} 0 of {self._processes} was not heard for {wait_s:g} s"
            )
        self._words += 1
        _raise_end(content)
        try:
            return parse_word(content)
        except ValueError:
            raise MeetAgainError(f"{self._noun} 0 {_UNREADABLE}", _VERSION_HINT) from None

    def _given_up(self, reason: str) -> bytes:
        """Claim the awaited message, to make all meet again; return the one that counts."""
        again = msgspec.json.encode(Word(Decision(again=reason)))
        try:
            return self._store.claim(f"word/{self._words}", again)
        except (OSError, RuntimeError, TimeoutError):
            # The store is gone with the process that holds it.
            raise MeetAgainError(reason) from None


def _raise_end(word: bytes) -> None:
    """Raise the error that a message asks all processes to raise, if it does."""
    try:
        decision = parse_word(word).decision
    except ValueError:
        return
    if decision is None:
        return
    if decision.refused:
        raise RefusedError(decision.refused, decision.hint or None)
    if decision.again:
        raise MeetAgainError(decision.again)


def _process(content: bytes) -> str:
    """Return the name of the process that wrote a member, for messages."""
    try:
        member = from_bytes(content)
    except ValueError:
        return "another process"
    return member.process or member.name
