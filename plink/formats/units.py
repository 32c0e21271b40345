"""Find units of bandwidth and time in text, as Gbps, MiB/s, (ms), rtt_us; convert to Gbit/s, µs.

A small `b` is a bit and a large `B` a byte. Spellings in which the letter's size says nothing, as
everything around it has the same (GBPS, gb/s), are ambiguous; `gbps` and `mbps` are bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from plink.base.errors import WrongUseError
from plink.base.text import brief

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LONG = {"kilo": "k", "mega": "m", "giga": "g", "tera": "t"}
_LONG_BINARY = {"kibi": "k", "mebi": "m", "gibi": "g", "tebi": "t"}
# Where a unit begins: not within a word, but in `bandwidthGbps`.
_BEGIN = r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))"
_END = r"(?![A-Za-z])"
_LONG_PREFIX = "|".join((*_LONG, *_LONG_BINARY))
_RATE = re.compile(
    rf"{_BEGIN}(?P<prefix>(?i:{_LONG_PREFIX})|[kKmMgGtT][iI]?)?[ ]?"
    r"(?P<base>(?i:bits?|bytes?)|[bB])"
    r"(?P<per>ps|PS|Ps|(?:[ ]?/[ ]?|_|_?(?i:per)[_ ]?|[ ](?i:per)[ ])(?i:seconds?|secs?|s))"
    rf"{_END}"
)
# Which power of ten of a microsecond a unit is.
TIMES = {"ns": -3, "us": 0, "ms": 3, "s": 6}
_TIME_SPELLINGS = {
    "ns": "ns nsec nsecs nanosec nanosecs nanosecond nanoseconds nanos",
    "us": "us usec usecs microsec microsecs microsecond microseconds micros "
    "\N{GREEK SMALL LETTER MU}s \N{GREEK SMALL LETTER MU}sec",
    "ms": "ms msec msecs millisec millisecs millisecond milliseconds millis",
    "s": "s sec secs second seconds",
}
_TIME_WORDS = {word: unit for unit, words in _TIME_SPELLINGS.items() for word in words.split()}
_TIME = re.compile(
    rf"(?:^|(?<=[\s_(\[,:/]))(?P<unit>{'|'.join(sorted(_TIME_WORDS, key=len, reverse=True))})"
    r"(?=$|[\s_)\],:])"
)
_QUANTITY = re.compile(r"([0-9][0-9.]{0,40}(?:[eE][+-]?[0-9]{1,3})?)(?:[ ]?([^\s0-9].{0,40}))?")


@dataclass(frozen=True)
class RateUnit:
    """Unit of bandwidth, with its factor to Gbit/s.

    Args:
        name: as plink writes it: `Gbit/s`, `GB/s`, `MiB/s`.
        bits_s: how many bits a second one of it is.
    """

    name: str
    bits_s: float

    def to_gbit_s(self, value: float) -> float:
        """Convert a number in this unit to Gbit/s."""
        return value * self.bits_s / 1e9


@dataclass(frozen=True)
class TimeUnit:
    """Unit of time: its name (`TIMES`) and its power of ten relative to 1 µs."""

    name: str
    exponent: int

    def to_us(self, number: str) -> float:
        """Convert the text of a number in this unit to µs, rounding once."""
        mantissa, _, exponent = number.lower().partition("e")
        return float(f"{mantissa}e{int(exponent or 0) + self.exponent}")


class AmbiguousUnitError(WrongUseError):
    """Error that the spelling of a unit, such as `Mb`, may mean two units.

    Args:
        text: what was read.
        names: the units that it may mean.
    """

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        meant = " or ".join(names)
        super().__init__(
            f"the unit in {brief(text)} may be {meant}", f"write it as {names[0]} or as {names[-1]}"
        )
        self.names = names


def find_rate_unit(text: str) -> RateUnit | None:
    """Return the unit of bandwidth in a heading or after a number; None if there is none.

    Raises:
        AmbiguousUnitError: it may mean bits and bytes, or there are several units.
    """
    found: dict[str, RateUnit] = {}
    for match in _RATE.finditer(text):
        for unit in _meanings(match):
            found[unit.name] = unit
    if len(found) > 1:
        raise AmbiguousUnitError(text, tuple(found))
    return next(iter(found.values()), None)


def find_time_unit(text: str) -> TimeUnit | None:
    """Return the unit of time in a heading or after a number; None if there is none.

    Raises:
        AmbiguousUnitError: there are several.
    """
    names = {
        _TIME_WORDS[match["unit"]]: None
        for match in _TIME.finditer(_fold_case(_RATE.sub(";", text)))
    }
    if len(names) > 1:
        raise AmbiguousUnitError(text, tuple(names))
    return next((TimeUnit(name, TIMES[name]) for name in names), None)


def find_time_unit_by_name(text: str) -> str | None:
    """Return the unit of time (`TIMES`) that `text` names, or None."""
    return _TIME_WORDS.get(_fold_case(text))


def split_quantity(cell: str) -> tuple[str, str] | None:
    """Split a cell such as `9.41 Gbits/sec` into number and unit; None without a number."""
    found = _QUANTITY.fullmatch(cell.strip())
    return None if found is None else (found[1], (found[2] or "").strip())


def _fold_case(text: str) -> str:
    # Folding makes the micro sign the Greek letter; `us` after a dash is a region, not a unit.
    return text.strip().casefold()


def _meanings(match: re.Match[str]) -> list[RateUnit]:
    prefix, base, per = match["prefix"] or "", match["base"], match["per"]
    is_binary = prefix.lower() in _LONG_BINARY or (len(prefix) == 2 and prefix[1] in "iI")
    letter = (_LONG | _LONG_BINARY).get(prefix.lower(), prefix[:1].lower())
    if len(base) > 1:
        return [_unit(letter, is_binary=is_binary, is_byte=base.lower().startswith("byte"))]
    # `bps` is bits however small; else a letter tells if another one around it has another size.
    letters = "".join(each for each in f"{prefix}{base}{per}" if each.isalpha())
    is_telling = (not letters.isupper() and not letters.islower()) or letters.endswith("bps")
    kinds = [base == "B"] if is_telling else [False, True]
    return [_unit(letter, is_binary=is_binary, is_byte=is_byte) for is_byte in kinds]


def _unit(letter: str, *, is_binary: bool, is_byte: bool) -> RateUnit:
    power = _POWERS[letter]
    factor = float(1024**power if is_binary else 1000**power)
    shown = letter.upper() if is_binary or letter not in ("", "k") else letter
    name = f"{shown}{'i' if is_binary else ''}{'B' if is_byte else 'bit'}/s"
    return RateUnit(name, factor * (8.0 if is_byte else 1.0))
