"""Readings of pairs of hosts by message size, and their conversion to a cluster."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.base.size import format_size
from plink.base.text import brief
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.limits import MAX_GBIT_S, MAX_RTT_US
from plink.formats.matrices import Counts, Matrix
from plink.formats.measurements import BandwidthMeasurement, Failure, RttMeasurement
from plink.probes.hosts.hostlist import HINT_NAME, find_name_fault

# The time of a larger message is mostly that of its bytes: these take 3.3 µs at 10 Gbit/s, about
# what a message costs however short it is, and any round trip measures that.
MOST_ROUND_TRIP_BYTES = 4096
# The matrices of as many hosts still fit in memory.
MAX_HOSTS = 4096

_PAIR = 2

_NUMBER = re.compile(r"[0-9]{1,18}(?:\.[0-9]{0,18})?(?:[eE][+-]?[0-9]{1,3})?")
_PAIR_LINE = re.compile(r"#[ \t]*pair:?[ \t]+(\S+)[ \t]+(\S+)", re.IGNORECASE)
# What begins the output of another run: of OSU, of perftest (`RDMA_Write BW Test`), of nccl-tests.
_TITLE = re.compile(
    r"#[ \t]*OSU\b.*\bTest\b.*|#?[ \t]*nThread[ \t]+[0-9].*|#[ \t]*Collective test starting:.*"
    r"|[A-Z][\w+-]*(?: {1,3}[\w+-]+){0,8} {1,3}Test"
)


@dataclass(frozen=True)
class Message:
    """Result of a benchmark for one message size: time, bandwidth or both.

    Args:
        size_bytes: size of the message, in bytes.
        time_us: time of one message, or what the benchmark calls its time.
        gbit_s: bandwidth.
    """

    size_bytes: int
    time_us: float | None = None
    gbit_s: float | None = None


def select_round_trip_us(messages: Sequence[Message], ways: float = 2.0) -> float | None:
    """Return the round trip of the smallest message, if it is small enough to show latency.

    Args:
        messages: with their times.
        ways: how many of these times a round trip is.
    """
    timed = [
        (each.size_bytes, each.time_us)
        for each in messages
        if each.time_us is not None and each.size_bytes <= MOST_ROUND_TRIP_BYTES
    ]
    return ways * min(timed)[1] if timed else None


def select_bandwidth(messages: Sequence[Message], size_bytes: int | None) -> Message | None:
    """Return the message to take the bandwidth from: the requested size, or else the fastest."""
    known = [each for each in messages if each.gbit_s]
    if size_bytes is not None:
        known = [each for each in known if each.size_bytes == size_bytes]
    return max(known, key=lambda each: each.gbit_s or 0.0, default=None)


@dataclass(frozen=True)
class PairReading:
    """Readings from one host to another; None for a quantity that was not measured.

    `size_bytes` is of the messages that the bandwidth was reached with.
    """

    source: str
    destination: str
    rtt_us: float | None = None
    gbit_s: float | None = None
    size_bytes: int | None = None


def build_bandwidth_readings(
    rows: Sequence[Message],
    ends: Sequence[tuple[str, str]],
    size_bytes: int | None,
    place: str,
) -> list[PairReading]:
    """Return the bandwidth of a benchmark run as readings of one or both directions.

    Args:
        rows: the run's results.
        ends: source and destination of each direction.
        size_bytes: size of the messages whose bandwidth counts; None for the greatest of any size.
        place: where the run begins.

    Raises:
        WrongUseError: there are no messages of that size.
    """
    fastest = select_bandwidth(rows, size_bytes)
    if fastest is None and size_bytes is not None:
        raise WrongUseError(f"{place}: this run has no messages of {format_size(size_bytes)}")
    gbit_s, reached_with = (0.0, None) if fastest is None else (fastest.gbit_s, fastest.size_bytes)
    return [PairReading(*pair, gbit_s=gbit_s, size_bytes=reached_with) for pair in ends]


@dataclass(frozen=True)
class SkippedPart:
    """Run or row of a file from which no reading could be taken, with the reason.

    Args:
        place: where it begins.
        reason: why, to follow `this run`.
        hosts: the hosts that it was on.
        hint: what to do about it.
        kind: kind of the failure (`Failure`), or None.
        what: what it is: a run, or a row.
    """

    place: str
    reason: str
    hosts: tuple[str, ...]
    hint: str | None = None
    kind: str | None = None
    what: str = "run"


@dataclass
class Readings:
    """Readings of pairs of hosts from one imported file.

    Args:
        tool: what measured them.
        pairs: the readings.
        left_out: runs without a result: failures of their pairs, notes where there is no pair.
        rtt_notes: what a reader of the times should know.
        notes: what was left aside, as sentences.
        hosts: names of the hosts that come first.
        are_samples: whether several times of a pair are its samples; else the least one counts.
    """

    tool: str
    pairs: list[PairReading] = field(default_factory=list)
    left_out: list[SkippedPart] = field(default_factory=list)
    rtt_notes: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)
    hosts: Sequence[str] = ()
    are_samples: bool = False


@dataclass(frozen=True)
class _SkippedRecord:
    failures: Sequence[Failure]
    notes: Sequence[str]


def build_cluster(
    parts: Sequence[Readings], source: str, *, percentile: float, hint: str | None = None
) -> Cluster:
    """Return the cluster of these readings, with hosts in order of appearance.

    Where a pair has several readings, the greatest bandwidth counts, and the least time, or the
    percentile of the times where they are samples.

    Args:
        parts: what one or several files hold.
        source: what errors call them.
        percentile: the percentile that the times stand for.
        hint: what to do where there is no reading.

    Raises:
        WrongUseError: no readings, or too many hosts, or values that cannot be.
    """
    pairs = [pair for part in parts for pair in part.pairs]
    left_out = [run for part in parts for run in part.left_out]
    has_wrong = any(run.kind is not None and len(run.hosts) == _PAIR for run in left_out)
    if not pairs and left_out and not has_wrong:
        # The one that somebody can do something about tells most.
        first = next((run for run in left_out if run.hint), left_out[0])
        raise WrongUseError(f"{first.place}: this {first.what} {first.reason}", first.hint or hint)
    measured = [name for pair in pairs for name in (pair.source, pair.destination)]
    tried = [name for run in left_out if len(run.hosts) == _PAIR for name in run.hosts]
    first_hosts = [name for part in parts for name in part.hosts]
    names = list(dict.fromkeys([*first_hosts, *measured, *tried]))
    if not pairs and not has_wrong:
        raise WrongUseError(f"{source}: holds no measurement of a pair of hosts", hint)
    if len(names) > MAX_HOSTS:
        raise WrongUseError(f"{source}: holds more than {MAX_HOSTS:,} hosts")
    index = {name: position for position, name in enumerate(names)}
    shape = (len(names), len(names))
    gbit_s, size_bytes = np.full(shape, np.nan), np.full(shape, np.nan)
    for pair in pairs:
        place = index[pair.source], index[pair.destination]
        if pair.gbit_s is not None:
            _check(pair.gbit_s, MAX_GBIT_S, "Gbit/s", source)
            if not pair.gbit_s <= gbit_s[place]:
                gbit_s[place] = pair.gbit_s
                size_bytes[place] = np.nan if pair.size_bytes is None else pair.size_bytes
    rtt_us, samples = _times(parts, index, percentile, source)
    if pairs and np.isnan(rtt_us).all() and np.isnan(gbit_s).all():
        raise WrongUseError(f"{source}: holds no bandwidth and no time of a small message")

    def is_measured(one: str, other: str) -> bool:
        places = (index[one], index[other]), (index[other], index[one])
        return any(np.isfinite(gbit_s[place]) or np.isfinite(rtt_us[place]) for place in places)

    gaps = _gaps(left_out, is_measured)
    notes = list(dict.fromkeys([*(note for part in parts for note in part.notes), *gaps.notes]))
    of_times = [note for part in parts if _has_times(part) for note in part.rtt_notes]
    rtt = _rtt(
        rtt_us, samples, _tools(parts, _has_times), percentile, list(dict.fromkeys(of_times))
    )
    rates = _bandwidth(gbit_s, size_bytes, _tools(parts, _has_rates), notes, gaps.failures)
    if rates is None and rtt is not None:
        rtt = replace(rtt, notes=[*rtt.notes, *notes], failures=gaps.failures)
    return Cluster(
        # No address is known; the name is the best guess there is.
        hosts=[Host(name=name, address=name) for name in names],
        rtt=rtt,
        bandwidth=rates,
    )


def _times(
    parts: Sequence[Readings], index: Mapping[str, int], percentile: float, source: str
) -> tuple[Matrix, Counts]:
    """Return each pair's time in µs and its number of samples, both (N, N)."""
    least: dict[tuple[int, int], float] = {}
    all_of: dict[tuple[int, int], list[float]] = {}
    for part in parts:
        for pair in part.pairs:
            if pair.rtt_us is None:
                continue
            _check(pair.rtt_us, MAX_RTT_US, "µs", source)
            place = index[pair.source], index[pair.destination]
            if part.are_samples:
                all_of.setdefault(place, []).append(pair.rtt_us)
            else:
                least[place] = min(pair.rtt_us, least.get(place, math.inf))
    rtt_us = np.full((len(index), len(index)), np.nan)
    samples = np.zeros(rtt_us.shape, dtype=np.int64)
    for place, value_us in least.items():
        all_of.setdefault(place, []).append(value_us)
    for place, values_us in all_of.items():
        rtt_us[place] = np.percentile(values_us, percentile)
        samples[place] = len(values_us)
    return rtt_us, samples


def _has_times(part: Readings) -> bool:
    return any(pair.rtt_us is not None for pair in part.pairs)


def _has_rates(part: Readings) -> bool:
    return any(pair.gbit_s is not None for pair in part.pairs) or bool(part.left_out)


def _tools(parts: Sequence[Readings], is_wanted: Callable[[Readings], bool]) -> str:
    return ", ".join(dict.fromkeys(part.tool for part in parts if is_wanted(part))) or "import"


def parse_pair_line(line: str, place: str, hint: str) -> tuple[str, str] | None:
    """Return the hosts that a line `# pair: A B` names; None for any other line.

    Raises:
        WrongUseError: the hosts are the same one, or names that cannot be.
    """
    match = _PAIR_LINE.fullmatch(line.strip())
    if match is None:
        return None
    one, other = check_host_name(match[1], place), check_host_name(match[2], place)
    if one == other:
        raise WrongUseError(f"{place}: both hosts are {one}", hint)
    return one, other


def parse_title(line: str) -> str | None:
    """Return a benchmark's title line without leading blanks; None for any other line."""
    bare = line.strip()
    return bare if _TITLE.fullmatch(bare) else None


def check_host_name(name: str, place: str) -> str:
    """Return a host's name if it is valid; raise otherwise.

    Raises:
        WrongUseError: no host list could have it; `place` says where it stands.
    """
    fault = find_name_fault(name)
    if fault is not None:
        hint = f"names have no blanks: write {'-'.join(name.split())}" if " " in name else HINT_NAME
        raise WrongUseError(f"{place}: {brief(name)} {fault}", hint)
    return name


def parse_number(text: str, place: str) -> float:
    """Parse a number that is not negative.

    Raises:
        WrongUseError: it is not valid; `place` says where it stands.
    """
    if not _NUMBER.fullmatch(text):
        raise WrongUseError(f"{place}: {brief(text)} is not a number")
    number = float(text)
    if not math.isfinite(number):
        raise WrongUseError(f"{place}: {brief(text)} is too large a number")
    return number


def decode_text(content: bytes, source: str) -> str:
    """Return the content of a UTF-8 file as text.

    Raises:
        WrongUseError: it is not text in UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WrongUseError(f"{source}: is not text in UTF-8") from None


def _check(value: float, high: float, unit: str, source: str) -> None:
    if not (math.isfinite(value) and 0.0 <= value <= high):
        raise WrongUseError(f"{source}: {value:g} {unit} is more than {high:g} {unit}")


def _rtt(
    rtt_us: Matrix, samples: Counts, tool: str, percentile: float, notes: Sequence[str]
) -> RttMeasurement | None:
    if not samples.any():
        return None
    return RttMeasurement(
        rtt_us={percentile: rtt_us},
        reading=percentile,
        samples=samples,
        losses=np.zeros(rtt_us.shape, dtype=np.int64),
        tool=tool,
        notes=notes,
    )


def _bandwidth(
    gbit_s: Matrix,
    size_bytes: Matrix,
    tool: str,
    notes: Sequence[str],
    failures: Sequence[Failure],
) -> BandwidthMeasurement | None:
    if not np.isfinite(gbit_s).any() and not any(failure.kind for failure in failures):
        return None
    sizes = size_bytes[np.isfinite(size_bytes)]
    return BandwidthMeasurement(
        gbit_s=gbit_s,
        retransmits=np.full(gbit_s.shape, np.nan),
        message_bytes=size_bytes if sizes.size else None,
        tool=tool,
        options=_sizes(sizes),
        failures=failures,
        notes=notes,
    )


def _gaps(
    left_out: Sequence[SkippedPart], is_measured: Callable[[str, str], bool]
) -> _SkippedRecord:
    """Return failures for pairs that only skipped runs measured, and notes on other skipped runs.

    Wrong results are a failure whatever else was measured.
    """
    failures, notes = [], []
    for run in left_out:
        is_pair = len(run.hosts) == _PAIR
        if is_pair and (run.kind is not None or not is_measured(*run.hosts)):
            reason = f"{run.place}: this {run.what} {run.reason}"
            failures.append(Failure(run.hosts[0], reason, run.hosts[1], kind=run.kind))
        else:
            notes.append(f"left out, for it {run.reason}: the {run.what} at {run.place}")
    return _SkippedRecord(failures, notes)


def _sizes(sizes: Matrix) -> dict[str, int]:
    """Return the message sizes, in the form that a measurement's options record."""
    if not sizes.size:
        return {}
    least, most = int(sizes.min()), int(sizes.max())
    if least == most:
        return {"message_bytes": most}
    return {"least_message_bytes": least, "most_message_bytes": most}
