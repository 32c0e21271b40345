"""Rounds of a bench: all cases launched in turn, until all are done or something ends them.

Rounds interleave what is compared, so that drift of the network hits all alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from plink.base.errors import PlinkError
from plink.measure.errors import to_plink_error
from plink.probes.errors import HostError

T = TypeVar("T")


@dataclass(frozen=True)
class Rounds(Generic[T]):
    """Results of launches, and what ended them early.

    Args:
        results: [case][launch].
        rounds_done: the rounds in which everything was launched.
        stopped: why not all rounds ran, or None where they did.
    """

    results: Sequence[Sequence[T]]
    rounds_done: int
    stopped: PlinkError | None = None


def run_rounds(
    count: int,
    launch: Callable[[int], T],
    rounds: int,
    seed: int,
    on_done: Callable[[], None] = lambda: None,
) -> Rounds[T]:
    """Call `launch` with 0 to `count` - 1 once a round; an error or Ctrl-C keeps what was before.

    `on_done` is called after each launch.

    Raises:
        HostError, PlinkError, KeyboardInterrupt: before anything was measured.
    """
    results: list[list[T]] = [[] for _ in range(count)]
    launches = 0
    try:
        for case in sequence(count, rounds, seed):
            results[case].append(launch(case))
            launches += 1
            on_done()
    except (HostError, PlinkError, KeyboardInterrupt) as error:
        if launches == 0:
            raise
        stopped = to_plink_error(error) if isinstance(error, HostError) else error
        if isinstance(stopped, KeyboardInterrupt):
            stopped = PlinkError("interrupted")
        return Rounds(results, launches // count, stopped)
    return Rounds(results, rounds)


def sequence(count: int, rounds: int, seed: int) -> Iterator[int]:
    """Yield 0 to `count` - 1 once a round, shuffled anew for each round by the seed."""
    generator = random.Random(seed)
    for _ in range(rounds):
        cases = list(range(count))
        generator.shuffle(cases)
        yield from cases
