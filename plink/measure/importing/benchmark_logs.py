"""Import of logs of benchmarks between hosts: nccl-tests, OSU's, perftest's and mpiGraph's.

- **nccl-tests** (NVIDIA/nccl-tests, doc/PERFORMANCE.md) on two hosts, which the log names. The
  out-of-place columns of a row count: the bus bandwidth, in 10^9 bytes a second, is what a
  direction of the link carried; the time of sendrecv_perf is that of one message each way at once.
- **OSU's** osu_latency prints half of a round trip (README, `osu_latency`), osu_bw what rank 0
  sends to rank 1, osu_bibw the sum of both directions; its MB are 10^6 bytes.
- **perftest's** latencies of reads are whole round trips, those of writes and sends half of one;
  bandwidth goes to the server, but for reads. Columns are found by their headings: t_typical is the
  median, MB are 2^20 bytes, Gb are 10^9 bits.
- **mpiGraph's** (LLNL/mpiGraph, mpiGraph.c) tables begin with `Recv` (or `Send`) and the columns
  `host:rank`; a row with `host:rank from` (or `to`). Its MB are 2^20 bytes.

OSU's and perftest's do not print where they ran, so a line `# pair: A B` (rank 0 and rank 1, client
and server) stands in front of each run.

Input that cannot be read raises `WrongUseError`, which names the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from plink.base.errors import WrongUseError
from plink.base.size import format_size
from plink.base.text import brief, format_count
from plink.formats.measurements import WRONG_RESULTS
from plink.formats.units import find_rate_unit
from plink.measure.importing.pairs import (
    MAX_HOSTS,
    Message,
    PairReading,
    Readings,
    SkippedPart,
    check_host_name,
    parse_number,
    select_bandwidth,
    select_round_trip_us,
)

_PAIR_LINE = re.compile(r"#[ \t]*pair:?[ \t]+(\S+)[ \t]+(\S+)", re.IGNORECASE)
# What begins the output of another run: of OSU, of perftest (`RDMA_Write BW Test`), of nccl-tests.
_TITLE = re.compile(
    r"#[ \t]*OSU\b.*\bTest\b.*|#?[ \t]*nThread[ \t]+[0-9].*|#[ \t]*Collective test starting:.*"
    r"|[A-Z][\w+-]*(?: {1,3}[\w+-]+){0,8} {1,3}Test"
)


@dataclass(frozen=True)
class _Test:
    """Kind of benchmark between two hosts: latency (one way or round trip), or bandwidth.

    Args:
        ways: how many of its times a round trip is; None for a test of bandwidth.
        directions: source and destination of the bandwidth, as indices of the two hosts; of several
            directions the test prints the sum.
    """

    ways: float | None
    directions: Sequence[tuple[int, int]] = ((0, 1),)

    def build_message(self, size_bytes: int, value: float, gbit_s: float) -> Message:
        """Convert a row's value to a `Message`: a time in µs, or a bandwidth per direction.

        `gbit_s` is the benchmark's unit of bandwidth in Gbit/s.
        """
        if self.ways is not None:
            return Message(size_bytes, time_us=value)
        return Message(size_bytes, gbit_s=value * gbit_s / len(self.directions))


@dataclass
class _PairRun:
    """Run of a benchmark in a log: its hosts, columns and result rows, or why it is unusable."""

    place: str
    hosts: tuple[str, str]
    test: _Test
    columns: Sequence[str] = ()
    rows: list[Message] = field(default_factory=list)
    fault: SkippedPart | None = None


@dataclass(frozen=True)
class _PairLog:
    """Reader of logs that name no hosts (OSU, perftest): an added line `# pair: A B` does.

    Args:
        note: what a reader of its times should know.
        hint, hint_known: what to write into a log, and which of the program's tests are read.
        find_test: returns the test of a title, the name of one that is not read, or None.
        take_line: adds a line to a run; returns False if the line ends the run.
    """

    tool: str
    note: str
    hint: str
    hint_known: str
    find_test: Callable[[str], _Test | str | None]
    take_line: Callable[[_PairRun, str, str], bool]

    def read(self, text: str, source: str, size_bytes: int | None) -> Readings:
        """Return the readings of pairs in a log: times of the smallest messages, and bandwidths.

        Tests that are not read are left out and named, and so are runs that do not count.
        """
        readings = Readings(self.tool, rtt_notes=[self.note])
        for run in self._split_runs(text, source, readings.left_out):
            fault = run.fault or _find_pair_fault(run, size_bytes)
            if fault is not None:
                readings.left_out.append(fault)
            else:
                readings.pairs += _read_pair_run(run, size_bytes)
        return readings

    def _split_runs(
        self, text: str, source: str, left_out: list[SkippedPart]
    ) -> Sequence[_PairRun]:
        runs: list[_PairRun] = []
        pair: tuple[str, str] | None = None
        is_open = False
        for line_number, line in enumerate(text.split("\n"), start=1):
            place = f"{source}:{line_number}"
            if named := _parse_pair_line(line, place, self.hint):
                pair, is_open = named, False
            elif _TITLE.fullmatch(line.strip()):
                test = self.find_test(line.strip())
                is_open = isinstance(test, _Test)
                if isinstance(test, str):
                    reason = f"is {test}, which plink does not read"
                    left_out.append(SkippedPart(place, reason, pair or (), self.hint_known))
                elif test is not None:
                    if pair is None:
                        raise WrongUseError(
                            f"{place}: no line names the two hosts of this {self.tool} run",
                            self.hint,
                        )
                    runs.append(_PairRun(place, pair, test))
            elif is_open:
                is_open = self.take_line(runs[-1], line, place)
        return runs


def _parse_pair_line(line: str, place: str, hint: str) -> tuple[str, str] | None:
    match = _PAIR_LINE.fullmatch(line.strip())
    if match is None:
        return None
    one, other = check_host_name(match[1], place), check_host_name(match[2], place)
    if one == other:
        raise WrongUseError(f"{place}: the line names {one} as both hosts of the run", hint)
    return one, other


def _find_pair_fault(run: _PairRun, size_bytes: int | None) -> SkippedPart | None:
    if not run.rows:
        reason, hint = "has no row of results", "import the run's whole output"
        return SkippedPart(run.place, reason, run.hosts, hint)
    is_bandwidth = run.test.ways is None
    if is_bandwidth and size_bytes and select_bandwidth(run.rows, size_bytes) is None:
        reason = f"has no result for messages of {format_size(size_bytes)}"
        return SkippedPart(run.place, reason, run.hosts)
    return None


def _read_pair_run(run: _PairRun, size_bytes: int | None) -> Iterator[PairReading]:
    if run.test.ways is not None:
        yield PairReading(*run.hosts, rtt_us=select_round_trip_us(run.rows, run.test.ways))
        return
    fastest = select_bandwidth(run.rows, size_bytes) or Message(0, gbit_s=0.0)
    for source, destination in run.test.directions:
        ends = run.hosts[source], run.hosts[destination]
        yield PairReading(*ends, gbit_s=fastest.gbit_s, size_bytes=fastest.size_bytes or None)


_BOTH = ((0, 1), (1, 0))
_MEGABYTE_GBIT = 8e6 / 1e9
_MEBIBYTE_GBIT = (1 << 20) * 8 / 1e9

_OSU_TITLE = re.compile(r"#[ \t]*OSU[ \t]+(\S.*)")
_OSU_FAMILY = re.compile(r"MPI(?:-\w+)?")
_OSU_TESTS = {
    "latency": _Test(2.0),
    "bandwidth": _Test(None),
    "bi-directional bandwidth": _Test(None, _BOTH),
    "bidirectional bandwidth": _Test(None, _BOTH),
}
_HINT_OSU_WRONG = "look at NICs, cables and memory of the two hosts, and run the test again"


def _find_osu_test(title: str) -> _Test | str | None:
    if (match := _OSU_TITLE.fullmatch(title)) is None:
        return None
    family, _, name = match[1].partition(" Test")[0].partition(" ")
    test = _OSU_TESTS.get(name.strip().lower()) if _OSU_FAMILY.fullmatch(family) else None
    return test or f"OSU's {brief(f'{family} {name}'.strip())} test"


def _take_osu_line(run: _PairRun, line: str, place: str) -> bool:
    if line[:1].isdigit():
        cells = line.split()
        if len(cells) < 2:
            raise WrongUseError(f"{place}: the line has one number, expected a size and a result")
        size_bytes, value = int(parse_number(cells[0], place)), parse_number(cells[1], place)
        run.rows.append(run.test.build_message(size_bytes, value, _MEGABYTE_GBIT))
        if cells[-1].lower() == "fail":
            reason = "failed its validation: wrong results arrived"
            run.fault = SkippedPart(run.place, reason, run.hosts, _HINT_OSU_WRONG, WRONG_RESULTS)
    return True


_PERFTEST_TITLE = re.compile(
    r"(RDMA_Read|RDMA_Write|Send) +(Bidirectional +)?(?:Post List +)?(BW|Latency) +Test"
)
_HEADING = re.compile(r"[ \t]*#bytes[ \t]+#iterations[ \t](.*)")
_RULE = re.compile(r"[ \t]*-{10,}[ \t]*")
_COLUMN = re.compile(r"(?:99(?:\.9+)?% |BW )?[A-Za-z_]+\[[A-Za-z/%]+\]")
# What perftest writes as MB/sec are 2^20 bytes.
_PERFTEST_UNITS = {"MB/sec": "MiB/sec"}
_HINT_DURATION = "run it for a number of iterations (-n 1000) in place of a duration (-D)"


def _find_perftest_test(title: str) -> _Test | str | None:
    if match := _PERFTEST_TITLE.fullmatch(title):
        is_read = match[1] == "RDMA_Read"
        if match[3] == "Latency":
            return _Test(1.0 if is_read else 2.0)
        directions = _BOTH[::-1] if is_read else _BOTH
        return _Test(None, directions if match[2] else directions[:1])
    is_perftest = title.endswith(("BW Test", "Latency Test")) and not title.startswith("#")
    return f"perftest's {brief(title)}" if is_perftest else None


def _take_perftest_line(run: _PairRun, line: str, place: str) -> bool:
    if match := _HEADING.fullmatch(line):
        run.columns = _COLUMN.findall(match[1])
        names = {column.partition("[")[0] for column in run.columns}
        if run.test.ways is not None and "t_avg" in names and "t_typical" not in names:
            reason = "has an average and no median, as it ran for a duration (-D)"
            run.fault = SkippedPart(run.place, reason, run.hosts, _HINT_DURATION)
    elif run.columns and line.strip()[:1].isdigit():
        if run.fault is None:
            run.rows.append(_parse_perftest_row(run, line.split(), place))
    elif run.rows and _RULE.fullmatch(line):
        return False
    return True


def _parse_perftest_row(run: _PairRun, cells: Sequence[str], place: str) -> Message:
    wanted = "BW average[" if run.test.ways is None else "t_typical["
    at = next((i for i, name in enumerate(run.columns) if name.startswith(wanted)), None)
    if at is None or len(cells) < len(run.columns) + 2:
        raise WrongUseError(
            f"{place}: the row of results has no column {wanted.rstrip('[')}",
            "import the whole output of the test, with the headings of its columns",
        )
    size_bytes, value = int(parse_number(cells[0], place)), parse_number(cells[at + 2], place)
    unit_name = run.columns[at].partition("[")[2].rstrip("]")
    unit = find_rate_unit(_PERFTEST_UNITS.get(unit_name, unit_name))
    if unit is None and run.test.ways is None:
        raise WrongUseError(
            f"{place}: bandwidths are in {unit_name[:20]}, expected MB/sec or Gb/sec"
        )
    return run.test.build_message(size_bytes, value, unit.to_gbit_s(1.0) if unit else 0.0)


_OSU = _PairLog(
    "osu",
    "the times are twice the latencies that OSU averaged over many messages",
    "put a line `# pair: HOST0 HOST1` in front of the output of each run",
    "plink reads osu_latency, osu_bw and osu_bibw",
    _find_osu_test,
    _take_osu_line,
)
_PERFTEST = _PairLog(
    "perftest",
    "the times are medians of RDMA's round trips, past the kernel",
    "put a line `# pair: CLIENT SERVER` in front of the output of each run of a client",
    "plink reads ib_read_lat, ib_write_lat, ib_send_lat and the same with bw",
    _find_perftest_test,
    _take_perftest_line,
)


_HINT_NCCL = "run nccl-tests on two hosts at a time, and keep all of its output"
_HINT_ALONE = (
    "build nccl-tests with MPI=1 for the MPI whose mpirun starts it: each process ran alone"
)
_HINT_MIXED = "keep the output of every run in a file of its own"
_HINT_WRONG = "look at NICs, cables and GPUs of the two hosts, and run the test again"
_NCCL_NOTE = "the times are twice those of NCCL's least messages, starting of kernels included"
_GBIT_PER_GB = 8.0
# Versions of 2017 print these lines without `#`.
_BEGIN = re.compile(r"#?[ \t]*nThread[ \t]+[0-9]")
_NCCL_TEST = re.compile(r"#[ \t]*Collective test starting:[ \t]*(\S+)")
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


@dataclass
class _NcclRun:
    """Run of one program of nccl-tests: the hosts of its ranks, and its result rows.

    Args:
        processes: what the log says of each rank's process.
        ends: the closing lines that it printed.
        ranks_twice: ranks that two processes have.
        wrong: the greatest number of elements with a wrong result.
        has_damage: a row is not understood.
        is_mixed: it has rows or closing lines of another run in it.
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


def read_nccl_tests(text: str, source: str, size_bytes: int | None = None) -> Readings:
    """Return the readings in a log of nccl-tests: bandwidths, and round trips of sendrecv_perf.

    Runs without a result are left out and named: those that printed no row or did not come to
    their end, have no row of the size that is asked for, were not on two hosts, are mixed with
    another run, or found wrong results.
    """
    readings = Readings("nccl-tests", rtt_notes=[_NCCL_NOTE])
    for run in _split_nccl_runs(text, source):
        pairs = list(_read_nccl_run(run, size_bytes))
        fault = _find_nccl_fault(run, size_bytes, has_readings=bool(pairs))
        if fault is None:
            readings.pairs += pairs
        else:
            reason, hint, kind = fault
            readings.left_out.append(SkippedPart(run.place, reason, tuple(run.hosts), hint, kind))
    return readings


def _split_nccl_runs(text: str, source: str) -> Sequence[_NcclRun]:
    runs: list[_NcclRun] = []
    test = ""
    is_open = False
    for line_number, line in enumerate(text.split("\n"), start=1):
        place = f"{source}:{line_number}"
        if match := _NCCL_TEST.match(line):
            test, is_open = match[1], False
        elif _BEGIN.match(line):
            runs.append(_NcclRun(place, test))
            test, is_open = "", True
        elif _TITLE.fullmatch(line.strip()):
            is_open = False
        elif is_open:
            _take_nccl_line(runs[-1], line, place)
    return runs


def _take_nccl_line(run: _NcclRun, line: str, place: str) -> None:
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
        counts = [parse_number(count, place) for count in wrong if count != "N/A"]
        run.wrong = max([run.wrong, *(count for count in counts if count >= 1.0)])
        run.is_mixed |= bool(run.ends)
    elif _LIKE_A_ROW.match(line):
        run.has_damage = True
    elif match := _END.match(line):
        end = match[1] or match[3] or match[4]
        run.is_mixed |= end in run.ends
        run.ends.append(end)
        run.wrong = max(run.wrong, float(match[2] or 0))


def _find_nccl_fault(
    run: _NcclRun, size_bytes: int | None, *, has_readings: bool
) -> tuple[str, str | None, str | None] | None:
    """Return why a run cannot be used (reason, hint, kind of failure), or None if it can."""
    first = next(iter(run.ranks_twice), 0)
    hosts = format_count(len(run.hosts), "host")
    has_size = size_bytes is None or select_bandwidth(run.rows, size_bytes) is not None
    size = format_size(size_bytes or 0)
    faults = (
        (run.ranks_twice, f"is of two processes that have rank {first}", _HINT_ALONE),
        (not run.rows and not run.has_damage, "has no result", None),
        (len(run.hosts) != 2, f"was on {hosts}, not on two", None),
        (run.is_mixed, "has rows or closing lines of another one in it", _HINT_MIXED),
        (run.wrong, f"found wrong results (#wrong {run.wrong:,.0f})", _HINT_WRONG),
        # What is missing may be the fastest size.
        (size_bytes is None and run.has_damage, "has a row that is not understood", None),
        (size_bytes is None and not run.ends, "ended early", None),
        (not has_size, f"has no bandwidth of messages of {size}", None),
        (not has_readings, "has no result", None),
    )
    for is_fault, reason, hint in faults:
        if is_fault:
            return reason, hint, WRONG_RESULTS if hint is _HINT_WRONG else None
    return None


def _read_nccl_run(run: _NcclRun, size_bytes: int | None) -> Iterator[PairReading]:
    # Other tests' times are of more than a message each way.
    rtt_us = select_round_trip_us(run.rows) if "sendrecv" in run.test else None
    fastest = select_bandwidth(run.rows, size_bytes)
    if len(run.hosts) != 2:
        return
    for one, other in (run.hosts, run.hosts[::-1]):
        if rtt_us is not None:
            yield PairReading(one, other, rtt_us=rtt_us)
        if fastest is not None:
            yield PairReading(one, other, gbit_s=fastest.gbit_s, size_bytes=fastest.size_bytes)


_MPIGRAPH_START = "START mpiGraph"
_HINT_MPIGRAPH = (
    "keep all of mpiGraph's output, whose tables come last, and start one task per host"
)


def read_mpigraph(text: str, source: str, size_bytes: int | None = None) -> Readings:
    """Return all pairs' bandwidths in mpiGraph's output; raise if a message size is given."""
    if size_bytes is not None:
        raise WrongUseError(
            f"{source}: mpiGraph has a single message size, so {{size}} cannot select another",
            "mpiGraph measures one message size, which is set when it runs",
            arguments={"size": size_bytes},
        )
    lines = text.split("\n")
    # What the destination received counts; the sender may only have filled buffers.
    for title, word in (("Recv", "from"), ("Send", "to")):
        for index, line in enumerate(lines):
            cells = line.split()
            if cells[:1] == [title] and len(cells) > 1 and ":" in cells[1]:
                place = f"{source}:{index + 1}"
                names = _parse_mpigraph_names(cells[1:], place)
                rows = lines[index + 1 : index + len(cells)]
                pairs = list(_read_mpigraph_rows(names, rows, word, place))
                return Readings("mpiGraph", pairs, hosts=names)
    raise WrongUseError(
        f"{source}: has no table of bandwidths, whose first line begins with Recv or Send",
        _HINT_MPIGRAPH,
    )


def _parse_mpigraph_names(columns: Sequence[str], place: str) -> list[str]:
    if len(columns) > MAX_HOSTS:
        raise WrongUseError(f"{place}: the table has more than {MAX_HOSTS:,} hosts")
    names = []
    for rank, cell in enumerate(columns):
        name, _, number_text = cell.rpartition(":")
        if number_text != str(rank):
            message = f"{place}: {brief(cell)} is not a host with the number {rank}"
            raise WrongUseError(message, _HINT_MPIGRAPH)
        names.append(check_host_name(name, place))
    if len(set(names)) < len(names):
        raise WrongUseError(
            f"{place}: several tasks of mpiGraph ran on one host, expected one on each",
            _HINT_MPIGRAPH,
        )
    return names


def _read_mpigraph_rows(
    names: Sequence[str], rows: Sequence[str], word: str, place: str
) -> Iterator[PairReading]:
    if len(rows) < len(names):
        raise WrongUseError(f"{place}: mpiGraph's table has fewer rows than hosts", _HINT_MPIGRAPH)
    for one, row in enumerate(rows):
        cells = row.split()
        if cells[:2] != [f"{names[one]}:{one}", word] or len(cells) != len(names) + 2:
            message = f"{place}: row {one + 1} of the table does not match its headings"
            raise WrongUseError(message, _HINT_MPIGRAPH)
        for other, cell in enumerate(cells[2:]):
            gbit_s = parse_number(cell, place) * _MEBIBYTE_GBIT
            if other != one:
                source, destination = (other, one) if word == "from" else (one, other)
                yield PairReading(names[source], names[destination], gbit_s=gbit_s)


@dataclass(frozen=True)
class BenchmarkLog:
    """Kind of benchmark log: how to recognise and read one, and a hint on how to record one.

    Args:
        read: returns the readings in a text, given its source and the size of the messages whose
            bandwidth counts, or None.
    """

    is_kind: Callable[[str], bool]
    read: Callable[[str, str, int | None], Readings]
    hint: str


LOGS = (
    BenchmarkLog(lambda text: _MPIGRAPH_START in text[:4096], read_mpigraph, _HINT_MPIGRAPH),
    BenchmarkLog(lambda text: "# OSU " in text, _OSU.read, _OSU.hint),
    BenchmarkLog(
        lambda text: "nThread" in text and "Using devices" in text, read_nccl_tests, _HINT_NCCL
    ),
    BenchmarkLog(
        lambda text: "#bytes" in text and "#iterations" in text, _PERFTEST.read, _PERFTEST.hint
    ),
)
