"""Import of logs of the RDMA perftest programs (ib_read_lat, ib_write_bw, ...) on two hosts each.

They do not print where they ran, so a line `# pair: CLIENT SERVER` stands in front of each: the
server is the one that was started without an address. Latencies of reads are whole round trips,
those of writes and sends half of one; bandwidth goes to the server, but for reads. Columns are
found by their headings: t_typical is the median, MB are 2^20 bytes, Gb are 10^9 bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.formats.units import find_rate_unit
from plink.measure.importing.pairs import (
    Message,
    PairReading,
    Readings,
    SkippedPart,
    build_bandwidth_readings,
    parse_number,
    parse_pair_line,
    parse_title,
    select_round_trip_us,
)

TOOL = "perftest"
HINT = "put a line `# pair: CLIENT SERVER` in front of the output of each run of a client"
_TITLE = re.compile(
    r"(RDMA_Read|RDMA_Write|Send) +(Bidirectional +)?(?:Post List +)?(BW|Latency) +Test"
)
_HEADING = re.compile(r"[ \t]*#bytes[ \t]+#iterations[ \t](.*)")
_RULE = re.compile(r"[ \t]*-{10,}[ \t]*")
_COLUMN = re.compile(r"(?:99(?:\.9+)?% |BW )?[A-Za-z_]+\[[A-Za-z/%]+\]")
# What perftest writes as MB/sec are 2^20 bytes.
_UNITS = {"MB/sec": "MiB/sec"}
_NOTE = "the times are medians of RDMA's round trips, past the kernel"
_HINT_KNOWN = "plink reads ib_read_lat, ib_write_lat, ib_send_lat and the same with bw"
_HINT_DURATION = "run it for a number of iterations (-n 1000) in place of a duration (-D)"


@dataclass
class _TestRun:
    """Run of one perftest program: its hosts, headings and result rows."""

    operation: str
    is_latency: bool
    is_both_ways: bool
    client: str
    server: str
    place: str
    columns: Sequence[str] = ()
    rows: list[Message] = field(default_factory=list)

    @property
    def has_average_alone(self) -> bool:
        """Whether the run's latencies are averages over a duration (-D), without a median."""
        names = {column.partition("[")[0] for column in self.columns}
        return self.is_latency and "t_avg" in names and "t_typical" not in names


def is_perftest(text: str) -> bool:
    """Return whether a text is a log of a perftest program."""
    return "#bytes" in text and "#iterations" in text


def read_perftest(text: str, source: str, size_bytes: int | None = None) -> Readings:
    """Return latencies (of the smallest messages) and bandwidths in a log of perftest.

    Tests that plink does not read are left out and named, and so are latencies without a median.

    Args:
        text: text of the log.
        source: what errors call it.
        size_bytes: size of the messages whose bandwidth counts; None for the greatest of any size.

    Raises:
        WrongUseError: a run without its pair, without rows, or without that size.
    """
    readings = Readings(TOOL, rtt_notes=[_NOTE])
    for run in _runs(text, source, readings.left_out):
        if run.has_average_alone:
            reason = "has an average and no median, as it ran for a duration (-D)"
            ends = (run.client, run.server)
            readings.left_out.append(SkippedPart(run.place, reason, ends, _HINT_DURATION))
        else:
            readings.pairs += _readings(run, size_bytes)
    return readings


def _runs(text: str, source: str, left_out: list[SkippedPart]) -> Sequence[_TestRun]:
    runs: list[_TestRun] = []
    pair: tuple[str, str] | None = None
    is_open = False
    for line_number, line in enumerate(text.split("\n"), start=1):
        place = f"{source}:{line_number}"
        if named := parse_pair_line(line, place, HINT):
            pair, is_open = named, False
        elif title := parse_title(line):
            is_open = False
            if match := _TITLE.fullmatch(title):
                if pair is None:
                    raise WrongUseError(
                        f"{place}: no line names the two hosts of this perftest run", HINT
                    )
                runs.append(_TestRun(match[1], match[3] == "Latency", bool(match[2]), *pair, place))
                is_open = True
            elif title.endswith(("BW Test", "Latency Test")) and not title.startswith("#"):
                reason = f"is perftest's {brief(title)}, which plink does not read"
                left_out.append(SkippedPart(place, reason, pair or (), _HINT_KNOWN))
        elif is_open and (match := _HEADING.fullmatch(line)):
            runs[-1].columns = _COLUMN.findall(match[1])
        elif is_open and runs[-1].columns and line.strip()[:1].isdigit():
            if runs[-1].has_average_alone:
                continue
            runs[-1].rows.append(_row(runs[-1], line.split(), place))
        elif is_open and runs[-1].rows and _RULE.fullmatch(line):
            is_open = False
    return runs


def _row(run: _TestRun, cells: Sequence[str], place: str) -> Message:
    wanted = "t_typical[" if run.is_latency else "BW average["
    at = next((i for i, name in enumerate(run.columns) if name.startswith(wanted)), None)
    if at is None or len(cells) < len(run.columns) + 2:
        raise WrongUseError(f"{place}: the line has no {wanted.rstrip('[')}", "keep the headings")
    size_bytes, value = int(parse_number(cells[0], place)), parse_number(cells[at + 2], place)
    if run.is_latency:
        return Message(size_bytes, time_us=value)
    named = run.columns[at].partition("[")[2].rstrip("]")
    unit = find_rate_unit(_UNITS.get(named, named))
    if unit is None:
        raise WrongUseError(f"{place}: bandwidths are in {named[:20]}, expected MB/sec or Gb/sec")
    return Message(size_bytes, gbit_s=unit.to_gbit_s(value) / (2.0 if run.is_both_ways else 1.0))


def _readings(run: _TestRun, size_bytes: int | None) -> Iterator[PairReading]:
    if not run.rows:
        raise WrongUseError(f"{run.place}: this run has no result")
    if run.is_latency:
        ways = 1.0 if run.operation == "RDMA_Read" else 2.0
        yield PairReading(run.client, run.server, rtt_us=select_round_trip_us(run.rows, ways))
        return
    ends = [(run.client, run.server), (run.server, run.client)]
    if run.operation == "RDMA_Read":
        ends.reverse()
    directions = ends if run.is_both_ways else ends[:1]
    yield from build_bandwidth_readings(run.rows, directions, size_bytes, run.place)
