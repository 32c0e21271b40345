"""Link rates: `400mbit` and whole bits per second."""

from __future__ import annotations

import re

from labkit.errors import WrongUseError

UNITS = {"bit": 1, "kbit": 1_000, "mbit": 1_000_000, "gbit": 1_000_000_000}
MIN_RATE_BITS = 8_000
MAX_RATE_BITS = 1_000_000_000_000
UNSHAPED = "none"

# Below the size of a GSO packet (64 kB) the kernel cuts every packet to the MTU, and the lab
# becomes bound by the CPU.
MIN_BURST_BYTES = 256 * 1024
BURST_SECONDS = 0.001

_RATE = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([kmg]?bit)", re.ASCII)


def parse_rate(text: str) -> int | None:
    """Read a rate such as `400mbit` or `1.5gbit`, in bit/s; None for `none` (unshaped).

    Raises:
        WrongUseError: not a rate, or outside 8 kbit/s to 1 Tbit/s.
    """
    folded = text.strip().lower()
    if folded == UNSHAPED:
        return None
    match = _RATE.fullmatch(folded)
    if match is None:
        raise WrongUseError(f"{text!r} is not a rate", "write 400mbit, 1.5gbit, 64kbit or none")
    rate_bits = round(float(match[1]) * UNITS[match[2]])
    if not MIN_RATE_BITS <= rate_bits <= MAX_RATE_BITS:
        raise WrongUseError(f"rate {text!r} is not between 8kbit and 1000gbit")
    return rate_bits


def format_rate(rate_bits: int | None) -> str:
    """Write a rate in the largest unit that keeps it whole; `parse_rate` reads it back."""
    if rate_bits is None:
        return UNSHAPED
    for unit in ("gbit", "mbit", "kbit"):
        if rate_bits % UNITS[unit] == 0:
            return f"{rate_bits // UNITS[unit]}{unit}"
    return f"{rate_bits}bit"


def burst_bytes(rate_bits: int) -> int:
    """How much a token bucket of this rate lets through at once, in bytes."""
    return max(MIN_BURST_BYTES, round(rate_bits / 8 * BURST_SECONDS))
