"""Constrained types of values, such as names and numbers, that several file formats share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from plink.plans.names import COLLECTIVES

MAX_NAME_LENGTH = 255
MAX_PORT = 65_535
MAX_INT = (1 << 63) - 1
MAX_SECONDS = 1e9
MAX_HOSTS = 65_536
MAX_SLOTS = 1 << 16
MAX_RTT_US = 60e6
MAX_COST_US = 1e15
MAX_GBIT_S = 1e6
# Less than a bit a second is a transfer that failed.
LEAST_MEASURED_GBIT_S = 1e-9

# White space, and what steers a terminal or does not show there.
_NO_INK = (
    r"\s\u0000-\u001f\u007f-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
)
# `$` of Python also matches before a line feed at the end.
_END = r"$(?!\n)"
_WORD = f"^[^{_NO_INK}-][^{_NO_INK}]*{_END}"
_NAME = "[A-Za-z0-9_.][A-Za-z0-9_.-]*"
_USER = f"^[A-Za-z0-9_.][A-Za-z0-9_.+@-]{{0,63}}{_END}"
_IPV6 = "[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*(%[A-Za-z0-9_.-]+)?"
_ADDRESS = f"^({_NAME}|{_IPV6}){_END}"
_NAMESPACE = f"^[A-Za-z0-9][A-Za-z0-9_.-]{{0,63}}{_END}"

WORD_EXPECTED = "a word: at most 255 printable characters, no space, no minus in front"

# What a pattern expects, in words.
EXPECTED: dict[str, str] = {}


class Complete(Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of structs whose members must all be in a file, even those with defaults."""


def constrain_to_pattern(pattern: str, expected: str, **limits: Any) -> Meta:
    """Return a msgspec constraint: a text matches a pattern; errors name what is `expected`."""
    EXPECTED[pattern] = expected
    return Meta(pattern=pattern, **limits)


def constrain_to_words(*words: str) -> Meta:
    """Return a msgspec constraint: a text is one of some words."""
    pattern = f"^({'|'.join(words)}){_END}"
    return constrain_to_pattern(
        pattern, f"one of {', '.join(words)}", extra_json_schema={"enum": list(words)}
    )


# A name that is harmless in a host list, a launcher's file or a command.
Word = Annotated[
    str, constrain_to_pattern(_WORD, WORD_EXPECTED, min_length=1, max_length=MAX_NAME_LENGTH)
]
# A host's name or address. The readers ask `plink.formats.host_names`, which gives the reason.
HostName = Annotated[
    str, Meta(min_length=1, max_length=MAX_NAME_LENGTH, extra_json_schema={"pattern": _ADDRESS})
]
User = Annotated[str, constrain_to_pattern(_USER, "the name of a user")]
# A service of the hub.
Namespace = Annotated[
    str,
    constrain_to_pattern(
        _NAMESPACE, "a namespace: letters, digits, _, . and -, 64 at most", min_length=1
    ),
]
Text = Annotated[str, Meta(min_length=1)]


# A name of `plink.plans.names`.
Collective = Annotated[str, constrain_to_words(*COLLECTIVES)]

Port = Annotated[int, Meta(ge=1, le=MAX_PORT)]
Slots = Annotated[int, Meta(ge=1, le=MAX_SLOTS)]
Count = Annotated[int, Meta(ge=0, le=MAX_INT)]
Bytes = Annotated[int, Meta(ge=0, le=MAX_INT)]
BufferBytes = Annotated[int, Meta(ge=1, le=MAX_INT)]
Seconds = Annotated[float, Meta(ge=0, le=MAX_SECONDS)]
RttUs = Annotated[float, Meta(ge=0, le=MAX_RTT_US)]
CostUs = Annotated[float, Meta(ge=0, le=MAX_COST_US)]
GbitPerSecond = Annotated[float, Meta(ge=0, le=MAX_GBIT_S)]
Share = Annotated[float, Meta(ge=0, le=1)]
# Numbers that are only printed, so that nothing limits them from above.
Whole = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Amount = Annotated[float, Meta(ge=0)]

_is_word = re.compile(_WORD).search
# Half characters, as the command line has bytes that are no text: no file can hold them.
_half = re.compile("[\ud800-\udfff]").search


def is_word(value: str) -> bool:
    """Return whether a text is a word: 1 to 255 printable characters, no space, no minus first."""
    return 0 < len(value) <= MAX_NAME_LENGTH and _is_word(value) is not None and not _half(value)


def check_settings(settings: Mapping[str, Any], name: str) -> None:
    """Raise ValueError if recorded options hold a value that JSON cannot represent."""
    try:
        json.dumps(settings, allow_nan=False)
    except (TypeError, ValueError):  # TypeError: a matrix of the binary form
        raise ValueError(
            f"{name} must hold only finite numbers, texts, lists and objects"
        ) from None


def find_repeated(values: Iterable[str]) -> str | None:
    """Return the first value that occurs a second time, or None."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
