"""Rates of links as people write them: `10gbit`, `400mbit`, `1.6 Gbit/s`."""

from __future__ import annotations

import re

from plink.base.errors import WrongUseError

_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_PATTERN = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*([kmgt])bit(?:/s)?", re.ASCII | re.IGNORECASE)
_MOST_BITS_S = 10**15


def parse_rate(text: str) -> float:
    """Return a rate given as text in bit/s.

    Raises:
        WrongUseError: not a rate, or not above 0 and at most 1000 Tbit/s.
    """
    match = _PATTERN.fullmatch(text.strip())
    rate_bits_s = float(match[1]) * _UNITS[match[2].lower()] if match else 0.0
    if not 0.0 < rate_bits_s <= _MOST_BITS_S:
        raise WrongUseError(f"{text!r} is not a rate", "write a rate as 10gbit or 400mbit")
    return rate_bits_s
