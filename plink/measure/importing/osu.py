"""Import of logs of OSU's osu_latency, osu_bw and osu_bibw on two hosts each.

OSU micro-benchmarks do not print where they ran, so a line `# pair: A B` (rank 0, rank 1) stands
in front of each. osu_latency prints half of a round trip (README, `osu_latency`), osu_bw what rank
0 sends to rank 1, osu_bibw the sum of both directions; its MB are 10^6 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from plink.base.errors import WrongUseError
from plink.base.text import brief
from plink.formats.measurements import WRONG_RESULTS
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

TOOL = "osu"
HINT = "put a line `# pair: HOST0 HOST1` in front of the output of each run"
_GBIT_PER_MB = 8e6 / 1e9
_TITLE = re.compile(r"#[ \t]*OSU[ \t]+(\S.*)")
_OF_MPI = re.compile(r"MPI(?:-\w+)?")
_KINDS = {
    "latency": "latency",
    "bandwidth": "bandwidth",
    "bi-directional bandwidth": "both",
    "bidirectional bandwidth": "both",
}
_NOTE = "the times are twice the latencies that OSU averaged over many messages"
_HINT_KNOWN = "plink reads osu_latency, osu_bw and osu_bibw"
_HINT_WRONG = "look at NICs, cables and memory of the two hosts, and run the test again"


@dataclass
class _OsuRun:
    """Run of one benchmark: the quantity, the two hosts, and the result rows.

    `wrong` is the number of sizes whose validation failed (`-c`).
    """

    kind: str
    source: str
    destination: str
    place: str
    rows: list[Message] = field(default_factory=list)
    wrong: int = 0


def is_osu(text: str) -> bool:
    """Return whether a text is a log of OSU's benchmarks."""
    return "# OSU " in text


def read_osu(text: str, source: str, size_bytes: int | None = None) -> Readings:
    """Return latencies (of the smallest messages) and bandwidths in a log of OSU's benchmarks.

    Tests that plink does not read are left out and named, and so are runs with wrong results.

    Args:
        text: text of the log.
        source: what errors call it.
        size_bytes: size of the messages whose bandwidth counts; None for the greatest of any size.

    Raises:
        WrongUseError: a run without its pair, without rows, or without that size.
    """
    readings = Readings(TOOL, rtt_notes=[_NOTE])
    for run in _runs(text, source, readings.left_out):
        if run.wrong:
            reason = "failed its validation: wrong results arrived"
            ends = (run.source, run.destination)
            readings.left_out.append(
                SkippedPart(run.place, reason, ends, _HINT_WRONG, WRONG_RESULTS)
            )
        else:
            readings.pairs += _readings(run, size_bytes)
    return readings


def _runs(text: str, source: str, left_out: list[SkippedPart]) -> Sequence[_OsuRun]:
    runs: list[_OsuRun] = []
    pair: tuple[str, str] | None = None
    is_open = False
    for line_number, line in enumerate(text.split("\n"), start=1):
        place = f"{source}:{line_number}"
        if named := parse_pair_line(line, place, HINT):
            pair, is_open = named, False
        elif title := parse_title(line):
            is_open = False
            if (match := _TITLE.fullmatch(title)) is None:
                continue
            family, _, name = match[1].partition(" Test")[0].partition(" ")
            kind = _KINDS.get(name.strip().lower()) if _OF_MPI.fullmatch(family) else None
            if kind is None:
                test = brief(f"{family} {name}".strip())
                reason = f"is OSU's {test} test, which plink does not read"
                left_out.append(SkippedPart(place, reason, pair or (), _HINT_KNOWN))
                continue
            if pair is None:
                raise WrongUseError(f"{place}: no line names the two hosts of this OSU run", HINT)
            runs.append(_OsuRun(kind, *pair, place))
            is_open = True
        elif is_open and line[:1].isdigit():
            _take(runs[-1], line.split(), place)
    return runs


def _take(run: _OsuRun, cells: Sequence[str], place: str) -> None:
    if len(cells) < 2:
        raise WrongUseError(f"{place}: the line is cut short")
    size_bytes, value = int(parse_number(cells[0], place)), parse_number(cells[1], place)
    if run.kind == "latency":
        run.rows.append(Message(size_bytes, time_us=value))
    else:
        each_way = value / 2.0 if run.kind == "both" else value
        run.rows.append(Message(size_bytes, gbit_s=each_way * _GBIT_PER_MB))
    run.wrong += cells[-1].lower() == "fail"


def _readings(run: _OsuRun, size_bytes: int | None) -> Iterator[PairReading]:
    if not run.rows:
        raise WrongUseError(f"{run.place}: this run has no result")
    if run.kind == "latency":
        yield PairReading(run.source, run.destination, rtt_us=select_round_trip_us(run.rows))
        return
    ends = [(run.source, run.destination), (run.destination, run.source)]
    directions = ends if run.kind == "both" else ends[:1]
    yield from build_bandwidth_readings(run.rows, directions, size_bytes, run.place)
