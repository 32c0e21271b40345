"""Sizes and rates as people write them: `20MB`, `4KiB`, `1024`; `10gbit`, `1.6 Gbit/s`."""

from __future__ import annotations

import re

from plink.base.errors import WrongUseError

_UNITS = {
    "": 1,
    "B": 1,
    **dict.fromkeys(("K", "KB"), 10**3),
    **dict.fromkeys(("M", "MB"), 10**6),
    **dict.fromkeys(("G", "GB"), 10**9),
    **dict.fromkeys(("KI", "KIB"), 2**10),
    **dict.fromkeys(("MI", "MIB"), 2**20),
    **dict.fromkeys(("GI", "GIB"), 2**30),
}
# Buffer that is predicted and planned for where no size is given, in bytes and as text.
DEFAULT_SIZE_BYTES = 100_000_000
DEFAULT_SIZE = "100MB"

_HINT = "write a size as 20MB, 4KiB or 1024"
_PATTERN = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]*)", re.ASCII)

# As rates have it; of 20mb the case says nothing.
_BITS = re.compile(r"[KMG]i?b")

_RATE_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_RATE_PATTERN = re.compile(
    r"(\d{1,12}(?:\.\d{1,9})?)\s*([kmgt])bit(?:/s)?", re.ASCII | re.IGNORECASE
)
_MOST_BITS_S = 10**15


def parse_size(text: str) -> int:
    """Parse a size to bytes: M and MB are 10^6, MiB is 2^20, a number without unit is bytes.

    Mb, a megabit, is refused.

    Raises:
        WrongUseError: not a size, or not a whole number of bytes above 0.
    """
    match = _PATTERN.fullmatch(text.strip())
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise WrongUseError(f"{text!r} is not a size", _HINT)
    if _BITS.fullmatch(match[2]):
        raise WrongUseError(f"{text!r} is not a size in bytes: a small b is a bit", _HINT)
    whole, _, fraction = match[1].partition(".")
    # Integer arithmetic: a float would turn 0.3GB into 299999999 bytes.
    scaled = int(whole + fraction) * unit
    divisor = int(10 ** len(fraction))
    size_bytes, rest = divmod(scaled, divisor)
    if rest or size_bytes == 0:
        raise WrongUseError(f"{text!r} is not a whole number of bytes above 0", _HINT)
    return size_bytes


def format_size(size_bytes: int) -> str:
    """Return the shortest exact text for a number of bytes: `20 MB`, `4 KiB`, `1025 B`."""
    for unit in ("GB", "GiB", "MB", "MiB", "KB", "KiB"):
        if size_bytes and size_bytes % _UNITS[unit.upper()] == 0:
            return f"{size_bytes // _UNITS[unit.upper()]} {unit}"
    return f"{size_bytes} B"


def parse_rate(text: str) -> float:
    """Parse a rate, such as `10gbit` or `1.6 Gbit/s`, to bit/s.

    Raises:
        WrongUseError: not a rate, or not above 0 and at most 1000 Tbit/s.
    """
    match = _RATE_PATTERN.fullmatch(text.strip())
    rate_bits_s = float(match[1]) * _RATE_UNITS[match[2].lower()] if match else 0.0
    if not 0.0 < rate_bits_s <= _MOST_BITS_S:
        raise WrongUseError(f"{text!r} is not a rate", "write a rate as 10gbit or 400mbit")
    return rate_bits_s
