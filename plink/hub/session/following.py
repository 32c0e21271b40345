"""How the first server of a service leads the others in what membership decides.

It alone decides (`plink.hub.membership`). The others do what it says, in the order in which it says
it, and report what their chunks have. Messages go over the servers' own control connections, beside
those of `plink.hub.session.codec`; their names begin with `follow-`. What comes from another server
is hostile until parsed, as all else.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from plink.base.errors import WrongUseError
from plink.base.text import printable
from plink.files.fields import Fields
from plink.hub.membership.actions import Admit, Allow, Begin, Commit, Drop, End, Fail, PushAgain
from plink.hub.membership.events import Pushed
from plink.hub.service import MOST_WORKERS, is_namespace
from plink.hub.session.data import MOST_NUMBER
from plink.transport.frames import ProtocolError

PREFIX = "follow-"

MOST_ITERATION = (1 << 53) - 1
MOST_SENTENCE_LETTERS = 1000
_PLACE = "a message"


@dataclass(frozen=True)
class Take:
    """Take connections and chunks of this incarnation of a worker, and of no earlier one."""

    worker: int
    incarnation: int


@dataclass(frozen=True)
class Cut:
    """Take no more chunks of an incarnation, and say so (`IsCut`) behind all other reports of it.

    The leader says so as soon as any server has lost the worker, before it is decided what follows.
    """

    worker: int
    incarnation: int


@dataclass(frozen=True)
class IsCut:
    """No more chunks of an incarnation are taken here."""

    worker: int
    incarnation: int


@dataclass(frozen=True)
class IsOpen:
    """An incarnation has all its connections for data here."""

    worker: int
    incarnation: int


Step = (
    Take
    | Cut
    | IsCut
    | IsOpen
    | Admit
    | Allow
    | Begin
    | Commit
    | Drop
    | End
    | Fail
    | PushAgain
    | Pushed
)

Read = Callable[[Fields, str], Any]


def _whole(low: int, high: int) -> Read:
    return lambda fields, name: fields.integer(name, low, high)


def _workers(fields: Fields, name: str) -> tuple[int, ...]:
    values = fields.values.get(name)
    if not isinstance(values, list) or len(values) > MOST_WORKERS:
        raise fields.error(name, f"at most {MOST_WORKERS} numbers of workers")
    numbers = fields.integers(name, len(values), 0, MOST_NUMBER)
    if any(one >= other for one, other in itertools.pairwise(numbers)):
        raise fields.error(name, "numbers of workers in rising order")
    return tuple(numbers)


def _sentence(fields: Fields, name: str) -> str:
    return printable(fields.text(name))[:MOST_SENTENCE_LETTERS]


_NUMBER = _whole(0, MOST_NUMBER)
_ITERATION = _whole(0, MOST_ITERATION)
_SEAT: Mapping[str, Read] = {"worker": _NUMBER, "incarnation": _NUMBER}
_PLACE_IN: Mapping[str, Read] = {"worker": _NUMBER, "iteration": _ITERATION}

_FROM_LEADER: Mapping[str, tuple[type[Any], Mapping[str, Read]]] = {
    "take": (Take, _SEAT),
    "cut": (Cut, _SEAT),
    "admit": (Admit, _PLACE_IN),
    "allow": (Allow, _PLACE_IN),
    "push-again": (PushAgain, _PLACE_IN),
    "begin": (
        Begin,
        {
            "iteration": _ITERATION,
            "revision": _ITERATION,
            "workers": _workers,
            "discard": _workers,
        },
    ),
    "commit": (Commit, {"iteration": _ITERATION, "revision": _ITERATION}),
    "drop": (Drop, {**_SEAT, "sentence": _sentence}),
    "fail": (Fail, {"sentence": _sentence}),
    "end": (End, {"sentence": _sentence}),
}
_FROM_FOLLOWER: Mapping[str, tuple[type[Any], Mapping[str, Read]]] = {
    "is-cut": (IsCut, _SEAT),
    "is-open": (IsOpen, _SEAT),
    "pushed": (Pushed, {**_PLACE_IN, "revision": _ITERATION}),
}
_NAMES = {kind: name for name, (kind, _) in {**_FROM_LEADER, **_FROM_FOLLOWER}.items()}


def is_following(data: Mapping[str, Any]) -> bool:
    """Whether a message of a control connection is one of these."""
    what = data.get("what")
    return isinstance(what, str) and what.startswith(PREFIX)


def to_json(namespace: str, step: Step) -> dict[str, Any]:
    """The JSON object that stands for a step in the life of a service."""
    values: dict[str, Any] = {"what": PREFIX + _NAMES[type(step)], "namespace": namespace}
    for field in dataclasses.fields(step):
        value = getattr(step, field.name)
        values[field.name] = list(value) if isinstance(value, tuple) else value
    return values


def from_json(data: Mapping[str, Any], *, is_leader: bool) -> tuple[str, Step]:
    """The namespace and the step that a JSON object stands for.

    Args:
        data: from the other server.
        is_leader: whether that one leads the service; else it follows this one.

    Raises:
        ProtocolError: it is not a valid step, or not one that the other server may say.
    """
    fields = Fields(data, _PLACE)
    what = data.get("what")
    said = what.removeprefix(PREFIX) if isinstance(what, str) and is_following(data) else ""
    forms = _FROM_LEADER if is_leader else _FROM_FOLLOWER
    if said not in forms:
        raise ProtocolError(f"a message that no server says which {_role(is_leader)}")
    kind, form = forms[said]
    for name in data:
        if name not in form and name not in ("what", "namespace"):
            raise ProtocolError(f"{_PLACE}: {printable(name[:40])!r} is not known")
    try:
        namespace = fields.text("namespace")
        if not is_namespace(namespace):
            raise fields.error("namespace", "a namespace")
        return namespace, kind(**{name: read(fields, name) for name, read in form.items()})
    except WrongUseError as error:
        raise ProtocolError(printable(str(error))[:MOST_SENTENCE_LETTERS]) from None


def _role(is_leader: bool) -> str:
    return "leads a service" if is_leader else "follows"
