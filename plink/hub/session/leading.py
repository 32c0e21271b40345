"""The messages by which the first server of a service leads the others.

It decides who contributes to which iteration; the others do what it says, in that order, and tell
it whom they have lost. It calls each of them twice: to say what to do, and to hear.
"""

from __future__ import annotations

from dataclasses import dataclass

from plink.hub.manifest import Manifest

ORDERS = (
    "seat",
    "cut",
    "look",
    "holds",
    "admit",
    "drop",
    "pass-over",
    "gather",
    "retire",
    "fail",
)
"""What may be ordered.

seat: a worker may come, under this incarnation. cut: nothing more of it is taken. look: nothing.
holds: say whether all of its contribution to the iteration is there. The rest is as of `Lanes`.
"""


@dataclass(frozen=True)
class Lead:
    """The first server begins to lead.

    Args:
        namespace: of the service.
        manifest: its keys.
    """

    namespace: str
    manifest: Manifest


@dataclass(frozen=True)
class Order:
    """The first server says what to do.

    Args:
        order: one of `ORDERS`.
        worker, incarnation, iteration, revision, sentence: as far as that needs them.
    """

    order: str
    worker: int = 0
    incarnation: int = 0
    iteration: int = 0
    revision: int = 0
    sentence: str = ""


@dataclass(frozen=True)
class Obeyed:
    """Answer to an order.

    Args:
        is_done: or could not be, or was found not to be so.
        first, last: iterations that lanes here are in; None where there are no chunks.
    """

    is_done: bool
    first: int | None
    last: int | None


@dataclass(frozen=True)
class Listen:
    """The first server wants to hear of whom the other one loses; `Done` after a while without."""

    namespace: str


@dataclass(frozen=True)
class Lost:
    """A worker is gone without a word.

    Args:
        worker, incarnation: which.
        sentence: why, for people.
    """

    worker: int
    incarnation: int
    sentence: str
