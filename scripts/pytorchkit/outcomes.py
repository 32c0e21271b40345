"""What the tests came to, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytorchkit.differences import BY_NAME

PASSED, SKIPPED, FAILED = "passed", "skipped", "failed"


@dataclass(frozen=True)
class Outcome:
    """Of one test on one backend.

    Args:
        test: its name.
        backend: plink or gloo.
        ranks: the number of processes.
        came_to: passed, skipped or failed.
        reason: why it was skipped, or the error with its traceback.
    """

    test: str
    backend: str
    ranks: int
    came_to: str
    reason: str = ""


def counts(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """A row for each number of ranks and backend, with a header."""
    rows: list[tuple[str, ...]] = [("ranks", "backend", PASSED, FAILED, SKIPPED)]
    for ranks, backend in sorted({(one.ranks, one.backend) for one in outcomes}):
        these = [one.came_to for one in outcomes if (one.ranks, one.backend) == (ranks, backend)]
        numbers = [str(these.count(kind)) for kind in (PASSED, FAILED, SKIPPED)]
        rows.append((str(ranks), backend, *numbers))
    return rows


def failed_alone(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """What failed on plink, but for what failed on Gloo with as many ranks."""
    failed = [one for one in outcomes if one.came_to == FAILED]
    on_gloo = {(one.test, one.ranks) for one in failed if one.backend == "gloo"}
    return [
        one for one in failed if one.backend == "plink" and (one.test, one.ranks) not in on_gloo
    ]


def unexpected_outcomes(
    outcomes: Sequence[Outcome], known: Mapping[str, str] = BY_NAME
) -> list[tuple[Outcome, str]]:
    """What is not as `docs/torch-differences.md` says, and in which way."""
    alone = failed_alone(outcomes)
    found = [(one, "failed on plink alone") for one in alone if one.test not in known]
    found += [
        (one, "passed, though a difference is known")
        for one in outcomes
        if one.backend == "plink" and one.came_to == PASSED and one.test in known
    ]
    return found
