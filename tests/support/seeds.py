"""Random cases: a few in each run, and many where PLINK_SOAK is set.

`scripts/test` takes a seed from what the sources contain: a change draws anew, and what was green
stays green. Tests that are run otherwise, and those with PLINK_SOAK, draw anew each time.
"""

from __future__ import annotations

import functools
import inspect
import os
import secrets
from collections.abc import Callable, Iterator
from typing import Any

IS_SOAK = bool(os.environ.get("PLINK_SOAK"))


def draw_seeds(few: int, many: int = 0) -> Iterator[int]:
    """Yield seeds; pytest shows the last of them if the test fails, and how to draw it again.

    Args:
        few: seeds in a usual run.
        many: seeds where PLINK_SOAK is set, if they are more.
    """
    first = int(os.environ.get("PLINK_TEST_SEED") or secrets.randbits(32))
    for seed in range(first, first + (max(few, many) if IS_SOAK else few)):
        print(f"drawn with PLINK_TEST_SEED={seed}")
        yield seed


def with_seeds(few: int, many: int = 0) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a test to run its body with each of so many seeds, as argument `seed`."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*arguments: Any, **named: Any) -> None:
            for seed in draw_seeds(few, many):
                test(*arguments, seed=seed, **named)

        # pytest asks for what a test takes, and has no seed to give.
        given = inspect.signature(test)
        rest = [one for name, one in given.parameters.items() if name != "seed"]
        run.__signature__ = given.replace(parameters=rest)  # type: ignore[attr-defined]
        return run

    return decorate
