"""No pattern of the product takes more than linear time for repetitions of what it matches."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import partial

import plink
from support.cpu_time import least_cpu_s

# Modules that need packages which not every machine has.
OPTIONAL = ("ray", "dask", "redis", "torch", "torchft", "plink.torch", "plink.torchrun")
# A quadratic pattern takes a second and more for so many signs, a linear one a millisecond.
SIZE, MOST_S = 40_000, 0.5


def patterns() -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    """Return every compiled pattern that a module of plink holds."""
    for module in pkgutil.walk_packages(plink.__path__, "plink."):
        if module.name.endswith("__main__") or module.name.startswith(OPTIONAL):
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ImportError:
            continue
        for name, value in vars(loaded).items():
            values = value.values() if isinstance(value, dict) else [value]
            for each in values:
                if isinstance(each, re.Pattern):
                    yield f"{module.name}.{name}", each


def alphabet(pattern: str) -> list[str]:
    """Return what a pattern may take: its words, its signs, and what its classes mean."""
    plain = re.sub(r"\(\?[^)]{0,3}|\\[sSwWdDbBZA]|[\\^$|()?*+{}\[\]]", " ", pattern)
    words = sorted({word[:12] for word in plain.split()}, key=len)
    return [" ", "\n", "\t", "0", "a", "A", ".", "-", "/", ":", "=", "_", *words][:40]


def test_patterns_take_linear_time() -> None:
    slow, count = [], 0
    for name, pattern in patterns():
        source = pattern.pattern
        text = source if isinstance(source, str) else source.decode("latin-1")
        is_search = bool(pattern.flags & re.MULTILINE)
        count += 1
        for piece in alphabet(text):
            given: str | bytes = piece * (SIZE // len(piece)) + "\x00"
            if isinstance(source, bytes):
                given = given.encode()
            match = pattern.search if is_search else pattern.match
            if least_cpu_s(partial(match, given), MOST_S) > MOST_S:
                slow.append((name, piece))
    assert count > 50
    assert slow == []
