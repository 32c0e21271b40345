"""Rosters and presences of members in the store, checked: anybody may have written them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct

from plink.engine.failure import EngineError
from plink.engine.lifeline import Address
from plink.plans.forest import Forest
from plink.plans.wire import decode_forest

T = TypeVar("T")

PREFIX = "plink/members"
_HINT = "does every job have a store, or a directory, of its own?"


_Whole = Annotated[int, Meta(ge=0)]


class Member(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Member of a generation.

    Attributes:
        number: number that it alone has, for as long as the store lasts
        line: where it is called
        since: steps that were done when it came; -1 for one of the first
    """

    number: _Whole
    line: Address
    since: Annotated[int, Meta(ge=-1)]


class Roster(Struct, frozen=True):
    """Members of a generation, with the step and the plan that they begin from.

    Attributes:
        members: members by rank, those that are longest there first
        steps: steps that are done
        asked: number of processes that have asked to join so far, or did when the job began
        plan: key of the plan in the store
        missing: numbers of those that did not come
    """

    members: Sequence[Member]
    steps: _Whole
    asked: _Whole
    plan: str
    missing: Sequence[_Whole]

    def __post_init__(self) -> None:
        if len(set(self.numbers)) < len(self.members):
            raise ValueError("two members have the same number")

    @property
    def numbers(self) -> list[int]:
        """Numbers of the members, by rank."""
        return [member.number for member in self.members]


class Presence(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Message of a member that comes to the meeting of a generation.

    Attributes:
        line: where it is called
        steps: steps that it has done
    """

    line: Address
    steps: _Whole


def roster_key(generation: int) -> str:
    """Return the key of a generation's roster; the first value claimed for it counts."""
    return f"{PREFIX}/{generation}/roster"


def presence_key(generation: int, number: int) -> str:
    """Return the key that a member sets when it comes to a generation's meeting."""
    return f"{PREFIX}/{generation}/here/{number}"


def begun_key(generation: int) -> str:
    """Return the key that is set once any member has come to a generation's meeting."""
    return f"{PREFIX}/{generation}/begun"


def asking_key(number: int) -> str:
    """Return the key that a process claims to ask to join, as the member of that number."""
    return f"{PREFIX}/asking/{number}"


def latest_key() -> str:
    """Return the key of the latest generation's number, which may be a few behind."""
    return f"{PREFIX}/latest"


def pack_roster(roster: Roster) -> bytes:
    """Encode a roster."""
    return msgspec.json.encode(roster)


def parse_roster(content: bytes) -> Roster:
    """Parse the output of `pack_roster`.

    Raises:
        EngineError: it is something else.
    """
    return _parse(content, lambda text: msgspec.json.decode(text, type=Roster), "a list of members")


def pack_presence(presence: Presence) -> bytes:
    """Encode a presence, as a member sets it or an applicant claims it."""
    return msgspec.json.encode(presence)


def parse_presence(content: bytes) -> Presence:
    """Parse the output of `pack_presence`.

    Raises:
        EngineError: it is something else.
    """
    return _parse(
        content, lambda text: msgspec.json.decode(text, type=Presence), "where a member is called"
    )


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
    except (ValueError, RecursionError):
        raise EngineError(f"what is in the store is not {what}", hint=_HINT) from None
