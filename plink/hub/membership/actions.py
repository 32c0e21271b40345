"""What follows for event loops and sessions. Every loop is told them in this order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Seat:
    """Whoever asked is a worker, and may open its connections.

    Args:
        token: of the request.
        worker: its number.
        incarnation: from now on; chunks and connections of earlier ones are refused.
        is_source: the service takes its first values from it.
    """

    token: int
    worker: int
    incarnation: int
    is_source: bool = False


@dataclass(frozen=True)
class Refuse:
    """Whoever asked is no worker, and why."""

    token: int
    sentence: str
    hint: str | None = None


@dataclass(frozen=True)
class Source:
    """The service takes its first values from another worker: the earlier source is gone."""

    worker: int


@dataclass(frozen=True)
class Admit:
    """A worker pushes from an iteration on.

    It is sent the values as they are after the iteration before, of each chunk at once or as soon
    as they are there, and those of all later ones.
    """

    worker: int
    iteration: int


@dataclass(frozen=True)
class Begin:
    """Who contributes to an iteration. No chunk of it is complete before a loop knows that.

    A contribution of a worker that is not in the set waits: a later revision may have it.

    Args:
        iteration: of which.
        revision: that makes earlier ones of the iteration void. Loops report anew under it.
        workers: the set, in rising order.
        discard: whose contributions must not count. A chunk that has one forgets all it has, and
            asks the workers of the set to push it again.
    """

    iteration: int
    revision: int
    workers: tuple[int, ...]
    discard: tuple[int, ...] = ()


@dataclass(frozen=True)
class Commit:
    """With commit by step: all chunks of an iteration have the contributions of its set."""

    iteration: int
    revision: int


@dataclass(frozen=True)
class PushAgain:
    """A worker that is back pushes all chunks of an iteration; those that are there count once."""

    worker: int
    iteration: int


@dataclass(frozen=True)
class Allow:
    """With ssp: a worker may push iterations before that one."""

    worker: int
    iteration: int


@dataclass(frozen=True)
class WaitUntil:
    """Give a lost worker until then, and tell the others whom they wait for."""

    worker: int
    until_s: float


@dataclass(frozen=True)
class Drop:
    """A worker is none any more: its connections are closed."""

    worker: int
    incarnation: int
    sentence: str


@dataclass(frozen=True)
class Fail:
    """The service has failed for all its workers."""

    sentence: str


@dataclass(frozen=True)
class End:
    """The service is deleted."""

    sentence: str


Action = (
    Seat
    | Refuse
    | Source
    | Admit
    | Begin
    | Commit
    | PushAgain
    | Allow
    | WaitUntil
    | Drop
    | Fail
    | End
)
