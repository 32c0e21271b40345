"""Formatting of values for people: times, rates, sizes, shares and names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

_MAX_SHOWN = 40


def rtt_text(rtt_us: float) -> str:
    """Format a time in µs with three digits, in a suitable unit: `22.1 µs`, `380 ms`."""
    return _three_digits(rtt_us * 1000.0, "ns", "µs", "ms", "s")


def seconds_text(seconds: float) -> str:
    """Format a time in s with three digits, in a suitable unit: `22.1 µs`, `380 ms`."""
    return rtt_text(seconds * 1e6)


def _three_digits(value: float, unit: str, *larger_units: str) -> str:
    """Return a number with three digits, in the smallest unit in which it is below 1,000."""
    for larger in larger_units:
        if value < 999.5:
            break
        value, unit = value / 1000.0, larger
    decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{decimals}f} {unit}"


def range_text(low_us: float, high_us: float | None) -> str:
    """Format a range of times in µs: `1.20 to 3.40 ms`, `up to 9.00 µs`, `80.0 µs or more`.

    Args:
        low_us, high_us: in µs, not negative; None for no upper limit.
    """
    low = rtt_text(low_us)
    if high_us is None:
        return f"{low} or more" if low_us else "not known"
    high = rtt_text(high_us)
    if not low_us and high_us:
        return f"up to {high}"
    if low == high:
        return low
    number, unit = low.split()
    return f"{number if high.endswith(f' {unit}') else low} to {high}"


def bandwidth_text(gbit_s: float) -> str:
    """Format a bandwidth in Gbit/s with three digits: `382 Mbit/s`, `9.41 Gbit/s`."""
    if gbit_s >= 0.9995:
        return _three_digits(gbit_s, "Gbit/s")
    return _three_digits(gbit_s * 1000.0, "Mbit/s")


def bytes_text(size_bytes: float) -> str:
    """Format a number of bytes with three digits, in a suitable unit: `37.5 MB`."""
    if size_bytes < 999.5:
        return f"{size_bytes:.0f} B"
    return _three_digits(size_bytes / 1000.0, "KB", "MB", "GB", "TB")


def probability_text(probability: float) -> str:
    """Format a probability (0 to 1) in percent, at most `> 99.9 %`: never shown as certain."""
    return "> 99.9 %" if probability >= 0.999 else f"{100.0 * probability:.1f} %"


def share_text(share: float) -> str:
    """Format a share (0 to 1) in percent: `3.2 %`; `0 %` only for exactly 0."""
    percent = 100.0 * share
    if percent >= 999.5:
        return f"{share:,.0f} times"
    if 0.0 < percent < 0.01:
        return "< 0.01 %"
    decimals = 0 if percent >= 9.95 or percent == 0.0 else 1 if percent >= 0.95 else 2
    return f"{percent:.{decimals}f} %"


def format_count(count: int, singular: str) -> str:
    """Return a number with its noun in singular or plural: `1 host`, `12,345 pairs`."""
    return f"{count:,} {singular}" if count == 1 else f"{count:,} {singular}s"


# A message writes out so many of a list, and counts the others.
MOST_NAMED = 3


def format_names(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return names as text, at most `most` of them in full: `n01, n02, n03 and 3 others`."""
    shown, rest = ", ".join(names[:most]), len(names) - most
    return f"{shown} and {format_count(rest, 'other')}" if rest > 0 else shown


def join_texts(texts: Sequence[str], word: str) -> str:
    """Return texts joined by commas, with a word before the last: `flat, ring or tree`."""
    *first, last = texts
    return f"{', '.join(first)} {word} {last}" if first else last


def printable(text: str) -> str:
    """Return `text` without control characters, which could steer a terminal."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def json_text(value: Any, *, allow_nan: bool = True) -> str:
    """Return `value` as JSON on one line, with control characters escaped.

    Raises:
        ValueError: it has NaN or infinities, and `allow_nan` is false.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=allow_nan)
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else json.dumps(letter)[1:-1] for letter in text)


def options_text(options: Mapping[str, Any]) -> str:
    """Format a mapping of options on one line: `count 1000, timeout_s 1.5`."""
    return printable(", ".join(f"{name} {value}" for name, value in options.items()))


def parse_time(iso: str) -> datetime | None:
    """Return an ISO 8601 time, in UTC if it names a zone; None for any other text."""
    try:
        # Python 3.10 does not read the `Z`.
        moment = datetime.fromisoformat(iso.replace("Z", "+00:00"))
        return moment if moment.tzinfo is None else moment.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def time_text(iso: str) -> str:
    """Format an ISO 8601 time in UTC for people; return any other text unchanged."""
    moment = parse_time(iso)
    if moment is None:
        return printable(iso)
    zone = "" if moment.tzinfo is None else " UTC"
    return f"{moment:%Y-%m-%d %H:%M:%S}{zone}"


def brief(value: Any) -> str:
    """Return a value from an untrusted file as a short printable text for a message."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."
