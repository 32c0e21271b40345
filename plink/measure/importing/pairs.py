"""Readings of pairs of hosts by message size, and their conversion to a cluster.

Input that cannot be read raises `WrongUseError`, which names the place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from plink.base.errors import WrongUseError
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


@dataclass(frozen=True)
class Message:
    """Result of a benchmark for one message size: time of a message in µs, bandwidth, or both."""

    size_bytes: int
    time_us: float | None = None
    gbit_s: float | None = None


def select_round_trip_us(messages: Sequence[Message], ways: float = 2.0) -> float | None:
    """Return the round trip in µs, `ways` times the smallest message's; None above 4096 bytes."""
    timed = [
        (each.size_bytes, each.time_us)
        for each in messages
        if each.time_us is not None and each.size_bytes <= MOST_ROUND_TRIP_BYTES
    ]
    return ways * min(timed)[1] if timed else None


def select_bandwidth(messages: Sequence[Message], size_bytes: int | None) -> Message | None:
    """Return the message with the greatest bandwidth (of that size, if given); None without any."""
    known = [each for each in messages if each.gbit_s]
    if size_bytes is not None:
        known = [each for each in known if each.size_bytes == size_bytes]
    return max(known, key=lambda each: each.gbit_s or 0.0, default=None)


@dataclass(frozen=True)
class PairReading:
    """Round-trip time in µs and bandwidth in Gbit/s from one host to another; None if unknown.

    `size_bytes` is of the messages that the bandwidth was reached with.
    """

    source: str
    destination: str
    rtt_us: float | None = None
    gbit_s: float | None = None
    size_bytes: int | None = None


@dataclass(frozen=True)
class SkippedPart:
    """Run or row of an imported file that gave no reading, and why, as the rest of `this run ...`.

    Args:
        kind: kind of the failure (`Failure`), or None.
    """

    place: str
    why_skipped: str
    hosts: tuple[str, ...]
    hint: str | None = None
    kind: str | None = None
    run_or_row: str = "run"


@dataclass
class Readings:
    """Readings of pairs of hosts from one imported file, with notes and the runs left out.

    Args:
        left_out: runs without a result: failures of their pairs, notes where there is no pair.
        rtt_notes: what a reader of the times should know.
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

    @property
    def has_times(self) -> bool:
        """Whether any pair has a round-trip time."""
        return any(pair.rtt_us is not None for pair in self.pairs)

    @property
    def has_rates(self) -> bool:
        """Whether any pair has a bandwidth, or a run was left out that may have had one."""
        return any(pair.gbit_s is not None for pair in self.pairs) or bool(self.left_out)


def build_cluster(
    parts: Sequence[Readings], source: str, *, percentile: float, hint: str | None = None
) -> Cluster:
    """Combine readings of pairs from imported files into a cluster, hosts in order of appearance.

    Where a pair has several readings, the greatest bandwidth counts, and the least time, or the
    `percentile` of the times where they are samples.
    """
    pairs = [pair for part in parts for pair in part.pairs]
    left_out = [run for part in parts for run in part.left_out]
    of_pairs = [run for run in left_out if len(run.hosts) == _PAIR]
    if not pairs and not any(run.kind is not None for run in of_pairs):
        if not left_out:
            raise WrongUseError(f"{source}: holds no measurement of a pair of hosts", hint)
        # The one that somebody can do something about tells most.
        first = next((run for run in left_out if run.hint), left_out[0])
        raise WrongUseError(
            f"{first.place}: this {first.run_or_row} {first.why_skipped}", first.hint or hint
        )
    names = [name for part in parts for name in part.hosts]
    names += [name for pair in pairs for name in (pair.source, pair.destination)]
    names += [name for run in of_pairs for name in run.hosts]
    index = {name: place for place, name in enumerate(dict.fromkeys(names))}
    if len(index) > MAX_HOSTS:
        raise WrongUseError(f"{source}: holds more than {MAX_HOSTS:,} hosts")
    gbit_s, size_bytes = _collect_rates(pairs, index, source)
    rtt_us, samples = _collect_times(parts, index, percentile, source)
    is_measured = np.isfinite(gbit_s) | np.isfinite(rtt_us)
    if pairs and not is_measured.any():
        raise WrongUseError(
            f"{source}: holds no bandwidth, and no time of a message of at most 4096 bytes"
        )
    failures, gaps = _describe_skipped(left_out, index, is_measured | is_measured.T)
    notes = list(dict.fromkeys([*(note for part in parts for note in part.notes), *gaps]))
    rtt = rates = None
    if np.isfinite(gbit_s).any() or any(failure.kind for failure in failures):
        sizes = size_bytes[np.isfinite(size_bytes)]
        rates = BandwidthMeasurement(
            gbit_s=gbit_s,
            retransmits=np.full(gbit_s.shape, np.nan),
            message_bytes=size_bytes if sizes.size else None,
            tool=_join_tools(part for part in parts if part.has_rates),
            options=_describe_sizes(sizes),
            failures=failures,
            notes=notes,
        )
    if samples.any():
        timed = [part for part in parts if part.has_times]
        of_times = dict.fromkeys(note for part in timed for note in part.rtt_notes)
        rtt = RttMeasurement(
            rtt_us={percentile: rtt_us},
            reading=percentile,
            samples=samples,
            losses=np.zeros(rtt_us.shape, dtype=np.int64),
            tool=_join_tools(timed),
            notes=[*of_times] if rates else [*of_times, *notes],
            failures=() if rates else failures,
        )
    # No address is known; the name is the best guess there is.
    return Cluster(
        hosts=[Host(name=name, address=name) for name in index], rtt=rtt, bandwidth=rates
    )


def _collect_rates(
    pairs: Sequence[PairReading], index: Mapping[str, int], source: str
) -> tuple[Matrix, Matrix]:
    """Return pairs' greatest bandwidths in Gbit/s and their message sizes in bytes, (N, N) each."""
    gbit_s = np.full((len(index), len(index)), np.nan)
    size_bytes = gbit_s.copy()
    for pair in pairs:
        place = index[pair.source], index[pair.destination]
        if pair.gbit_s is not None:
            _check_range(pair.gbit_s, MAX_GBIT_S, "Gbit/s", source)
            if not pair.gbit_s <= gbit_s[place]:
                gbit_s[place] = pair.gbit_s
                size_bytes[place] = np.nan if pair.size_bytes is None else pair.size_bytes
    return gbit_s, size_bytes


def _collect_times(
    parts: Sequence[Readings], index: Mapping[str, int], percentile: float, source: str
) -> tuple[Matrix, Counts]:
    """Return each pair's round-trip time in µs and its number of samples, (N, N) each."""
    least: dict[tuple[int, int], float] = {}
    times_us: dict[tuple[int, int], list[float]] = {}
    for part in parts:
        for pair in part.pairs:
            if pair.rtt_us is None:
                continue
            _check_range(pair.rtt_us, MAX_RTT_US, "µs", source)
            place = index[pair.source], index[pair.destination]
            if part.are_samples:
                times_us.setdefault(place, []).append(pair.rtt_us)
            else:
                least[place] = min(pair.rtt_us, least.get(place, math.inf))
    rtt_us = np.full((len(index), len(index)), np.nan)
    samples = np.zeros(rtt_us.shape, dtype=np.int64)
    for place, value_us in least.items():
        times_us.setdefault(place, []).append(value_us)
    for place, values_us in times_us.items():
        rtt_us[place] = np.percentile(values_us, percentile)
        samples[place] = len(values_us)
    return rtt_us, samples


def _describe_skipped(
    left_out: Sequence[SkippedPart], index: Mapping[str, int], is_measured: npt.NDArray[np.bool_]
) -> tuple[list[Failure], list[str]]:
    """Convert skipped runs to failures of pairs, unless measured otherwise, and to notes.

    Wrong results are a failure whatever else was measured.
    """
    failures, notes = [], []
    for run in left_out:
        ends = tuple(index[name] for name in run.hosts if name in index)
        if len(run.hosts) == _PAIR and (run.kind is not None or not is_measured[ends]):
            why_skipped = f"{run.place}: this {run.run_or_row} {run.why_skipped}"
            failures.append(Failure(run.hosts[0], why_skipped, run.hosts[1], kind=run.kind))
        else:
            notes.append(f"left out, for it {run.why_skipped}: the {run.run_or_row} at {run.place}")
    return failures, notes


def _join_tools(parts: Iterable[Readings]) -> str:
    return ", ".join(dict.fromkeys(part.tool for part in parts)) or "import"


def _describe_sizes(sizes: Matrix) -> dict[str, int]:
    """Return a measurement's options that record the range of message sizes in bytes, if any."""
    if not sizes.size:
        return {}
    least, most = int(sizes.min()), int(sizes.max())
    if least == most:
        return {"message_bytes": most}
    return {"least_message_bytes": least, "most_message_bytes": most}


def check_host_name(name: str, place: str) -> str:
    """Return a host's name unchanged; raise, naming `place`, if it is not valid."""
    why_invalid = find_name_fault(name)
    if why_invalid is not None:
        hint = f"names have no blanks: write {'-'.join(name.split())}" if " " in name else HINT_NAME
        raise WrongUseError(f"{place}: {brief(name)} {why_invalid}", hint)
    return name


def parse_number(text: str, place: str) -> float:
    """Parse a decimal number of at least 0; raise, naming `place`, if it is not one."""
    if not _NUMBER.fullmatch(text):
        raise WrongUseError(f"{place}: {brief(text)} is not a number of at least 0, such as 0.5")
    number = float(text)
    if not math.isfinite(number):
        raise WrongUseError(f"{place}: {brief(text)} is too large a number")
    return number


def parse_whole_number(text: str, place: str) -> int:
    """Parse a whole number of at least 0; raise, naming `place`, if it is not one."""
    number = parse_number(text, place)
    if not number.is_integer():
        raise WrongUseError(f"{place}: {brief(text)} is not a whole number")
    return int(number)


def decode_text(content: bytes, source: str) -> str:
    """Return the content of a file as text; raise, naming `source`, if it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WrongUseError(f"{source}: is not text in UTF-8") from None


def _check_range(value: float, high: float, unit: str, source: str) -> None:
    if not (math.isfinite(value) and 0.0 <= value <= high):
        raise WrongUseError(
            f"{source}: the value {value:g} {unit} is above the limit of {high:g} {unit}"
        )
