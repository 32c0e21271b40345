"""Rosters and presences in the store, where anybody may have written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from plink.engine.failure import EngineError
from plink.engine.lifeline import Address, pack_address, parse_address
from plink.plans.forest import Forest
from plink.plans.wire import decode_forest

T = TypeVar("T")

PREFIX = "plink/members"
_HINT = "does every job have a store, or a directory, of its own?"


@dataclass(frozen=True)
class Member:
    """Member of a generation.

    Args:
        number: of it alone, for as long as the store lasts.
        line: where it is called.
        since: how many steps were done when it came; -1 for one of the first.
    """

    number: int
    line: Address
    since: int


@dataclass(frozen=True)
class Roster:
    """A generation: who is in it, from which step on, and along which plan they aggregate.

    Args:
        members: by rank, those that are longest there first.
        steps: that are done.
        asked: how many have asked to join so far, or did when the job began.
        plan: the key of the plan in the store.
    """

    members: Sequence[Member] = ()
    steps: int = 0
    asked: int = 0
    plan: str = ""
    missing: Sequence[int] = field(default=())

    @property
    def numbers(self) -> list[int]:
        """Numbers of the members, by rank."""
        return [member.number for member in self.members]


@dataclass(frozen=True)
class Presence:
    """Message of a member that comes to the meeting of a generation.

    Args:
        line: where it is called.
        steps: that it has done.
    """

    line: Address
    steps: int


def roster_key(generation: int) -> str:
    """Return the key of a roster, which is claimed: the first one proposed counts."""
    return f"{PREFIX}/{generation}/roster"


def presence_key(generation: int, number: int) -> str:
    """Set by a member that has come to the meeting."""
    return f"{PREFIX}/{generation}/here/{number}"


def begun_key(generation: int) -> str:
    """Set by each member that comes to the meeting of a generation."""
    return f"{PREFIX}/{generation}/begun"


def asking_key(number: int) -> str:
    """Return the key that a process claims to ask to join; it has this number then."""
    return f"{PREFIX}/asking/{number}"


def latest_key() -> str:
    """Return a generation, not before the last but a few."""
    return f"{PREFIX}/latest"


def pack_roster(roster: Roster) -> bytes:
    """Encode a roster."""
    said = {**vars(roster), "missing": list(roster.missing)}
    said["members"] = [
        [member.number, pack_address(member.line), member.since] for member in roster.members
    ]
    return json.dumps(said).encode()


def parse_roster(content: bytes) -> Roster:
    """Parse the output of `pack_roster`.

    Raises:
        EngineError: it is something else.
    """
    return _parse(content, _roster, "a list of members")


def pack_presence(presence: Presence) -> bytes:
    """Encode a presence, as a member sets it or an applicant claims it."""
    return json.dumps([pack_address(presence.line), presence.steps]).encode()


def parse_presence(content: bytes) -> Presence:
    """Parse the output of `pack_presence`.

    Raises:
        EngineError: it is something else.
    """
    return _parse(content, _presence, "where a member is called")


def parse_forest(content: bytes, ranks: int) -> Forest:
    """Parse the output of `encode_forest` for a forest over `ranks`.

    Raises:
        EngineError: it is something else.
    """
    return _parse(
        content, lambda text: decode_forest(text.decode(), ranks), "a plan for these ranks"
    )


def _parse(content: bytes, parse: Callable[[bytes], T], what: str) -> T:
    try:
        return parse(content)
    except (ValueError, TypeError, KeyError, RecursionError):
        raise EngineError(f"what is in the store is not {what}", hint=_HINT) from None


def _roster(content: bytes) -> Roster:
    said = json.loads(content)
    members = [
        Member(_whole(number, 0), parse_address(line), _whole(since, -1))
        for number, line, since in said["members"]
    ]
    missing = [_whole(number, 0) for number in said["missing"]]
    if not isinstance(said["plan"], str) or len({one.number for one in members}) < len(members):
        raise ValueError
    return Roster(
        members, _whole(said["steps"], 0), _whole(said["asked"], 0), said["plan"], missing
    )


def _presence(content: bytes) -> Presence:
    line, steps = json.loads(content)
    return Presence(parse_address(line), _whole(steps, 0))


def _whole(said: Any, least: int) -> int:
    if type(said) is not int or said < least:
        raise ValueError
    return said
