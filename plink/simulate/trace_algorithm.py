"""Traffic of a trace as an algorithm that orders are searched for: bytes by pair and step."""

from __future__ import annotations

import numpy as np

from plink.base.errors import WrongUseError
from plink.simulate.schedule import Schedule, check, steps_of
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.collectives.form import RoundsForm, WeightedRound
from plink.solvers.collectives.steps import PeerTable, Round

# With more, steps are taken together: searches look at every round.
MOST_STEPS = 256

NAME = "trace"


def table_of(schedule: Schedule) -> PeerTable:
    """Return the bytes of each step between each pair of ranks.

    The step of a message is how many messages come before it on the longest way.
    """
    messages = check(schedule)
    steps = steps_of(schedule, messages)[messages.sends]
    sources = schedule.rank[messages.sends]
    destinations = schedule.peer[messages.sends]
    sizes = schedule.amount[messages.sends].astype(np.float64)
    keep = (sizes > 0.0) & (sources != destinations)
    steps, sources, destinations, sizes = (
        column[keep] for column in (steps, sources, destinations, sizes)
    )
    last = int(steps.max(initial=0)) + 1
    steps = steps * min(last, MOST_STEPS) // last
    rounds = []
    for step in np.unique(steps):
        here = steps == step
        pairs, place = np.unique(
            sources[here] * schedule.ranks + destinations[here], return_inverse=True
        )
        total = np.bincount(place.ravel(), weights=sizes[here]).astype(np.float64)
        source, destination = np.divmod(pairs, schedule.ranks)
        rounds.append(Round(source.astype(np.intp), destination.astype(np.intp), total))
    return PeerTable(schedule.ranks, rounds)


def trace_algorithm(schedule: Schedule) -> Algorithm:
    """Return an algorithm that runs as the trace does, whatever buffer it is asked for.

    Its latency form is the greatest distance of each step, by the step's share of all bytes.

    Raises:
        WrongUseError: it sends nothing.
    """
    table = table_of(schedule)
    ranks = schedule.ranks

    def refusal(asked: int) -> str | None:
        return None if asked == ranks else f"the trace has {ranks} ranks, not {asked}"

    total = sum(float(step.sizes_bytes.sum()) for step in table.rounds)
    if not total:
        raise WrongUseError("the trace sends nothing")
    form = RoundsForm(
        ranks,
        [
            WeightedRound(
                np.stack([step.sources, step.destinations], axis=1),
                len(table.rounds) * float(step.sizes_bytes.sum()) / total,
            )
            for step in table.rounds
        ],
    )
    messages = sum(len(step.sources) for step in table.rounds)
    return Algorithm(
        NAME,
        "what a trace sends",
        lambda _ranks, _size_bytes: table,
        lambda _ranks: form,
        refusal,
        count_messages=lambda _ranks: messages,
    )
