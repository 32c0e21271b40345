"""The messages between a rank and the daemon, as JSON objects; all hostile until parsed.

Ranks are numbered as in the plan file, whichever numbers the job gave them.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.autotune.protocol.identity import LARGEST_NUMBER, Identity, identity
from plink.base.errors import WrongUseError
from plink.formats.fields import Fields
from plink.formats.plan import MAX_RANKS, MAX_ROUTES
from plink.plans.forest import Forest
from plink.plans.names import COLLECTIVES
from plink.plans.wire import decode_forest, encode_forest
from plink.transport.frames import ProtocolError

Floats = npt.NDArray[np.float64]

# How many iterations a report names; of more, the latest.
MOST_ITERATIONS = 256
# Parents in a plan: 2,048 ranks with a route each.
_MOST_PARENTS = 1 << 22

_MOST = (1 << 53) - 1
_MOST_SECONDS = 1e9
_MOST_WEIGHT = 1e9
_MOST_DIGEST = (1 << 32) - 1
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


@dataclass(frozen=True)
class Join:
    """A rank is there.

    Args:
        rank: as in the plan file.
        ranks: of the job.
        host: as it calls itself.
        in_force: the plan that the rank aggregates along.
        held: the newest plan that it has.
    """

    rank: int
    ranks: int
    host: str
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


@dataclass(frozen=True)
class Ask:
    """The daemon lacks the plan that is in force."""

    plan: Identity


@dataclass(frozen=True)
class Watch:
    """A viewer, which is no rank, asks for the job's status once (`protocol.status`)."""


@dataclass(frozen=True)
class Paused:
    """A rank is paused for `NewPlan.pause_s` from now on: all that it has begun has ended on it.

    Once all ranks say so, nothing of their collectives is on its way any more.
    """

    plan: Identity


@dataclass(frozen=True)
class Release:
    """The daemon no longer needs ranks to be paused."""

    plan: Identity


# The names of messages that carry the identity of a plan and nothing else.
_NAMES = {Ask: "ask", Paused: "holding", Release: "release"}

Message = Join | Report | NewPlan | Ask | Paused | Release | Watch


def to_json(message: Message) -> dict[str, Any]:
    """Return the JSON object that stands for a message."""
    if isinstance(message, Join):
        return {
            "what": "join",
            "rank": message.rank,
            "ranks": message.ranks,
            "host": message.host,
            "in_force": vars(message.in_force),
            "held": vars(message.held),
        }
    if isinstance(message, Report):
        return {
            "what": "report",
            "plan": vars(message.plan),
            "begin": message.begin,
            "end": message.end,
            "seconds": message.seconds,
            "iteration_s": message.iteration_s[-MOST_ITERATIONS:].tolist(),
            "reduced_bytes": message.reduced_bytes,
            "bytes_of": dict(message.bytes_of),
            "peers": {name: _encode_array(message.peers[name], _FIGURES) for name in PEER_FIGURES},
        }
    if isinstance(message, NewPlan):
        return {
            "what": "plan",
            "plan": vars(message.identity),
            "hold_s": message.pause_s,
            "forest": message.encoded,
        }
    if isinstance(message, Watch):
        return {"what": "watch"}
    return {"what": _NAMES[type(message)], "plan": vars(message.plan)}


def from_json(data: Mapping[str, Any], ranks: int) -> Message:
    """Return the message that a JSON object stands for.

    Args:
        data: from the other end.
        ranks: of the job.

    Raises:
        ProtocolError: it is not a valid message.
    """
    fields = Fields(data, "a message")
    try:
        what = fields.text("what")
        if what not in _PARSERS:
            raise fields.error("what", f"one of {', '.join(_PARSERS)}")
        message: Message = _PARSERS[what](fields, ranks)
        return message
    except (WrongUseError, ValueError, TypeError, OverflowError) as error:
        raise ProtocolError(str(error)) from None


def _join(fields: Fields, ranks: int) -> Join:
    if fields.integer("ranks", 1, MAX_RANKS) != ranks:
        raise fields.error("ranks", str(ranks))
    return Join(
        fields.integer("rank", 0, ranks - 1),
        ranks,
        fields.text("host")[:255],
        _identity(fields, "in_force"),
        _identity(fields, "held"),
    )


def _report(fields: Fields, ranks: int) -> Report:
    iteration_s = fields.values.get("iteration_s")
    if not isinstance(iteration_s, list) or len(iteration_s) > MOST_ITERATIONS:
        raise fields.error("iteration_s", f"at most {MOST_ITERATIONS} numbers")
    begin = fields.integer("begin", 0, _MOST)
    peers = fields.object("peers")
    return Report(
        _identity(fields, "plan"),
        begin,
        fields.integer("end", begin, _MOST),
        fields.number("seconds", 0.0, _MOST_SECONDS),
        np.array(fields.numbers("iteration_s", len(iteration_s), _MOST_SECONDS)),
        fields.integer("reduced_bytes", 0, _MOST),
        {name: _decode_figures(peers, name, ranks) for name in PEER_FIGURES},
        _bytes_of(fields),
    )


def _bytes_of(fields: Fields) -> dict[str, int]:
    """Parse bytes by collective; empty if a rank reports none."""
    given = fields.optional_object("bytes_of")
    if given is None:
        return {}
    for name in given.names():
        if name not in COLLECTIVES:
            raise fields.error("bytes_of", f"bytes of {', '.join(COLLECTIVES)}")
    return {name: given.integer(name, 0, _MOST) for name in given.names()}


def _plan(fields: Fields, ranks: int) -> NewPlan:
    forest = decode_forest(fields.text("forest"), ranks, _MOST_PARENTS)
    if forest.routes > MAX_ROUTES or (forest.weights > _MOST_WEIGHT).any():
        raise fields.error("forest", f"1 to {MAX_ROUTES} routes, of weights up to {_MOST_WEIGHT:g}")
    given = _identity(fields, "plan")
    if identity(given.number, forest) != given:
        raise fields.error("plan", "the digest of these routes")
    pause_s = fields.optional_number("hold_s", 0.0, MOST_PAUSE_S)
    return NewPlan(given, forest, pause_s or 0.0)


_PARSERS: Mapping[str, Callable[[Fields, int], Message]] = {
    "join": _join,
    "report": _report,
    "plan": _plan,
    "ask": lambda fields, _: Ask(_identity(fields, "plan")),
    "watch": lambda _fields, _ranks: Watch(),
    "holding": lambda fields, _: Paused(_identity(fields, "plan")),
    "release": lambda fields, _: Release(_identity(fields, "plan")),
}


def _identity(fields: Fields, name: str) -> Identity:
    given = fields.object(name)
    return Identity(
        given.integer("number", 0, LARGEST_NUMBER), given.integer("digest", 0, _MOST_DIGEST)
    )


def _encode_array(values: npt.NDArray[Any], dtype: str) -> str:
    """An array as text. JSON's own numbers would cost a daemon of 1,000 ranks seconds a window, and
    hold up a rank's training while it reads a plan."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


def _array(fields: Fields, name: str, dtype: str) -> npt.NDArray[Any]:
    try:
        return np.frombuffer(base64.b64decode(fields.text(name), validate=True), dtype=dtype)
    except ValueError:
        raise fields.error(name, "numbers in base64") from None


def _decode_figures(fields: Fields, name: str, ranks: int) -> Floats:
    values = _array(fields, name, _FIGURES)
    if len(values) != ranks or not ((values >= 0.0) & (values <= _MOST_FIGURE)).all():
        raise fields.error(name, f"{ranks} numbers from 0 to {_MOST_FIGURE:g}")
    return values.astype(np.float64)
