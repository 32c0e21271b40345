"""Logs of NVIDIA's nccl-tests, each run on two hosts (NVIDIA/nccl-tests, doc/PERFORMANCE.md).

The log says which hosts its ranks are on. The out-of-place columns of a row count: the bus
bandwidth, in 10^9 bytes a second, is what a direction of the link carried; the time of
sendrecv_perf is that of one message each way at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from plink.base.errors import WrongUseError
from plink.base.size import format_size
from plink.base.text import counted
from plink.files.cluster import Cluster
from plink.measure.importing.pairs import (
    LeftOut,
    Message,
    PairReading,
    bandwidth_of,
    checked_name,
    cluster_of,
    number,
    round_trip_us,
    text_of,
)

TOOL = "nccl-tests"
_GBIT_PER_GB = 8.0
_BEGIN = re.compile(r"#\s*nThread\b")
_TEST = re.compile(r"#\s*Collective test starting:\s*(\S+)")
_RANK = re.compile(r"#\s+Rank\s+[0-9]+\s.*\bon\s+(\S+)\s+device\s")
# Every run that comes to its end says so, in all versions.
_END = re.compile(r"#\s*Avg bus bandwidth\b")
_NUMBER = r"[0-9][0-9.eE+-]*"
_COUNT = rf"(?:{_NUMBER}|N/A)"
# Size, count, type, and what the operation has; then time, algbw, busbw and wrong, out of place
# and in place. What another process wrote into the line makes it another.
_ROW = re.compile(
    rf"\s*([0-9]{{1,18}})\s+[0-9]+\s+[a-z]\w*(?:\s+[\w-]+){{0,2}}"
    rf"\s+({_NUMBER})\s+{_NUMBER}\s+({_NUMBER})\s+{_COUNT}"
    rf"(?:\s+{_NUMBER}){{3}}\s+{_COUNT}\s*"
)
_LIKE_A_ROW = re.compile(r"\s*[0-9]+\s+[0-9]+\s+[a-z]")
_NOTE = "the times are twice those of NCCL's least messages, starting of kernels included"
_HINT = "run nccl-tests on two hosts at a time, and keep all that it prints"


@dataclass
class _NcclRun:
    place: str
    test: str
    hosts: list[str] = field(default_factory=list)
    rows: list[Message] = field(default_factory=list)
    has_damage: bool = False
    is_whole: bool = False


def is_nccl_tests(content: bytes) -> bool:
    """Whether a file is a log of nccl-tests."""
    return b"# nThread" in content and b"# Using devices" in content


def import_nccl_tests(
    content: bytes, source: str, percentile: float, size_bytes: int | None = None
) -> Cluster:
    """The bandwidths, and times of sendrecv_perf's least size where that is small.

    Runs without a result are left out and named: those that printed no row or did not come to
    their end, have no row of the size that is asked for, or were not on two hosts.

    Args:
        content: of the log.
        source: what errors call it.
        percentile: the percentile that the times stand for.
        size_bytes: of the messages whose bandwidth counts; None for the greatest of any size.

    Raises:
        WrongUseError: no run has a result.
    """
    readings: list[PairReading] = []
    left_out: list[LeftOut] = []
    for run in _runs(text_of(content, source), source):
        reason = _refusal(run, size_bytes)
        if reason is None:
            readings += _readings(run, size_bytes)
        else:
            left_out.append(LeftOut(run.place, reason, tuple(run.hosts)))
    if left_out and not readings:
        first = left_out[0]
        raise WrongUseError(f"{first.place}: this run {first.reason}", _HINT)
    return cluster_of(
        readings,
        source,
        tool=TOOL,
        percentile=percentile,
        rtt_notes=[_NOTE],
        left_out=left_out,
    )


def _runs(text: str, source: str) -> Sequence[_NcclRun]:
    runs: list[_NcclRun] = []
    test = ""
    for line_number, line in enumerate(text.split("\n"), start=1):
        place = f"{source}:{line_number}"
        if found := _TEST.match(line):
            test = found[1]
        elif _BEGIN.match(line):
            runs.append(_NcclRun(place, test))
            test = ""
        elif not runs:
            continue
        elif found := _RANK.match(line):
            host = checked_name(found[1], place)
            if host not in runs[-1].hosts:
                runs[-1].hosts.append(host)
        elif found := _ROW.fullmatch(line):
            size, time_us, gbyte_s = found.groups()
            gbit_s = number(gbyte_s, place) * _GBIT_PER_GB
            runs[-1].rows.append(Message(int(size), number(time_us, place), gbit_s))
        elif _LIKE_A_ROW.match(line):
            runs[-1].has_damage = True
        elif _END.match(line):
            runs[-1].is_whole = True
    return runs


def _refusal(run: _NcclRun, size_bytes: int | None) -> str | None:
    """Why a run tells nothing of a pair of hosts, to follow `this run`; None where it does."""
    if not run.rows and not run.has_damage:
        return "has no result"
    if len(run.hosts) != 2:
        return f"was on {counted(len(run.hosts), 'host')}, not on two"
    # What is missing may be the fastest size.
    if size_bytes is None and run.has_damage:
        return "has a row that is not understood"
    if size_bytes is None and not run.is_whole:
        return "did not come to its end"
    if size_bytes is not None and bandwidth_of(run.rows, size_bytes) is None:
        return f"has no bandwidth of messages of {format_size(size_bytes)}"
    return None if any(_readings(run, size_bytes)) else "has no result"


def _readings(run: _NcclRun, size_bytes: int | None) -> Iterator[PairReading]:
    # Other tests' times are of more than a message each way.
    rtt_us = round_trip_us(run.rows) if "sendrecv" in run.test else None
    fastest = bandwidth_of(run.rows, size_bytes)
    for one, other in (run.hosts, reversed(run.hosts)):
        if rtt_us is not None:
            yield PairReading(one, other, rtt_us=rtt_us)
        if fastest is not None:
            yield PairReading(one, other, gbit_s=fastest.gbit_s, size_bytes=fastest.size_bytes)
