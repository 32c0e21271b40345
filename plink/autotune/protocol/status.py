"""Status of a job, in the daemon and on its way to a viewer.

It travels as JSON, which is hostile until parsed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Final, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from plink.autotune.protocol.identity import LARGEST_NUMBER
from plink.base.errors import WrongUseError
from plink.formats.limits import Amount, Text
from plink.formats.plan import MAX_RANKS
from plink.formats.structs import Output, convert, encode
from plink.transport.frames import ProtocolError

Floats = npt.NDArray[np.float64]

VERSION: Final = 1

_EVENTS_SHOWN = 20

# Figures of all connections of a host, of which each has a limit of its own in a report.
_MOST = 1e30
_MOST_SECONDS = 1e12
_MOST_COUNT = (1 << 53) - 1
_MOST_EVENTS = 1000
_LONGEST = 4096

Figure = Annotated[float, Meta(ge=0, le=_MOST)]
Number = Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)]
Count = Annotated[int, Meta(ge=0, le=_MOST_COUNT)]

_SENT_ARRAYS = ("sent_bytes", "busy_s", "retransmissions")
_HOST_FIGURES = ("sent_bytes", "busy_s", "retransmissions", "rtt_s", "rate_bytes_s", "waited_s")
# Figures for metrics alone, which a viewer is not sent.
_NOT_SENT = ("rtt_s", "rate_bytes_s", "waited_s", "windows_unlogged")


class Event(Output, frozen=True):
    """Event of a job.

    Attributes:
        at_s: when, in s since 1970
        what: kind of the event, a word
        text: what happened, a sentence
    """

    at_s: Annotated[float, Meta(ge=-_MOST_SECONDS, le=_MOST_SECONDS)]
    what: Text
    text: Text


class StatusMessage(Output, frozen=True, kw_only=True, tag_field="what", tag="picture"):
    """A job of a running daemon.

    Attributes:
        name: name of the job
        hosts: names of the hosts
        ranks: number of ranks
        ranks_there: number of ranks that are connected
        plan: number of the newest plan
        plan_in_force: number of the plan of the last window
        iteration_s: median iteration of the last window, in s
        reduced_bytes: bytes that are reduced in an iteration
        sent_bytes: bytes that each host sent to others in an iteration of the last window
        busy_s: longest time that a flow of each host was busy, in s
        retransmissions: segments of each host that were sent again
        windows: number of complete windows
        windows_incomplete: number of windows that lacked a rank
        windows_unread: number of windows that could not be used
        decisions: number of decisions by action
        reprobe_hosts: hosts that were last to be probed again
        latest: what happened last, the newest at the end
        progress: what the tuner is doing, and about how long it will take
        throughput_bytes_s: rate at which buffers are reduced, in bytes/s
        version: version of this form
    """

    name: Text
    hosts: Annotated[Sequence[str], Meta(min_length=1, max_length=MAX_RANKS)]
    ranks: Annotated[int, Meta(ge=1, le=MAX_RANKS)]
    ranks_there: Annotated[int, Meta(ge=0, le=MAX_RANKS)]
    plan: Number
    plan_in_force: Number
    iteration_s: Annotated[float, Meta(ge=0, le=_MOST_SECONDS)] | None
    reduced_bytes: Figure
    sent_bytes: Sequence[Figure]
    busy_s: Sequence[Figure]
    retransmissions: Sequence[Figure]
    windows: Count
    windows_incomplete: Count
    windows_unread: Count
    decisions: Mapping[str, Count]
    reprobe_hosts: Annotated[Sequence[str], Meta(max_length=MAX_RANKS)]
    latest: Annotated[Sequence[Event], Meta(max_length=_MOST_EVENTS)]
    progress: Text
    throughput_bytes_s: Amount
    version: Literal[1]


@dataclass
class JobStatus:
    """Status of a job: the members of `StatusMessage`, and figures for metrics alone.

    Figures of hosts, (H,), are of the last window, and zeros before the first.

    Args:
        rtt_s: (H,) the longest round trip of each host.
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


_MEMBERS = [field.name for field in fields(JobStatus) if field.name not in _NOT_SENT]


def to_json(status: JobStatus) -> dict[str, Any]:
    """Return the JSON object that a viewer is sent."""
    sent = {name: value for name, value in vars(status).items() if name not in _NOT_SENT}
    arrays = {name: getattr(status, name).tolist() for name in _SENT_ARRAYS}
    latest = list(status.latest)
    message = StatusMessage(
        **{**sent, **arrays, "latest": latest},
        throughput_bytes_s=status.throughput_bytes_s,
        version=VERSION,
    )
    data: dict[str, Any] = encode(message)
    return data


def from_json(data: Mapping[str, Any]) -> JobStatus:
    """Return the status that a JSON object stands for.

    Raises:
        ProtocolError: it is not valid, or of a version that is not known here.
    """
    if data.get("version") not in (None, VERSION):
        raise ProtocolError(
            f"the daemon's answer: version is not {VERSION}: another version of plink"
        )
    try:
        message = convert(data, StatusMessage, "the daemon's answer")
    except WrongUseError as error:
        raise ProtocolError(str(error)) from None
    values = {name: getattr(message, name) for name in _MEMBERS}
    for name in _SENT_ARRAYS:
        values[name] = np.array(values[name])
        if len(values[name]) != len(message.hosts):
            raise ProtocolError(f"the daemon's answer: {name} has not one number for each host")
    for name in ("hosts", "reprobe_hosts"):
        values[name] = [text[:_LONGEST] for text in values[name]]
    for name in ("name", "progress"):
        values[name] = values[name][:_LONGEST]
    values["latest"] = deque(
        Event(event.at_s, event.what[:_LONGEST], event.text[:_LONGEST]) for event in message.latest
    )
    return JobStatus(**values)
