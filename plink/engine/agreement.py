"""Agreement of members on who is in the next generation, without waiting for ended ones.

Each says in the store that it has come. The first of those that live waits for the others that
live, and proposes who is in. The store takes one proposal: even where two believe that they are the
first, all read the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from plink.base.text import format_names
from plink.engine.asking import newcomers
from plink.engine.failure import EngineError
from plink.engine.lifeline import Life, Watch
from plink.engine.roster import (
    Member,
    Presence,
    Roster,
    pack_roster,
    parse_presence,
    parse_roster,
    presence_key,
    roster_key,
)
from plink.engine.store import SharedStore, Store

# How long the store is listened to between two looks at who lives: longer and longer.
_SHORTEST_SLICE_S = 0.002
_LONGEST_SLICE_S = 0.05
_CALL_S = 1.0
# For a suspect to come.
_GRACE_S = 1.0


@dataclass(frozen=True)
class Meeting:
    """Meeting in which members agree on who is in the next generation.

    Args:
        store: where they meet.
        generation: that begins.
        number: of this member.
        before: the generation that ends.
        suspects: numbers of members that are not waited for; they are in if they come.
        banned: numbers of members that are out.
        watch: tells who lives.
        patience_s: for a member that lives and does not come.
        silence_s: that those who reach the larger part of the others have a head start.
    """

    store: SharedStore
    generation: int
    number: int
    before: Roster
    suspects: Collection[int]
    banned: Collection[int]
    watch: Watch
    patience_s: float
    silence_s: float

    def agree(self, plan: Callable[[Sequence[int]], str]) -> Roster:
        """Agree on the next generation and return its roster, which may lack this member.

        Args:
            plan: puts a plan for members of these numbers into the store, and returns its key.

        Raises:
            EngineError: the store holds something else than a roster.
        """
        slices_s = _slices()
        while True:
            leader = next(
                (one for one in self._expected_members() if not self._has_gone(one)), None
            )
            if leader is None or leader.number == self.number:
                return self._propose(plan)
            decided = self._read_decision(next(slices_s))
            if decided is not None:
                return decided

    def _expected_members(self) -> list[Member]:
        """Return the members to wait for, this one included."""
        out = {*self.suspects, *self.banned}
        return [one for one in self.before.members if one.number not in out]

    def _has_gone(self, member: Member) -> bool:
        life = Life.ALIVE if member.number == self.number else self.watch.life(member.line)
        return life in (Life.ENDED, Life.SILENT)

    def _propose(self, plan: Callable[[Sequence[int]], str]) -> Roster:
        decided, present = self._gather()
        if decided is None:
            decided = self._decided_by_more(present)
        if decided is not None:
            return decided
        steps = max(presence.steps for presence in present.values())
        members = [one for one in self.before.members if one.number in present]
        new, asked = newcomers(self.store, self.before, steps, self.watch)
        members += new
        key = plan([one.number for one in members])
        claimed = pack_roster(Roster(members, steps, asked, key, []))
        return parse_roster(self.store.claim(roster_key(self.generation), claimed))

    def _gather(self) -> tuple[Roster | None, dict[int, Presence]]:
        """Wait for the members; return a decision made meanwhile, or None and those that came."""
        present: dict[int, Presence] = {}
        expected = self._expected_members()
        suspected = [one for one in self.before.members if one.number in self.suspects]
        for one in suspected:
            # They are called meanwhile.
            self.watch.life(one.line)
        for members, patience_s in ((expected, self.patience_s), (suspected, _GRACE_S)):
            deadline = time.monotonic() + patience_s
            for member in members:
                decided = (
                    None if member.number in self.banned else self._await(member, deadline, present)
                )
                if decided is not None:
                    return decided, {}
        return None, present

    def _await(
        self, member: Member, deadline: float, present: dict[int, Presence]
    ) -> Roster | None:
        """Wait until a member comes or goes, or a decision is made, at most until the deadline.

        Returns:
            The decision; None where there is none.
        """
        key = presence_key(self.generation, member.number)
        for slice_s in _slices():
            try:
                present[member.number] = parse_presence(self.store.get(key, slice_s))
            except TimeoutError:
                decided = self._read_decision(0.0)
                if decided is not None or self._has_gone(member) or time.monotonic() > deadline:
                    return decided
            else:
                break
        return None

    def _decided_by_more(self, present: Collection[int]) -> Roster | None:
        """Return a decision of absent members, which go first while they may be the majority."""
        absent = [one for one in self.before.members if one.number not in present]
        if len(absent) < len(present):
            return None
        self.watch.settled((one.line for one in absent), _CALL_S)
        deadline = time.monotonic() + self.silence_s
        slices_s = _slices()
        while self._may_be_more(absent, present) and time.monotonic() < deadline:
            decided = self._read_decision(next(slices_s))
            if decided is not None:
                return decided
        return None

    def _may_be_more(self, absent: Sequence[Member], present: Collection[int]) -> bool:
        """Return whether absent members that may live are the majority, or half with the first."""
        living = [one for one in absent if self.watch.life(one.line) is not Life.ENDED]
        first = min((one.number for one in living), default=self.number)
        return len(living) > len(present) or (len(living) == len(present) and first < min(present))

    def _read_decision(self, timeout_s: float) -> Roster | None:
        try:
            return parse_roster(self.store.get(roster_key(self.generation), timeout_s))
        except TimeoutError:
            return None


def form_first_generation(
    store: SharedStore,
    number: int,
    members: int,
    plan: Callable[[Sequence[int]], str],
    timeout_s: float,
) -> Roster:
    """Agree on the first generation, of all that the job begins with, and return its roster.

    Raises:
        EngineError: not all came in time; it names those that did not.
    """
    deadline = time.monotonic() + timeout_s
    if number != 0:
        try:
            roster = parse_roster(store.get(roster_key(0), timeout_s))
        except TimeoutError:
            raise _absent([0], timeout_s) from None
    else:
        lines, missing = _lines(store, members, deadline)
        founders = [Member(index, line.line, -1) for index, line in enumerate(lines)]
        key = "" if missing else plan(range(members))
        proposed = Roster(founders, 0, members, key, missing)
        roster = parse_roster(store.claim(roster_key(0), pack_roster(proposed)))
    if roster.missing:
        raise _absent(roster.missing, timeout_s)
    return roster


def _lines(store: Store, members: int, deadline: float) -> tuple[list[Presence], list[int]]:
    lines, missing = [], []
    for other in range(members):
        left_s = max(0.0, deadline - time.monotonic())
        try:
            lines.append(parse_presence(store.get(presence_key(0, other), left_s)))
        except TimeoutError:
            missing.append(other)
    return lines, missing


def _absent(missing: Sequence[int], timeout_s: float) -> EngineError:
    names = format_names([str(rank) for rank in missing])
    return EngineError(
        f"rank{'s' if len(missing) > 1 else ''} {names} did not come to the meeting within "
        f"{timeout_s:g} s",
        missing[0],
    )


def _slices() -> Iterator[float]:
    slice_s = _SHORTEST_SLICE_S
    while True:
        yield slice_s
        slice_s = min(2 * slice_s, _LONGEST_SLICE_S)
