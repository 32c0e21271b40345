"""What is shown of a job, here or to who is attached; it travels as JSON, hostile until parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.autotune.daemon.status import Event, Status
from plink.autotune.protocol.frames import ProtocolError
from plink.autotune.protocol.identity import LARGEST_NUMBER
from plink.autotune.tuner.decision import Action
from plink.base.errors import WrongUseError
from plink.files.fields import Fields
from plink.files.plan import MAX_RANKS

Floats = npt.NDArray[np.float64]

VERSION = 1

_MOST = float(1 << 62)
_MOST_SECONDS = 1e12
_MOST_COUNT = (1 << 53) - 1
_MOST_EVENTS = 1000
_LONGEST = 4096


@dataclass(frozen=True)
class Picture:
    """A job at a moment.

    Args:
        name: of the job.
        hosts: names, by index.
        ranks: of the job.
        ranks_there: how many are connected.
        plan: number of the newest plan.
        plan_in_force: number of the plan of the last window.
        iteration_s: the median of the last window; None before the first.
        reduced_bytes: in an iteration of it.
        sent_bytes: (H,) what each host sent to others in an iteration; zeros before the first.
        busy_s: (H,) the longest that a flow of each host had something to send.
        retransmissions: (H,) segments sent again, in the window.
        windows, windows_incomplete, windows_unread: how many there were.
        decisions: by action.
        reprobe_hosts: those that were to be probed again when this was last asked for.
        latest: what happened last, the newest at the end.
    """

    name: str
    hosts: Sequence[str]
    ranks: int
    ranks_there: int
    plan: int
    plan_in_force: int
    iteration_s: float | None
    reduced_bytes: float
    sent_bytes: Floats
    busy_s: Floats
    retransmissions: Floats
    windows: int
    windows_incomplete: int
    windows_unread: int
    decisions: Mapping[str, int]
    reprobe_hosts: Sequence[str]
    latest: Sequence[Event]

    @property
    def throughput_bytes_s(self) -> float:
        """Of the buffers that are reduced, per second of iterations."""
        return self.reduced_bytes / self.iteration_s if self.iteration_s else 0.0


def picture_of(job: Status) -> Picture:
    """As it is now."""
    window = job.window
    nothing = np.zeros(len(job.hosts))
    return Picture(
        job.name,
        list(job.hosts),
        job.ranks,
        job.ranks_there,
        job.plan,
        job.plan_in_force,
        None if window is None else window.median_s,
        job.reduced_bytes,
        nothing if window is None else window.sent_bytes.sum(axis=1),
        nothing if window is None else window.busy_s.max(axis=1),
        nothing if window is None else window.retransmissions.sum(axis=1),
        job.windows,
        job.windows_incomplete,
        job.windows_unread,
        {action.value: job.decisions[action.value] for action in Action},
        list(job.reprobe_hosts),
        list(job.latest),
    )


def to_json(picture: Picture) -> dict[str, Any]:
    """The JSON object that stands for a picture."""
    return {
        "what": "picture",
        "version": VERSION,
        **vars(picture),
        "throughput_bytes_s": picture.throughput_bytes_s,
        "sent_bytes": picture.sent_bytes.tolist(),
        "busy_s": picture.busy_s.tolist(),
        "retransmissions": picture.retransmissions.tolist(),
        "latest": [vars(event) for event in picture.latest],
    }


def from_json(data: Mapping[str, Any]) -> Picture:
    """The picture that a JSON object stands for.

    Raises:
        ProtocolError: it is none, or of a version that is not known here.
    """
    fields = Fields(data, "the daemon's answer")
    try:
        if fields.text("what") != "picture":
            raise fields.error("what", "picture")
        if fields.integer("version", 1, _MOST_COUNT) != VERSION:
            raise fields.error("version", f"{VERSION}: another version of plink")
        return _picture(fields)
    except WrongUseError as error:
        raise ProtocolError(str(error)) from None


def _picture(fields: Fields) -> Picture:
    hosts = _short(fields, "hosts", MAX_RANKS)
    events = fields.objects("latest")
    if not hosts or len(events) > _MOST_EVENTS:
        raise fields.error("hosts", "at least one, and few events")

    def of_hosts(name: str) -> Floats:
        return np.array(fields.numbers(name, len(hosts), _MOST))

    decisions = fields.object("decisions")
    return Picture(
        fields.text("name")[:_LONGEST],
        hosts,
        fields.integer("ranks", 1, MAX_RANKS),
        fields.integer("ranks_there", 0, MAX_RANKS),
        fields.integer("plan", 0, LARGEST_NUMBER),
        fields.integer("plan_in_force", 0, LARGEST_NUMBER),
        fields.optional_number("iteration_s", 0.0, _MOST_SECONDS),
        fields.number("reduced_bytes", 0.0, _MOST),
        of_hosts("sent_bytes"),
        of_hosts("busy_s"),
        of_hosts("retransmissions"),
        fields.integer("windows", 0, _MOST_COUNT),
        fields.integer("windows_incomplete", 0, _MOST_COUNT),
        fields.integer("windows_unread", 0, _MOST_COUNT),
        {name: decisions.integer(name, 0, _MOST_COUNT) for name in decisions.names()},
        _short(fields, "reprobe_hosts", MAX_RANKS),
        [
            Event(
                event.number("at_s", 0.0, _MOST_SECONDS),
                event.text("what")[:_LONGEST],
                event.text("text")[:_LONGEST],
            )
            for event in events
        ],
    )


def _short(fields: Fields, name: str, most: int) -> list[str]:
    texts = fields.texts(name)
    if len(texts) > most:
        raise fields.error(name, f"at most {most} texts")
    return [text[:_LONGEST] for text in texts]
