"""Import of logs of NVIDIA's nccl-tests on two hosts each (NVIDIA/nccl-tests, doc/PERFORMANCE.md).

The log says which hosts its ranks are on. The out-of-place columns of a row count: the bus
bandwidth, in 10^9 bytes a second, is what a direction of the link carried; the time of
sendrecv_perf is that of one message each way at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from plink.base.size import format_size
from plink.base.text import format_count
from plink.formats.measurements import WRONG_RESULTS
from plink.measure.importing.pairs import (
    Message,
    PairReading,
    Readings,
    SkippedPart,
    check_host_name,
    parse_number,
    parse_title,
    select_bandwidth,
    select_round_trip_us,
)

TOOL = "nccl-tests"
HINT = "run nccl-tests on two hosts at a time, and keep all of its output"
_HINT_ALONE = (
    "build nccl-tests with MPI=1 for the MPI whose mpirun starts it: each process ran alone"
)
_HINT_MIXED = "keep the output of every run in a file of its own"
_HINT_WRONG = "look at NICs, cables and GPUs of the two hosts, and run the test again"
_GBIT_PER_GB = 8.0
# Versions of 2017 print these lines without `#`.
_BEGIN = re.compile(r"#?[ \t]*nThread[ \t]+[0-9]")
_TEST = re.compile(r"#[ \t]*Collective test starting:[ \t]*(\S+)")
_RANK = re.compile(r"#[ \t]+Rank[ \t]+([0-9]{1,7})[ \t](.*\bon[ \t]+(\S+)[ \t]+device[ \t].*)")
# Not every version prints all of them.
_END = re.compile(
    r"#?[ \t]*(?:(Out of bounds values)[ \t]*:[ \t]*([0-9]{1,18})|(Avg bus bandwidth)\b"
    r"|(Collective test concluded)\b)"
)
_NUMBER = r"[0-9][0-9.eE+-]*"
_COUNT = rf"(?:{_NUMBER}|N/A)"
# Size, count, type, and what the operation has; then time, algbw, busbw and wrong, out of place
# and in place. What another process wrote into the line makes it another.
_ROW = re.compile(
    rf"\s*([0-9]{{1,18}})\s+[0-9]+\s+[a-z]\w*(?:\s+[\w-]+){{0,2}}"
    rf"\s+({_NUMBER})\s+{_NUMBER}\s+({_NUMBER})\s+({_COUNT})"
    rf"(?:\s+{_COUNT}){{3}}\s+({_COUNT})\s*"
)
_LIKE_A_ROW = re.compile(r"\s*[0-9]+\s+[0-9]+\s+[a-z]")
_NOTE = "the times are twice those of NCCL's least messages, starting of kernels included"


@dataclass
class _NcclRun:
    """Run of one program of nccl-tests: the hosts of its ranks, and its result rows.

    Args:
        processes: what the log says of each rank's process.
        ends: the closing lines that it printed.
        ranks_twice: ranks that two processes have.
        wrong: the greatest number of elements with a wrong result.
    """

    place: str
    test: str
    hosts: list[str] = field(default_factory=list)
    rows: list[Message] = field(default_factory=list)
    processes: dict[int, str] = field(default_factory=dict)
    ends: list[str] = field(default_factory=list)
    ranks_twice: list[int] = field(default_factory=list)
    wrong: float = 0.0
    has_damage: bool = False
    is_mixed: bool = False


def is_nccl_tests(text: str) -> bool:
    """Return whether a text is a log of nccl-tests or rccl-tests."""
    return "nThread" in text and "Using devices" in text


def read_nccl_tests(text: str, source: str, size_bytes: int | None = None) -> Readings:
    """Return bandwidths, and latencies from the smallest messages of sendrecv_perf.

    Runs without a result are left out and named: those that printed no row or did not come to
    their end, have no row of the size that is asked for, were not on two hosts, are mixed with
    another run, or found wrong results.

    Args:
        text: text of the log.
        source: what errors call it.
        size_bytes: size of the messages whose bandwidth counts; None for the greatest of any size.

    Raises:
        WrongUseError: a host's name that cannot be.
    """
    readings = Readings(TOOL, rtt_notes=[_NOTE])
    for run in _runs(text, source):
        left_out = _refusal(run, size_bytes)
        if left_out is None:
            readings.pairs += _readings(run, size_bytes)
        else:
            readings.left_out.append(left_out)
    return readings


def _runs(text: str, source: str) -> Sequence[_NcclRun]:
    runs: list[_NcclRun] = []
    test = ""
    is_open = False
    for line_number, line in enumerate(text.split("\n"), start=1):
        place = f"{source}:{line_number}"
        if match := _TEST.match(line):
            test, is_open = match[1], False
        elif _BEGIN.match(line):
            runs.append(_NcclRun(place, test))
            test, is_open = "", True
        elif parse_title(line) is not None:
            is_open = False
        elif is_open:
            _take(runs[-1], line, place)
    return runs


def _take(run: _NcclRun, line: str, place: str) -> None:
    if match := _RANK.match(line):
        rank, process = int(match[1]), " ".join(match[2].split())
        host = check_host_name(match[3], place)
        if host not in run.hosts:
            run.hosts.append(host)
        # The same line twice is a log that was copied twice.
        if run.processes.setdefault(rank, process) != process:
            run.ranks_twice.append(rank)
    elif match := _ROW.fullmatch(line):
        size, time_us, gbyte_s, *wrong = match.groups()
        gbit_s = parse_number(gbyte_s, place) * _GBIT_PER_GB
        run.rows.append(Message(int(size), parse_number(time_us, place), gbit_s))
        # Older versions print the greatest error there, which is below 1 where all is well.
        counts = [parse_number(each, place) for each in wrong if each != "N/A"]
        run.wrong = max([run.wrong, *(count for count in counts if count >= 1.0)])
        run.is_mixed |= bool(run.ends)
    elif _LIKE_A_ROW.match(line):
        run.has_damage = True
    elif match := _END.match(line):
        ended = match[1] or match[3] or match[4]
        run.is_mixed |= ended in run.ends
        run.ends.append(ended)
        if match[2] is not None:
            run.wrong = max(run.wrong, float(match[2]))


def _refusal(run: _NcclRun, size_bytes: int | None) -> SkippedPart | None:
    """Return why a run of nccl-tests is left out; None if it measures a pair of hosts."""
    hint = kind = None
    if run.ranks_twice:
        reason = f"is of two processes that have rank {run.ranks_twice[0]}"
        hint = _HINT_ALONE
    elif not run.rows and not run.has_damage:
        reason = "has no result"
    elif len(run.hosts) != 2:
        reason = f"was on {format_count(len(run.hosts), 'host')}, not on two"
    elif run.is_mixed:
        reason, hint = "has rows or closing lines of another one in it", _HINT_MIXED
    elif run.wrong:
        reason = f"found wrong results (#wrong {run.wrong:,.0f})"
        hint, kind = _HINT_WRONG, WRONG_RESULTS
    # What is missing may be the fastest size.
    elif size_bytes is None and run.has_damage:
        reason = "has a row that is not understood"
    elif size_bytes is None and not run.ends:
        reason = "ended early"
    elif size_bytes is not None and select_bandwidth(run.rows, size_bytes) is None:
        reason = f"has no bandwidth of messages of {format_size(size_bytes)}"
    elif any(_readings(run, size_bytes)):
        return None
    else:
        reason = "has no result"
    return SkippedPart(run.place, reason, tuple(run.hosts), hint, kind)


def _readings(run: _NcclRun, size_bytes: int | None) -> Iterator[PairReading]:
    # Other tests' times are of more than a message each way.
    rtt_us = select_round_trip_us(run.rows) if "sendrecv" in run.test else None
    fastest = select_bandwidth(run.rows, size_bytes)
    for one, other in (run.hosts, reversed(run.hosts)):
        if rtt_us is not None:
            yield PairReading(one, other, rtt_us=rtt_us)
        if fastest is not None:
            yield PairReading(one, other, gbit_s=fastest.gbit_s, size_bytes=fastest.size_bytes)
