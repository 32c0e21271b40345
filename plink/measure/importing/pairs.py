"""Readings of pairs of hosts, by message size, and the cluster that they make."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.errors import WrongUseError
from plink.files.bandwidth import MAX_GBIT_S, BandwidthMeasurement
from plink.files.cluster import Cluster, Host
from plink.files.document import brief
from plink.files.measurement import Failure, Matrix
from plink.files.rtt import MAX_RTT_US, RttMeasurement
from plink.probes.hosts.names import HINT_NAME, fault_of_name

# The time of a larger message is mostly that of its bytes: these take 3.3 µs at 10 Gbit/s, about
# what a message costs however short it is, and any round trip measures that.
MOST_ROUND_TRIP_BYTES = 4096
# The matrices of as many hosts still fit in memory.
MAX_HOSTS = 4096

_PAIR = 2

_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?(?:[eE][+-]?[0-9]{1,3})?")
_PREFIX = re.compile(r"^\[[0-9]+,[0-9]+\]<std(?:out|err)>: ?", re.MULTILINE)


@dataclass(frozen=True)
class Message:
    """What was measured of messages of one size; None for what was not.

    Args:
        size_bytes: of the message.
        time_us: of one message, or what the benchmark calls its time.
        gbit_s: bandwidth.
    """

    size_bytes: int
    time_us: float | None = None
    gbit_s: float | None = None


def round_trip_us(messages: Sequence[Message]) -> float | None:
    """Twice the time of the least message, where it is so small that latency is most of it."""
    timed = [
        (each.size_bytes, each.time_us)
        for each in messages
        if each.time_us is not None and each.size_bytes <= MOST_ROUND_TRIP_BYTES
    ]
    return 2.0 * min(timed)[1] if timed else None


def bandwidth_of(messages: Sequence[Message], size_bytes: int | None) -> Message | None:
    """The message whose bandwidth counts: the one of that size, else the fastest of all."""
    known = [each for each in messages if each.gbit_s]
    if size_bytes is not None:
        known = [each for each in known if each.size_bytes == size_bytes]
    return max(known, key=lambda each: each.gbit_s or 0.0, default=None)


@dataclass(frozen=True)
class PairReading:
    """What was measured from one host to another; None for what was not.

    `size_bytes` is of the messages that the bandwidth was reached with.
    """

    source: str
    destination: str
    rtt_us: float | None = None
    gbit_s: float | None = None
    size_bytes: int | None = None


@dataclass(frozen=True)
class LeftOut:
    """A run that tells nothing: where it begins, why (to follow `this run`), and on which hosts."""

    place: str
    reason: str
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class _Gaps:
    failures: Sequence[Failure]
    notes: Sequence[str]


def cluster_of(
    readings: Iterable[PairReading],
    source: str,
    *,
    tool: str,
    percentile: float,
    rtt_notes: Sequence[str] = (),
    hosts: Sequence[str] = (),
    left_out: Sequence[LeftOut] = (),
) -> Cluster:
    """The hosts, as they first come, and what was measured between them.

    Where a pair has several readings, the least time and the greatest bandwidth count.

    Args:
        readings: at least one.
        source: what errors call the file.
        tool: what measured them.
        percentile: the percentile that the times stand for.
        rtt_notes: what a reader of the times should know, where there are any.
        hosts: those that come first, by name.
        left_out: runs without a result: failures of their pairs, notes where there is no pair.

    Raises:
        WrongUseError: no readings, or too many hosts, or values that cannot be.
    """
    found = list(readings)
    measured = [name for pair in found for name in (pair.source, pair.destination)]
    pairs_left_out = [run.hosts for run in left_out if len(run.hosts) == _PAIR]
    tried = [name for pair in pairs_left_out for name in pair]
    names = list(dict.fromkeys([*hosts, *measured, *tried]))
    if not measured:
        raise WrongUseError(f"{source}: holds no measurement of a pair of hosts")
    if len(names) > MAX_HOSTS:
        raise WrongUseError(f"{source}: holds more than {MAX_HOSTS:,} hosts")
    index = {name: position for position, name in enumerate(names)}
    shape = (len(names), len(names))
    rtt_us, gbit_s, size_bytes = (np.full(shape, np.nan) for _ in range(3))
    for pair in found:
        place = index[pair.source], index[pair.destination]
        if pair.rtt_us is not None:
            _check(pair.rtt_us, MAX_RTT_US, "µs", source)
            rtt_us[place] = np.fmin(rtt_us[place], pair.rtt_us)
        if pair.gbit_s is not None:
            _check(pair.gbit_s, MAX_GBIT_S, "Gbit/s", source)
            if not pair.gbit_s <= gbit_s[place]:
                gbit_s[place] = pair.gbit_s
                size_bytes[place] = np.nan if pair.size_bytes is None else pair.size_bytes
    if np.isnan(rtt_us).all() and np.isnan(gbit_s).all():
        raise WrongUseError(f"{source}: holds no bandwidth and no time of a small message")

    def is_measured(one: str, other: str) -> bool:
        places = (index[one], index[other]), (index[other], index[one])
        return any(np.isfinite(gbit_s[place]) or np.isfinite(rtt_us[place]) for place in places)

    return Cluster(
        # No address is known; the name is the best guess there is.
        hosts=[Host(name=name, address=name) for name in names],
        rtt=_rtt(rtt_us, tool, percentile, rtt_notes),
        bandwidth=_bandwidth(gbit_s, size_bytes, tool, _gaps(left_out, is_measured)),
    )


def checked_name(name: str, place: str) -> str:
    """A host's name.

    Raises:
        WrongUseError: no host list could have it; `place` says where it stands.
    """
    fault = fault_of_name(name)
    if fault is not None:
        raise WrongUseError(f"{place}: {brief(name)} {fault}", HINT_NAME)
    return name


def number(text: str, place: str) -> float:
    """A plain number, not negative.

    Raises:
        WrongUseError: it is not valid; `place` says where it stands.
    """
    if not _NUMBER.fullmatch(text):
        raise WrongUseError(f"{place}: {brief(text)} is not a number")
    found = float(text)
    if not math.isfinite(found):
        raise WrongUseError(f"{place}: {brief(text)} is too large a number")
    return found


def text_of(content: bytes, source: str) -> str:
    """The text of a log, without what `mpirun --tag-output` puts in front of lines.

    Raises:
        WrongUseError: it is not text in UTF-8.
    """
    try:
        return _PREFIX.sub("", content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise WrongUseError(f"{source}: is not text in UTF-8") from None


def _check(value: float, high: float, unit: str, source: str) -> None:
    if not (math.isfinite(value) and 0.0 <= value <= high):
        raise WrongUseError(f"{source}: {value:g} {unit} is more than {high:g} {unit}")


def _rtt(
    rtt_us: Matrix, tool: str, percentile: float, notes: Sequence[str]
) -> RttMeasurement | None:
    measured = np.isfinite(rtt_us)
    if not measured.any():
        return None
    return RttMeasurement(
        rtt_us={percentile: rtt_us},
        reading=percentile,
        samples=measured.astype(np.int64),
        losses=np.zeros(rtt_us.shape, dtype=np.int64),
        tool=tool,
        notes=notes,
    )


def _bandwidth(
    gbit_s: Matrix, size_bytes: Matrix, tool: str, gaps: _Gaps
) -> BandwidthMeasurement | None:
    if not np.isfinite(gbit_s).any():
        return None
    sizes = size_bytes[np.isfinite(size_bytes)]
    return BandwidthMeasurement(
        gbit_s=gbit_s,
        retransmits=np.full(gbit_s.shape, np.nan),
        message_bytes=size_bytes if sizes.size else None,
        tool=tool,
        options=_sizes(sizes),
        failures=gaps.failures,
        notes=gaps.notes,
    )


def _gaps(left_out: Sequence[LeftOut], is_measured: Callable[[str, str], bool]) -> _Gaps:
    """Runs that were left out, as failures of pairs that no other run measured, else as notes."""
    failures, notes = [], []
    for run in left_out:
        if len(run.hosts) == _PAIR and not is_measured(*run.hosts):
            reason = f"{run.place}: this run {run.reason}"
            failures.append(Failure(run.hosts[0], reason, run.hosts[1]))
        else:
            notes.append(f"left out, for it {run.reason}: the run at {run.place}")
    return _Gaps(failures, notes)


def _sizes(sizes: Matrix) -> dict[str, int]:
    """The sizes of the messages, as a measurement's options."""
    if not sizes.size:
        return {}
    least, most = int(sizes.min()), int(sizes.max())
    if least == most:
        return {"message_bytes": most}
    return {"least_message_bytes": least, "most_message_bytes": most}
