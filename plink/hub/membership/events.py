"""What happens to a service's workers.

Times are in seconds of any clock that does not go back.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """Somebody who has proven the secret wants to be a worker.

    Args:
        token: by which the answer finds it.
        worker: its number, if it was one before; None for a new one.
        incarnation: that it had.
        iteration: that it has begun or is about to, with all values from before it and all its
            gradients; None for a process that knows nothing any more.
    """

    token: int
    worker: int | None = None
    incarnation: int = 0
    iteration: int | None = None


@dataclass(frozen=True)
class Initialised:
    """A seated worker has all its connections; as the source, it has sent the first values."""

    worker: int


@dataclass(frozen=True)
class Pushed:
    """All chunks have a worker's contribution to an iteration.

    Args:
        worker: whose.
        iteration: to which.
        revision: of the iteration's set that the chunks knew; in async and ssp 0.
    """

    worker: int
    iteration: int
    revision: int = 0


@dataclass(frozen=True)
class Lost:
    """A worker's connection has ended without a word; no more of its chunks are taken.

    Args:
        worker: which.
        incarnation: whose connection it was; that of an earlier one means nothing.
        now_s: when.
        why: for people.
    """

    worker: int
    incarnation: int
    now_s: float
    why: str = "its connection has ended"


@dataclass(frozen=True)
class Left:
    """A worker is done: it has pushed all iterations before that one, and nothing of it.

    A loop that has something of it all the same fails the service: its sets would differ.
    """

    worker: int
    iteration: int


@dataclass(frozen=True)
class Tick:
    """Time goes by."""

    now_s: float


@dataclass(frozen=True)
class Delete:
    """An administrator ends the service."""


Event = Request | Initialised | Pushed | Lost | Left | Tick | Delete
