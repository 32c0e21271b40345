"""The rounds: every order launched in turn, until all are done or something ends them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plink.bench.clients.base import Client
from plink.bench.orders import NamedOrder
from plink.bench.schedule import schedule
from plink.errors import PlinkError
from probes.errors import HostError


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
    samples_s: list[list[float]] = [[] for _ in orders]
    launches = 0
    try:
        for launch in schedule(len(orders), rounds, seed):
            entry = orders[launch.order_index]
            samples_s[launch.order_index] += client.measure(entry.order)
            launches += 1
            on_done()
    except (HostError, PlinkError, KeyboardInterrupt) as error:
        if launches == 0:
            raise
        return Outcome(samples_s, launches // len(orders), _as_plink_error(error))
    return Outcome(samples_s, rounds)


def _as_plink_error(error: HostError | PlinkError | KeyboardInterrupt) -> PlinkError:
    """What ended the rounds, as the one sentence that the user sees."""
    match error:
        case HostError():
            return PlinkError(f"{error.host}: {error}", error.hint)
        case PlinkError():
            return error
    return PlinkError("interrupted")
