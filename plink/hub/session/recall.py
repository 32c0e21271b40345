"""The messages by which a worker reads and changes a service's state between iterations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recall:
    """A worker asks for values and optimiser state as an iteration of its has left them."""

    iteration: int


@dataclass(frozen=True)
class Read:
    """A worker asks for numbers of what was recalled.

    Args:
        array: 0 for values, then the states in the order of `STATES`.
        first, items: which of the server's, in the order of its pieces.
    """

    array: int
    first: int
    items: int


@dataclass(frozen=True)
class Write:
    """A worker changes numbers of what was recalled: where `Read` finds them, to these float32."""

    array: int
    first: int
    data: bytes


@dataclass(frozen=True)
class Load:
    """State that a worker recalled and changed, and that the service continues from.

    All workers do so before the next iteration; the first one's counts.

    Args:
        steps: how many the optimiser has made.
        digest: SHA-256 of the states, which must be equal on all workers.
    """

    steps: int
    digest: str


@dataclass(frozen=True)
class Recalled:
    """State that a server offers for reading: its steps, and its ranges of all numbers.

    Args:
        steps, pieces: as of `Load`; where each begins in the flat array, and how long it is.
    """

    steps: int
    pieces: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Numbers:
    """Answer to `Read`: float32, little-endian."""

    data: bytes
