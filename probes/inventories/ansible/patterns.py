"""Expansion of ranges in Ansible host names: `www[01:50].example.com`, `n[1:9:2]`. Pure.

Ansible documentation, "Adding ranges of hosts": both ends belong to the range, a leading zero of
the first says how wide numbers are, and a third part is the step.
"""

from __future__ import annotations

import itertools
import re
import string

from plink.probes.errors import HostListError, clean
from plink.probes.hosts.ranges import MAX_NAMES

_RANGE = re.compile(r"\[([0-9]{1,9}|[a-zA-Z]):([0-9]{1,9}|[a-zA-Z])(?::([0-9]{1,6}))?\]")
_HINT = "a range is [01:50], [a:f] or [1:9:2]"


def expand_pattern(pattern: str, place: str) -> list[str]:
    """Return every name that a pattern expands to, the last range varying fastest.

    Raises:
        HostListError: a range is wrong, or stands for too many names; `place` says where.
    """
    # Text and the three parts of each range take turns.
    pieces = _RANGE.split(pattern)
    choices: list[list[str]] = [[pieces[0]]]
    count = 1
    for low, high, step, text in zip(*(pieces[part::4] for part in range(1, 5)), strict=True):
        options = _between(low, high, int(step or 1), place)
        count *= len(options)
        if count > MAX_NAMES:
            message = f"{place}: {clean(pattern)!r} expands to more than {MAX_NAMES:,} names"
            raise HostListError(message)
        choices += [options, [text]]
    return ["".join(combination) for combination in itertools.product(*choices)]


def _between(low: str, high: str, step: int, place: str) -> list[str]:
    if low.isdigit() and high.isdigit() and step:
        first, last = int(low), int(high)
        if first > last or (last - first) // step >= MAX_NAMES:
            raise HostListError(f"{place}: the range {low}:{high} runs backwards or is too long")
        width = len(low) if low.startswith("0") else 0
        return [str(number).zfill(width) for number in range(first, last + 1, step)]
    letters = string.ascii_letters
    if low.isalpha() and high.isalpha() and step and letters.index(low) <= letters.index(high):
        return list(letters[letters.index(low) : letters.index(high) + 1 : step])
    raise HostListError(f"{place}: the range {low}:{high} is not understood", _HINT)
