"""Requests of processes to join a job, and how its members notice them."""

from __future__ import annotations

import contextlib
import time

from plink.engine.failure import EngineError
from plink.engine.lifeline import Address, Life, Watch
from plink.engine.roster import (
    Member,
    Presence,
    Roster,
    asking_key,
    latest_key,
    pack_presence,
    parse_presence,
    parse_roster,
    roster_key,
)
from plink.engine.store import SharedStore, peek

_SLICE_S = 0.05
# So often rank 0 looks at most.
_LOOK_S = 0.05
_CALL_S = 1.0
_GONE = (Life.ENDED, Life.SILENT)


def ask(
    store: SharedStore, line: Address, watch: Watch, timeout_s: float
) -> tuple[int, int, Roster]:
    """Ask to join until there is a generation with this process.

    Returns:
        The number that this process has now, the generation, and its roster.

    Raises:
        EngineError: there are no members, or all have ended.
    """
    try:
        generation = int(store.get(latest_key(), timeout_s))
    except (TimeoutError, ValueError):
        raise EngineError(
            "there are no members to join", hint="the first ones are made with rank and ranks"
        ) from None
    roster = parse_roster(store.get(roster_key(generation), 0.0))
    presence = pack_presence(Presence(line, 0))
    number = roster.asked
    while True:
        while store.claim(asking_key(number), presence) != presence:
            number += 1
        while roster.asked <= number:
            roster, generation = _next_roster(store, roster, generation, watch)
        if number in roster.numbers:
            return number, generation, roster
        # It was not heard in time.
        number = max(number + 1, roster.asked)


def _next_roster(
    store: SharedStore, roster: Roster, generation: int, watch: Watch
) -> tuple[Roster, int]:
    while True:
        try:
            content = store.get(roster_key(generation + 1), _SLICE_S)
        except TimeoutError:
            if all(watch.life(member.line) in _GONE for member in roster.members):
                raise EngineError("all members have ended, there is nobody to join") from None
        else:
            return parse_roster(content), generation + 1


def newcomers(
    store: SharedStore, before: Roster, steps: int, watch: Watch
) -> tuple[list[Member], int]:
    """Return the living processes that ask to join, and how many have asked in all."""
    asking = []
    asked = before.asked
    while (content := peek(store, asking_key(asked))) is not None:
        with contextlib.suppress(EngineError):
            asking.append(Member(asked, parse_presence(content).line, steps))
        asked += 1
    watch.settled((one.line for one in asking), _CALL_S)
    return [one for one in asking if watch.life(one.line) is Life.ALIVE], asked


class Ear:
    """Poller of the store for requests to join that no roster has counted."""

    def __init__(self, store: SharedStore, watch: Watch) -> None:
        self._store = store
        self._watch = watch
        self._next = 0
        self._looked_at = 0.0

    def hears(self, roster: Roster) -> bool:
        """Return whether a living process asks to join that the roster does not count yet.

        It reads the store at most every 50 ms, and returns False in between.
        """
        now = time.monotonic()
        if now - self._looked_at < _LOOK_S:
            return False
        self._looked_at = now
        self._next = max(self._next, roster.asked)
        while (content := peek(self._store, asking_key(self._next))) is not None:
            with contextlib.suppress(EngineError):
                life = self._watch.life(parse_presence(content).line)
                if life not in _GONE:
                    # If nothing is known yet, it is with the next look.
                    return life is Life.ALIVE
            self._next += 1
        return False
