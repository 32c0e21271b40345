"""The rounds: everything launched in turn, until all are done or something ends them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from plink.base.errors import PlinkError
from plink.bench.clients.base import Client
from plink.bench.orders import NamedOrder
from plink.bench.schedule import schedule
from probes.errors import HostError

T = TypeVar("T")


@dataclass(frozen=True)
class Launches(Generic[T]):
    """What was launched, and what ended it early.

    Args:
        results: of every launch, by what was launched, in turn.
        rounds_done: the rounds in which everything was launched.
        stopped: why not all rounds ran, or None where they did.
    """

    results: Sequence[Sequence[T]]
    rounds_done: int
    stopped: PlinkError | None = None


@dataclass(frozen=True)
class Outcome:
    """What was measured, and what ended it early.

    Args:
        samples_s: seconds per repetition, per order, over all rounds.
        rounds_done: the rounds in which every order ran.
        stopped: why not all rounds ran, or None where they did.
    """

    samples_s: Sequence[Sequence[float]]
    rounds_done: int
    stopped: PlinkError | None = None


def run_in_turn(
    count: int,
    launch: Callable[[int], T],
    rounds: int,
    seed: int,
    on_done: Callable[[], None] = lambda: None,
) -> Launches[T]:
    """Call `launch` with 0 to `count` - 1 once a round; what ends it keeps what was before.

    `on_done` is called after each launch.

    Raises:
        HostError, PlinkError, KeyboardInterrupt: before anything was measured.
    """
    results: list[list[T]] = [[] for _ in range(count)]
    launches = 0
    try:
        for turn in schedule(count, rounds, seed):
            results[turn.order_index].append(launch(turn.order_index))
            launches += 1
            on_done()
    except (HostError, PlinkError, KeyboardInterrupt) as error:
        if launches == 0:
            raise
        return Launches(results, launches // count, _as_plink_error(error))
    return Launches(results, rounds)


def run_rounds(
    client: Client,
    orders: Sequence[NamedOrder],
    rounds: int,
    seed: int,
    on_done: Callable[[], None] = lambda: None,
) -> Outcome:
    """Launch every order once a round; an error or Ctrl-C keeps what was measured before it.

    `on_done` is called after each launch.

    Raises:
        HostError, PlinkError, KeyboardInterrupt: before anything was measured.
    """
    done = run_in_turn(
        len(orders), lambda index: client.measure(orders[index].order), rounds, seed, on_done
    )
    samples_s = [[sample for launch in launches for sample in launch] for launches in done.results]
    return Outcome(samples_s, done.rounds_done, done.stopped)


def _as_plink_error(error: HostError | PlinkError | KeyboardInterrupt) -> PlinkError:
    """What ended the rounds, as the one sentence that the user sees."""
    match error:
        case HostError():
            return PlinkError(f"{error.host}: {error}", error.hint)
        case PlinkError():
            return error
    return PlinkError("interrupted")
