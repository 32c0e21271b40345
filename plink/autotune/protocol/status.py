"""Status of a job, in the daemon and on its way to a viewer.

It travels as JSON, which is hostile until parsed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.autotune.protocol.identity import LARGEST_NUMBER
from plink.base.errors import WrongUseError
from plink.files.fields import Fields
from plink.files.plan import MAX_RANKS
from plink.transport.frames import ProtocolError

Floats = npt.NDArray[np.float64]

VERSION = 1

_EVENTS_SHOWN = 20

# Figures of all connections of a host, of which each has a limit of its own in a report.
_MOST = 1e30
_MOST_SECONDS = 1e12
_MOST_COUNT = (1 << 53) - 1
_MOST_EVENTS = 1000
_LONGEST = 4096

_HOST_FIGURES = ("sent_bytes", "busy_s", "retransmissions", "rtt_s", "rate_bytes_s", "waited_s")
# Figures for metrics alone, which a viewer is not sent.
_NOT_SENT = ("rtt_s", "rate_bytes_s", "waited_s", "windows_unlogged")


@dataclass(frozen=True)
class Event:
    """Event of a job.

    Args:
        at_s: seconds since 1970.
        what: its kind, a word.
        text: a sentence.
    """

    at_s: float
    what: str
    text: str


@dataclass
class JobStatus:
    """A job so far. Figures of hosts are of the last window, and zeros before the first.

    Args:
        name: of the job.
        hosts: names, by index.
        ranks: of the job.
        ranks_there: how many are connected.
        plan: number of the newest plan.
        plan_in_force: number of the plan of the last window.
        iteration_s: the median of the last window; None before the first.
        reduced_bytes: in an iteration of it.
        sent_bytes: (H,) what each host sent to others in an iteration.
        busy_s: (H,) the longest that a flow of each host had something to send.
        retransmissions: (H,) segments sent again, in the window.
        windows: how many were complete.
        windows_incomplete: how many lacked a rank.
        windows_unread: how many could not be used.
        decisions: how many, by action.
        reprobe_hosts: those that were to be probed again when this was last asked for.
        latest: what happened last, the newest at the end.
        progress: what the tuner is doing, and how long it will take where that is known.
        rtt_s: (H,) the longest round trip of each host; not sent to viewers, nor are the others.
        rate_bytes_s: (H,) the fastest delivery that the kernel saw on a connection of each host.
        waited_s: (H,) the longest that a connection of it had no room at the receiver.
        windows_unlogged: how many could not be written to the log.
    """

    name: str
    hosts: Sequence[str]
    ranks: int
    ranks_there: int = 0
    plan: int = 0
    plan_in_force: int = 0
    iteration_s: float | None = None
    reduced_bytes: float = 0.0
    sent_bytes: Floats = field(default_factory=lambda: np.empty(0))
    busy_s: Floats = field(default_factory=lambda: np.empty(0))
    retransmissions: Floats = field(default_factory=lambda: np.empty(0))
    windows: int = 0
    windows_incomplete: int = 0
    windows_unread: int = 0
    decisions: dict[str, int] = field(default_factory=dict)
    reprobe_hosts: Sequence[str] = ()
    latest: deque[Event] = field(default_factory=lambda: deque(maxlen=_EVENTS_SHOWN))
    progress: str = "waiting for a first window of iterations"
    rtt_s: Floats = field(default_factory=lambda: np.empty(0))
    rate_bytes_s: Floats = field(default_factory=lambda: np.empty(0))
    waited_s: Floats = field(default_factory=lambda: np.empty(0))
    windows_unlogged: int = 0

    def __post_init__(self) -> None:
        for name in _HOST_FIGURES:
            if not len(getattr(self, name)):
                setattr(self, name, np.zeros(len(self.hosts)))

    @property
    def throughput_bytes_s(self) -> float:
        """Bytes of the buffers that are reduced, per second of iterations."""
        return self.reduced_bytes / self.iteration_s if self.iteration_s else 0.0


def to_json(status: JobStatus) -> dict[str, Any]:
    """Return the JSON object that a viewer is sent."""
    sent = {name: value for name, value in vars(status).items() if name not in _NOT_SENT}
    return {
        "what": "picture",
        "version": VERSION,
        **sent,
        "hosts": list(status.hosts),
        "throughput_bytes_s": status.throughput_bytes_s,
        "sent_bytes": status.sent_bytes.tolist(),
        "busy_s": status.busy_s.tolist(),
        "retransmissions": status.retransmissions.tolist(),
        "decisions": dict(status.decisions),
        "reprobe_hosts": list(status.reprobe_hosts),
        "latest": [vars(event) for event in status.latest],
    }


def from_json(data: Mapping[str, Any]) -> JobStatus:
    """Return the status that a JSON object stands for.

    Raises:
        ProtocolError: it is not valid, or of a version that is not known here.
    """
    fields = Fields(data, "the daemon's answer")
    try:
        if fields.text("what") != "picture":
            raise fields.error("what", "picture")
        if fields.integer("version", 1, _MOST_COUNT) != VERSION:
            raise fields.error("version", f"{VERSION}: another version of plink")
        return _status(fields)
    except WrongUseError as error:
        raise ProtocolError(str(error)) from None


def _status(fields: Fields) -> JobStatus:
    hosts = _short(fields, "hosts")
    events = fields.objects("latest")
    if not hosts or len(events) > _MOST_EVENTS:
        raise fields.error("hosts", "at least one, and few events")

    def of_hosts(name: str) -> Floats:
        return np.array(fields.numbers(name, len(hosts), _MOST))

    decisions = fields.object("decisions")
    return JobStatus(
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
        _short(fields, "reprobe_hosts"),
        deque(
            Event(
                event.number("at_s", -_MOST_SECONDS, _MOST_SECONDS),
                event.text("what")[:_LONGEST],
                event.text("text")[:_LONGEST],
            )
            for event in events
        ),
        fields.text("progress")[:_LONGEST],
    )


def _short(fields: Fields, name: str) -> list[str]:
    texts = fields.texts(name)
    if len(texts) > MAX_RANKS:
        raise fields.error(name, f"at most {MAX_RANKS} texts")
    return [text[:_LONGEST] for text in texts]
