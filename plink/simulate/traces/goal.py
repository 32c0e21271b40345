"""GOAL's text: what LogGOPSim and ATLAHS simulate.

    num_ranks 2
    rank 0 {
    l1: send 1000b to 1 tag 7
    l2: calc 500
    l2 requires l1
    }

An operation waits for those that it `requires` to have ended. Those that it `irequires` have only
to have begun: it waits for what they require.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from plink.base.errors import WrongUseError
from plink.simulate.schedule import ANY, COMPUTE, RECEIVE, SEND, Schedule
from plink.simulate.traces.edges import Edges

MAX_RANKS = 65_536
MAX_OPERATIONS = 1 << 24
_MAX_AMOUNT = (1 << 62) - 1
MAX_TAG = (1 << 32) - 2

# A comment that nothing closes goes to the end: else each would be searched to there.
_COMMENT = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*\Z)", re.DOTALL)
_LABEL = r"[a-zA-Z][a-zA-Z0-9_]*"
_PLACES = r"(?:\s+cpu\s+\d+)?(?:\s+nic\s+\d+)?"
_MESSAGE = re.compile(
    rf"(?:({_LABEL})\s*:\s*)?(?:send\s+(\d+)\s*b\s+to\s+(\d+)|recv\s+(\d+)\s*b\s+from\s+(-1|\d+))"
    rf"(?:\s+tag\s+(-1|\d+))?{_PLACES}",
    re.ASCII,
)
_CALC = re.compile(rf"(?:({_LABEL})\s*:\s*)?calc\s+(\d+){_PLACES}", re.ASCII)
_NEEDS = re.compile(rf"({_LABEL})\s+(i?requires)\s+({_LABEL})", re.ASCII)
_RANK = re.compile(r"rank\s+(\d+)\s*\{", re.ASCII)
_RANKS = re.compile(r"num_ranks\s+(\d+)", re.ASCII)

_WORD = {SEND: "send", RECEIVE: "recv"}


def lines_of(schedule: Schedule) -> Iterator[str]:
    """Yield the text, line by line."""
    yield f"num_ranks {schedule.ranks}"
    by_rank = np.argsort(schedule.rank, kind="stable")
    starts = np.searchsorted(schedule.rank[by_rank], np.arange(schedule.ranks + 1))
    number = np.empty(schedule.operations, dtype=np.int64)
    number[by_rank] = np.arange(schedule.operations) - starts[schedule.rank[by_rank]] + 1
    edges = np.argsort(schedule.rank[schedule.after], kind="stable")
    edge_starts = np.searchsorted(
        schedule.rank[schedule.after[edges]], np.arange(schedule.ranks + 1)
    )
    for rank in range(schedule.ranks):
        yield f"rank {rank} {{"
        for one in by_rank[starts[rank] : starts[rank + 1]].tolist():
            yield f"l{number[one]}: {_operation(schedule, one)}"
        for edge in edges[edge_starts[rank] : edge_starts[rank + 1]].tolist():
            after, before = number[schedule.after[edge]], number[schedule.before[edge]]
            yield f"l{after} requires l{before}"
        yield "}"


def _operation(schedule: Schedule, one: int) -> str:
    kind, amount = int(schedule.kind[one]), int(schedule.amount[one])
    if kind == COMPUTE:
        return f"calc {amount}"
    way = "to" if kind == SEND else "from"
    return f"{_WORD[kind]} {amount}b {way} {schedule.peer[one]} tag {schedule.tag[one]}"


def to_text(schedule: Schedule) -> str:
    """Return the whole text."""
    return "\n".join(lines_of(schedule)) + "\n"


def is_goal(content: bytes) -> bool:
    """Return whether a file's content begins as such text does."""
    text = _COMMENT.sub(" ", content[:65_536].decode("utf-8", "replace")).lstrip()
    return text.startswith("num_ranks")


class _Reader:
    """Parser of a GOAL file, and what it has read so far."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.line = 0
        self.ranks = 0
        self.rank = -1
        self.seen: set[int] = set()
        self.labels: dict[str, int] = {}
        self.needs: list[tuple[str, str, bool, int]] = []
        self.operations: list[tuple[int, int, int, int, int]] = []
        self.edges = Edges()

    def error(self, what: str, hint: str | None = None) -> WrongUseError:
        return WrongUseError(f"{self.source}, line {self.line}: {what}", hint)

    def take(self, text: str) -> None:
        if found := _RANKS.fullmatch(text):
            self.ranks = self._number(found[1], 1, MAX_RANKS, "ranks")
        elif found := _RANK.fullmatch(text):
            self._open(found[1])
        elif text == "}":
            self._close()
        elif self.rank < 0:
            raise self.error("an operation outside of a rank")
        elif found := _MESSAGE.fullmatch(text):
            self._message(found)
        elif found := _CALC.fullmatch(text):
            amount = self._number(found[2], 0, _MAX_AMOUNT, "the computing")
            self._add(found[1], (COMPUTE, self.rank, ANY, amount, 0))
        elif found := _NEEDS.fullmatch(text):
            self.needs.append((found[1], found[3], found[2] == "requires", self.line))
        else:
            raise self.error(f"{text[:60]!r} is no operation of GOAL")

    def _open(self, number: str) -> None:
        if not self.ranks:
            raise self.error("a rank before num_ranks")
        if self.rank >= 0:
            raise self.error("a rank inside of another")
        self.rank = self._number(number, 0, self.ranks - 1, "the rank")
        if self.rank in self.seen:
            raise self.error(f"rank {self.rank} stands twice")
        self.seen.add(self.rank)
        self.labels = {}
        self.needs = []

    def _close(self) -> None:
        if self.rank < 0:
            raise self.error("a brace that closes nothing")
        required: dict[str, list[int]] = {}
        for after, before, is_whole, line in self.needs:
            self.line = line
            for label in (after, before):
                if label not in self.labels:
                    raise self.error(f"no operation of rank {self.rank} is called {label}")
            if is_whole:
                required.setdefault(after, []).append(self.labels[before])
        for after, before, is_whole, line in self.needs:
            firsts = [self.labels[before]] if is_whole else required.get(before, [])
            self.edges.add(firsts, [self.labels[after]], f"{self.source}, line {line}")
        self.rank = -1

    def _message(self, found: re.Match[str]) -> None:
        is_send = found[2] is not None
        amount = self._number(found[2] or found[4], 0, _MAX_AMOUNT, "the size")
        peer_text = found[3] if is_send else found[5]
        peer = ANY if peer_text == "-1" else self._number(peer_text, 0, self.ranks - 1, "the peer")
        if peer == self.rank:
            raise self.error(f"rank {self.rank} exchanges data with itself")
        tag = ANY if found[6] == "-1" else self._number(found[6] or "0", 0, MAX_TAG, "the tag")
        if is_send and tag == ANY:
            raise self.error("a send of any tag")
        self._add(found[1], (SEND if is_send else RECEIVE, self.rank, peer, amount, tag))

    def _add(self, label: str | None, operation: tuple[int, int, int, int, int]) -> None:
        if label is not None:
            if label in self.labels:
                raise self.error(f"{label} stands twice in rank {self.rank}")
            self.labels[label] = len(self.operations)
        self.operations.append(operation)
        if len(self.operations) > MAX_OPERATIONS:
            raise self.error(f"more than {MAX_OPERATIONS:,} operations")

    def _number(self, text: str, low: int, high: int, what: str) -> int:
        number = int(text) if len(text) <= 20 else high + 1
        if not low <= number <= high:
            raise self.error(f"{what} {text[:20]} is not between {low} and {high}")
        return number


def parse(text: str, source: str) -> Schedule:
    """Return the schedule that a text describes; `source` names it in errors.

    Raises:
        WrongUseError: not GOAL, or values that cannot be.
    """
    reader = _Reader(source)

    # Comments go, the lines that they are on stay.
    def blank(found: re.Match[str]) -> str:
        lines = found[0].count("\n")
        if found[0].startswith("/*") and not found[0][2:].endswith("*/"):
            reader.line = 1 + text.count("\n", 0, found.start())
            raise reader.error("a comment that nothing closes")
        return "\n" * lines or " "

    plain = _COMMENT.sub(blank, text)
    for number, line in enumerate(plain.splitlines(), start=1):
        reader.line = number
        if stripped := line.strip():
            reader.take(stripped)
    if not reader.ranks:
        raise WrongUseError(f"{source}: has no num_ranks", "GOAL's text begins with it")
    if reader.rank >= 0:
        raise WrongUseError(f"{source}: ends inside of rank {reader.rank}")
    columns = np.array(reader.operations, dtype=np.int64).reshape(-1, 5).T
    return Schedule(reader.ranks, *columns, *reader.edges.columns())
