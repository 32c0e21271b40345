"""Events that a negotiation machine processes."""

from __future__ import annotations

from dataclasses import dataclass

from plink.training.control.graph import Order
from plink.training.control.requests import Request


@dataclass(frozen=True, slots=True)
class Announced:
    """Announcement of collectives that this rank is ready for; all of them are taken, or none.

    Args:
        requests: the collectives.
        since_s: in mode `tree`, time at which the program announced them; None for now.
    """

    requests: tuple[Request, ...]
    since_s: float | None = None


@dataclass(frozen=True, slots=True)
class AnswersHeld:
    """Order to hold back this rank's answers to the root's questions, or to send them again.

    Args:
        is_held: whether to hold them back, as not all that this rank waits for is announced yet.
    """

    is_held: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of another rank's machine has come; in order for each rank."""

    rank: int
    message: bytes


@dataclass(frozen=True, slots=True)
class Ticked:
    """The time that `SleepUntil` named has come, or later."""


@dataclass(frozen=True, slots=True)
class Done:
    """End of further released batches on this rank."""

    batches: int = 1


@dataclass(frozen=True, slots=True)
class Joined:
    """End of this rank's announcements until all ranks have joined."""


@dataclass(frozen=True, slots=True)
class IterationEnded:
    """All that this rank announces in an iteration is announced.

    Args:
        order: that was learnt in it; None where none was.
    """

    order: Order | None


@dataclass(frozen=True, slots=True)
class Awaited:
    """The program waits for this and does nothing else."""

    name: str


@dataclass(frozen=True, slots=True)
class Lost:
    """A rank is lost, so that nothing goes on. `text` is for people."""

    text: str


@dataclass(frozen=True, slots=True)
class Left:
    """Departure of a rank that closed its engine, after all that was heard of it."""

    rank: int
    text: str


Event = (
    Announced
    | AnswersHeld
    | Heard
    | Ticked
    | Done
    | Joined
    | IterationEnded
    | Awaited
    | Lost
    | Left
)
