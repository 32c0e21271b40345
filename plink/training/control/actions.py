"""Actions that a negotiation machine asks its rank to carry out."""

from __future__ import annotations

from dataclasses import dataclass

from plink.training.control.requests import Request


@dataclass(frozen=True, slots=True)
class Send:
    """Bring a message to another rank's machine."""

    rank: int
    message: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Collectives of one kind, type, operation and scale, to be run as one buffer.

    Args:
        requests: in the order of the buffer.
        joined: some ranks have joined, and contribute zeros.
    """

    requests: tuple[Request, ...]
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Release:
    """Run these, in this order, which is the same on all ranks."""

    batches: tuple[Batch, ...]


@dataclass(frozen=True, slots=True)
class SleepUntil:
    """Tell `Ticked` at this time, and forget any other that was named before.

    Args:
        at_s: on the clock of `step`; infinity for never.
        wakes_on_message: what comes meanwhile is told at once, not only then.
    """

    at_s: float
    wakes_on_message: bool = True


@dataclass(frozen=True, slots=True)
class Warn:
    """Tell people."""

    text: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """A collective fails on every rank; others go on."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class RefuseHere:
    """An announcement, or joining, was not taken, on this rank alone.

    Args:
        names: of all requests of the announcement.
        text: why.
    """

    names: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class AllJoined:
    """Every rank has joined; they all begin anew. `last` is the rank that joined last."""

    last: int


@dataclass(frozen=True, slots=True)
class FailAll:
    """Failure of every pending collective, and of every later one, with `text`."""

    text: str


Action = Send | Release | SleepUntil | Warn | Refuse | RefuseHere | AllJoined | FailAll
