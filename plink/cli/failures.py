"""Warnings of hosts and pairs that are missing from a result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from plink.cli.stderr import warn
from plink.files.measurement import Failure
from plink.measure.probing.connecting import TooFewReachedError

_MAX_NAMED = 5


@contextmanager
def naming_unreached() -> Iterator[None]:
    """Name the hosts that were not reached, where those that were are too few to go on with."""
    try:
        yield
    except TooFewReachedError as error:
        for failure in error.failures:
            warn(f"{failure.host}: {failure}")
        raise


def name_some(failures: Sequence[Failure], others: str) -> None:
    """Name the first of these failures, and how many `others` there are."""
    for failure in failures[:_MAX_NAMED]:
        ends = failure.source + (f" to {failure.destination}" if failure.destination else "")
        warn(f"{ends}: {failure.reason}")
    if len(failures) > _MAX_NAMED:
        warn(f"... and {len(failures) - _MAX_NAMED} more {others}")
