"""The messages between a rank and the daemon, as JSON objects; all hostile until parsed.

Ranks are numbered as in the plan file, whichever numbers the job gave them.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from plink.autotune.protocol.identity import Identity, identity
from plink.base.errors import WrongUseError
from plink.formats.limits import Collective, Seconds
from plink.formats.plan import MAX_RANKS, MAX_ROUTES
from plink.formats.structs import convert
from plink.plans.forest import Forest
from plink.plans.wire import decode_forest, encode_forest
from plink.transport.frames import ProtocolError

Floats = npt.NDArray[np.float64]

# How many iterations a report names; of more, the latest.
MOST_ITERATIONS = 256
# Parents in a plan: 2,048 ranks with a route each.
_MOST_PARENTS = 1 << 22

_MOST_WEIGHT = 1e9
# Of a connection in a window: a petabyte. Sums over all ranks stay within what a viewer takes.
_MOST_FIGURE = 1e15

_FIGURES = "<f4"

# Ranks are paused for at most so long at a time.
MOST_PAUSE_S = 10.0

PEER_FIGURES = (
    "sent_bytes",
    "busy_s",
    "waited_s",
    "rtt_s",
    "rate_bytes_s",
    "retransmissions",
)

_Whole = Annotated[int, Meta(ge=0, le=(1 << 53) - 1)]


class Join(Struct, frozen=True, tag_field="what", tag="join"):
    """A rank is there.

    Attributes:
        rank: as in the plan file
        ranks: of the job
        host: as it calls itself
        in_force: the plan that the rank aggregates along
        held: the newest plan that it has
    """

    rank: Annotated[int, Meta(ge=0)]
    ranks: Annotated[int, Meta(ge=1, le=MAX_RANKS)]
    host: Annotated[str, Meta(min_length=1, max_length=255)]
    in_force: Identity
    held: Identity


@dataclass(frozen=True)
class Report:
    """Measurements of a rank between two points.

    Args:
        plan: in force all the while.
        begin, end: numbers of the engine's collectives at the points, the same on all ranks.
        seconds: between them.
        iteration_s: (K,) what each iteration took; empty where none was told.
        reduced_bytes: of the whole buffers of all collectives.
        bytes_of: the same by collective, of `plink.plans.names.COLLECTIVES`.
        peers: by name of `PEER_FIGURES` (P,) of the rank's connections to each other rank: bytes
            sent, seconds with something to send, of these without room at the receiver, seconds of
            round trip, the delivery rate that the kernel saw, segments sent again.
    """

    plan: Identity
    begin: int
    end: int
    seconds: float
    iteration_s: Floats
    reduced_bytes: int
    peers: Mapping[str, Floats]
    bytes_of: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class NewPlan:
    """A plan, from the daemon to use or from a rank that was asked for it.

    Args:
        identity: of the plan.
        forest: over the ranks of the plan file.
        pause_s: for how long ranks pause where it starts, at most; 0 for not at all.
    """

    identity: Identity
    forest: Forest
    pause_s: float = 0.0

    @functools.cached_property
    def encoded(self) -> str:
        """The forest as text; it may be sent to many ranks, one by one."""
        return encode_forest(self.forest)


class Ask(Struct, frozen=True, tag_field="what", tag="ask"):
    """The daemon lacks the plan that is in force."""

    plan: Identity


class Watch(Struct, frozen=True, tag_field="what", tag="watch"):
    """A viewer, which is no rank, asks for the job's status once (`protocol.status`)."""


class Paused(Struct, frozen=True, tag_field="what", tag="holding"):
    """A rank is paused for `NewPlan.pause_s` from now on: all that it has begun has ended on it.

    Once all ranks say so, nothing of their collectives is on its way any more.
    """

    plan: Identity


class Release(Struct, frozen=True, tag_field="what", tag="release"):
    """The daemon no longer needs ranks to be paused."""

    plan: Identity


Message = Join | Report | NewPlan | Ask | Paused | Release | Watch


class _SentReport(Struct, frozen=True, tag_field="what", tag="report"):
    """A `Report` as it travels, with the figures of connections as Base64 of float32.

    JSON's own numbers would cost a daemon of 1,000 ranks seconds a window.
    """

    plan: Identity
    begin: _Whole
    end: _Whole
    seconds: Seconds
    iteration_s: Annotated[list[Seconds], Meta(max_length=MOST_ITERATIONS)]
    reduced_bytes: _Whole
    peers: Mapping[str, str]
    bytes_of: Mapping[Collective, _Whole] = {}


class _SentPlan(Struct, frozen=True, tag_field="what", tag="plan"):
    """A `NewPlan` as it travels, with the forest as text."""

    plan: Identity
    forest: str
    hold_s: Annotated[float, Meta(ge=0, le=MOST_PAUSE_S)] = 0.0


_Sent = Join | _SentReport | _SentPlan | Ask | Paused | Release | Watch


def to_json(message: Message) -> dict[str, Any]:
    """Return the JSON object that stands for a message."""
    sent: _Sent
    if isinstance(message, Report):
        sent = _SentReport(
            message.plan,
            message.begin,
            message.end,
            message.seconds,
            message.iteration_s[-MOST_ITERATIONS:].tolist(),
            message.reduced_bytes,
            {name: _encode_figures(message.peers[name]) for name in PEER_FIGURES},
            message.bytes_of,
        )
    elif isinstance(message, NewPlan):
        sent = _SentPlan(message.identity, message.encoded, message.pause_s)
    else:
        sent = message
    values: dict[str, Any] = msgspec.to_builtins(sent)
    return values


def from_json(data: Mapping[str, Any], ranks: int) -> Message:
    """Return the message that a JSON object stands for.

    Args:
        data: from the other end.
        ranks: of the job.

    Raises:
        ProtocolError: it is not a valid message.
    """
    try:
        sent: Any = convert(data, _Sent, "a message")  # type: ignore[arg-type]  # a union of structs
        if isinstance(sent, _SentReport):
            return _read_report(sent, ranks)
        if isinstance(sent, _SentPlan):
            return _read_plan(sent, ranks)
        if isinstance(sent, Join):
            _check_join(sent, ranks)
    except (WrongUseError, ValueError) as error:
        raise ProtocolError(str(error)) from None
    message: Message = sent
    return message


def _check_join(sent: Join, ranks: int) -> None:
    if sent.ranks != ranks:
        raise ValueError(f"ranks is {sent.ranks}, expected {ranks}")
    if sent.rank >= ranks:
        raise ValueError(f"rank is {sent.rank}, expected a whole number from 0 to {ranks - 1}")


def _read_report(sent: _SentReport, ranks: int) -> Report:
    if sent.end < sent.begin:
        raise ValueError(f"a report ends at {sent.end}, before it begins at {sent.begin}")
    if set(sent.peers) != set(PEER_FIGURES):
        raise ValueError(f"a report has other figures than {', '.join(PEER_FIGURES)}")
    return Report(
        sent.plan,
        sent.begin,
        sent.end,
        sent.seconds,
        np.array(sent.iteration_s, dtype=np.float64),
        sent.reduced_bytes,
        {name: _decode_figures(sent.peers[name], ranks) for name in PEER_FIGURES},
        sent.bytes_of,
    )


def _read_plan(sent: _SentPlan, ranks: int) -> NewPlan:
    forest = decode_forest(sent.forest, ranks, _MOST_PARENTS)
    if forest.routes > MAX_ROUTES or (forest.weights > _MOST_WEIGHT).any():
        raise ValueError(f"a plan must have 1 to {MAX_ROUTES} routes, of weights up to 1e9")
    if identity(sent.plan.number, forest) != sent.plan:
        raise ValueError("the digest of a plan is not that of its routes")
    return NewPlan(sent.plan, forest, sent.hold_s)


def _encode_figures(values: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=_FIGURES).tobytes()).decode()


def _decode_figures(text: str, ranks: int) -> Floats:
    values = np.frombuffer(base64.b64decode(text, validate=True), dtype=_FIGURES)
    if len(values) != ranks or not ((values >= 0.0) & (values <= _MOST_FIGURE)).all():
        raise ValueError(f"a connection's figures must be {ranks} numbers up to {_MOST_FIGURE:g}")
    return values.astype(np.float64)
