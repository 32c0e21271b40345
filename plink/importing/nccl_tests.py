"""Logs of NVIDIA's nccl-tests, each run on two hosts (NVIDIA/nccl-tests, doc/PERFORMANCE.md).

The log says which hosts its ranks are on. Of a row count the out-of-place columns: the bus
bandwidth, in 10^9 bytes a second, is what a direction of the link carried; the time of
sendrecv_perf is that of one message each way at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from plink.errors import WrongUseError
from plink.files.cluster import Cluster
from plink.importing.pairs import PairReading, checked_name, cluster_of, number, text_of

TOOL = "nccl-tests"
_GBIT_PER_GB = 8.0
# Columns from the right: time, algbw, busbw, wrong, out of place and in place.
_TIME, _BUS_BANDWIDTH = -8, -6
_FEWEST_COLUMNS = 10
_BEGIN = re.compile(r"#\s*nThread\b")
_TEST = re.compile(r"#\s*Collective test starting:\s*(\S+)")
_RANK = re.compile(r"#\s+Rank\s+[0-9]+\s.*\bon\s+(\S+)\s+device\s")
_NOTE = "the times are twice those of NCCL's least messages, starting of kernels included"


@dataclass
class _Run:
    place: str
    test: str
    hosts: list[str] = field(default_factory=list)
    # Size in bytes, time in µs, bus bandwidth in 10^9 bytes a second.
    rows: list[tuple[float, float, float]] = field(default_factory=list)


def is_nccl_tests(content: bytes) -> bool:
    """Whether a file is a log of nccl-tests."""
    return b"# nThread" in content and b"# Using devices" in content


def import_nccl_tests(content: bytes, source: str, percentile: float) -> Cluster:
    """The greatest bandwidths, and times of sendrecv_perf's least size.

    Raises:
        WrongUseError: a run on more or fewer than two hosts, or without rows.
    """
    readings = [
        reading for run in _runs(text_of(content, source), source) for reading in _readings(run)
    ]
    notes = [_NOTE] if any(reading.rtt_us is not None for reading in readings) else []
    return cluster_of(readings, source, tool=TOOL, percentile=percentile, notes=notes)


def _runs(text: str, source: str) -> Sequence[_Run]:
    runs: list[_Run] = []
    test = ""
    for line_number, line in enumerate(text.split("\n"), start=1):
        place = f"{source}:{line_number}"
        if found := _TEST.match(line):
            test = found[1]
        elif _BEGIN.match(line):
            runs.append(_Run(place, test))
            test = ""
        elif not runs:
            continue
        elif found := _RANK.match(line):
            host = checked_name(found[1], place)
            if host not in runs[-1].hosts:
                runs[-1].hosts.append(host)
        elif line.strip()[:1].isdigit():
            cells = line.split()
            if len(cells) >= _FEWEST_COLUMNS:
                values = (cells[0], cells[_TIME], cells[_BUS_BANDWIDTH])
                size_bytes, time_us, gbyte_s = (number(cell, place) for cell in values)
                runs[-1].rows.append((size_bytes, time_us, gbyte_s))
    return runs


def _readings(run: _Run) -> Iterator[PairReading]:
    if len(run.hosts) != 2:
        raise WrongUseError(
            f"{run.place}: this run was on {len(run.hosts)} hosts", "run it on two hosts at a time"
        )
    if not run.rows:
        raise WrongUseError(f"{run.place}: this run has no result")
    _, time_us, _ = min(run.rows)
    rtt_us = 2.0 * time_us if "sendrecv" in run.test else None
    gbit_s = max(gbyte_s for _, _, gbyte_s in run.rows) * _GBIT_PER_GB
    for one, other in (run.hosts, reversed(run.hosts)):
        yield PairReading(one, other, rtt_us=rtt_us, gbit_s=gbit_s)
