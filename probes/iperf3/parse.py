"""Parser of the output of iperf3 since version 3.1. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from plink.probes.errors import clean

Version = tuple[int, int]

_VERSION = re.compile(r"iperf (\d{1,4})\.(\d{1,4})")
_MAX_GBIT_S = 1e6
_MAX_RETRANSMITS = 1e15
# Intervals as iperf3 tells them are a few ms longer or shorter than asked for.
_TOLERANCE_S = 0.01


@dataclass(frozen=True)
class Interval:
    """Bytes received in an interval of an iperf3 test, in seconds from the test's start."""

    start_s: float
    end_s: float
    received_bytes: float


@dataclass(frozen=True)
class TransferReport:
    """Result of an iperf3 test as its receiver saw it: bytes by interval, TCP retransmits.

    Args:
        retransmits: TCP segments that the sender sent again; None where unknown.
        cpu_percent: share of a processor that the sender and the receiver used; 0 if unknown.
    """

    intervals: Sequence[Interval]
    retransmits: int | None
    cpu_percent: tuple[float, float] = (0.0, 0.0)


def parse_version(output: str) -> Version | None:
    """Return the version in the output of `iperf3 --version`, such as (3, 12); None without one."""
    match = _VERSION.match(output.lstrip())
    return None if match is None else (int(match[1]), int(match[2]))


def parse_report(output: str) -> TransferReport | str:
    """Parse the output of `iperf3 -c ADDRESS -R -J` (the client receives); return an error as text.

    Older versions differ in what is at the end; the intervals are the same in all of them.
    """
    start = output.find("{")
    try:
        data = json.loads(output[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        last = output.strip().splitlines()[-1:] or ["nothing"]
        return clean(f"said {last[0]}")
    if data.get("error"):
        return clean(str(data["error"]))
    items = data.get("intervals")
    intervals = [_parse_interval(item) for item in items] if isinstance(items, list) else []
    known = [interval for interval in intervals if interval is not None]
    # Intervals do not overlap.
    do_follow = all(
        after.start_s >= before.end_s - _TOLERANCE_S for before, after in pairwise(known)
    )
    if not known or len(known) < len(intervals) or not do_follow:
        return "gave no readable report"
    end = _get_object(data, "end")
    retransmits = _to_number(_get_object(end, "sum_sent").get("retransmits"))
    if retransmits is not None:
        retransmits = int(retransmits) if retransmits <= _MAX_RETRANSMITS else None
    used = _get_object(end, "cpu_utilization_percent")
    percent = _to_number(used.get("remote_total")) or 0.0, _to_number(used.get("host_total")) or 0.0
    return TransferReport(known, retransmits, percent)


def _get_object(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def compute_received_gbit_s(report: TransferReport, start_s: float) -> float | None:
    """Return the rate in Gbit/s from `start_s` seconds into a test; None without an interval."""
    inside = [part for part in report.intervals if part.start_s >= start_s - _TOLERANCE_S]
    if not inside:
        return None
    received_bytes = sum(interval.received_bytes for interval in inside)
    gbit_s = received_bytes * 8 / 1e9 / sum(part.end_s - part.start_s for part in inside)
    return gbit_s if gbit_s <= _MAX_GBIT_S else None


def compute_received_between_gbit_s(
    report: TransferReport, start_s: float, end_s: float
) -> float | None:
    """Return the rate in Gbit/s between two times; None if the test did not last so long.

    Intervals that lie in there partly count in part.
    """
    if not report.intervals[0].start_s <= start_s < end_s <= report.intervals[-1].end_s:
        return None
    received_bytes = sum(
        part.received_bytes
        * max(0.0, min(part.end_s, end_s) - max(part.start_s, start_s))
        / (part.end_s - part.start_s)
        for part in report.intervals
    )
    gbit_s = received_bytes * 8 / 1e9 / (end_s - start_s)
    return gbit_s if gbit_s <= _MAX_GBIT_S else None


def _parse_interval(item: Any) -> Interval | None:
    summary = item.get("sum") if isinstance(item, dict) else None
    if not isinstance(summary, dict):
        return None
    start_s, end_s, received = (_to_number(summary.get(name)) for name in ("start", "end", "bytes"))
    if start_s is None or end_s is None or received is None or end_s <= start_s:
        return None
    return Interval(start_s, end_s, received)


def _to_number(value: Any) -> float | None:
    """Return a JSON number as float if it is finite and not negative; else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0.0 else None
