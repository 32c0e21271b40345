"""A model of branches that ranks run in different orders: DDP beside DistributedOptimizer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from benchkit.control.crew import Crew
from benchkit.control.effort import Effort
from benchkit.control.paced_models import Branchy
from benchkit.control.rank import Rank
from benchkit.control.trainings import (
    WARM_UPS,
    Steps,
    Training,
    Way,
    both_groups,
    cpu_s,
    draw_data,
    median_s,
    slowest,
    time_steps,
)
from benchkit.report import Report, spread

BRANCHES = 16
WIDTH = 256
# Of a step's forward and backward pass; the processor sleeps meanwhile. Backward takes about as
# long as the network needs for all gradients.
COMPUTE_S = 0.8
ASKED_OF_DDP = 1.2
ASKED_IN_ORDER = 0.98
ASKED_APART = 1e-4

_BY_BRANCH = [
    [f"branches.{i}.{layer}.{part}" for layer in (0, 2) for part in ("weight", "bias")]
    for i in range(BRANCHES)
]
# The first is what is compared: DistributedOptimizer as it is made without options.
OURS = (Way("DistributedOptimizer"), Way("DistributedOptimizer, by branch", groups=_BY_BRANCH))
DDP = tuple(Way(f"DDP, {mb:g} MB", bucket_mb=mb) for mb in (0.5, 1.0, 25.0))
WAYS = (*DDP, *OURS)

IN_ORDER, ONE, EACH, CHANCE = (
    "in one order",
    "one late on one rank",
    "one late on each rank",
    "in any order",
)
CASES = (IN_ORDER, ONE, EACH, CHANCE)
# A branch that is late on one rank lets DDP wait half of the time on average; and where all orders
# are drawn, nearly all gradients are late on some rank.
ASKED = {IN_ORDER: ASKED_IN_ORDER, EACH: ASKED_OF_DDP}
HEADER = (
    "branches run",
    "gradients by",
    "step, s (least, median, most)",
    "best of DDP / this",
    "processor, s",
)


@dataclass(frozen=True)
class Program:
    """What every rank does.

    Args:
        rounds: each way once in each.
        steps: in a row.
        seed: of orders and data.
    """

    rounds: int
    steps: int
    seed: int


def show(crew: Crew, effort: Effort, report: Report) -> None:
    """Measure all cases."""
    program = Program(effort.rounds, effort.steps, effort.seed)
    mb = 4 * BRANCHES * 2 * WIDTH * (WIDTH + 1) / 1e6
    report.say(
        f"{BRANCHES} branches, {mb:.1f} MB of gradients, {crew.ranks} ranks; computing takes "
        f"{COMPUTE_S:g} s a step, in which the processor sleeps"
    )
    found = crew.ask(train_all_ways, program)
    rows: list[tuple[str, ...]] = []
    for case in CASES:
        by_way = {way.name: [of_rank[case][way.name] for of_rank in found] for way in WAYS}
        best_s = min(median_s(by_way[way.name]) for way in DDP)
        for name, of_ranks in by_way.items():
            seconds = slowest(of_ranks, lambda steps: steps.seconds)
            of_ddp = f"{best_s / median_s(of_ranks):.2f}"
            rows.append((case, name, spread(seconds), of_ddp, f"{cpu_s(of_ranks):.2f}"))
        if case in ASKED:
            reached = best_s / median_s(by_way[OURS[0].name])
            report.at_least(
                f"{case}: DDP's step over DistributedOptimizer's", ASKED[case], reached, "x"
            )
    report.table(HEADER, rows, title="Branches")
    report.at_most("losses apart", ASKED_APART, _apart(found))


def _apart(found: Sequence[Mapping[str, Mapping[str, Steps]]]) -> float:
    """The most that losses of the same step differ between ways."""
    return max(
        float(max(of_step) - min(of_step))
        for of_rank in found
        for of_case in of_rank.values()
        for of_step in zip(*(steps.losses for steps in of_case.values()), strict=True)
    )


def train_all_ways(rank: Rank, program: Program) -> dict[str, dict[str, Steps]]:
    """All ways in turn, in all cases."""
    found: dict[str, dict[str, Steps]] = {}
    with both_groups(rank, "branches") as agreeing:
        trainings = {}
        for way in WAYS:
            torch.manual_seed(program.seed)
            trainings[way.name] = Training(Branchy(BRANCHES, WIDTH, COMPUTE_S), way, agreeing)
        first = [order_of(IN_ORDER, rank.rank, rank.ranks, 0)] * WARM_UPS
        for training in trainings.values():
            time_steps(training, draw_data(rank.rank, WIDTH, WARM_UPS, 0), first)
        for case in CASES:
            found[case] = {name: Steps() for name in trainings}
            for turn in range(program.rounds):
                seed = program.seed * 1000 + turn
                data = draw_data(rank.rank, WIDTH, program.steps, seed)
                orders = [
                    order_of(case, rank.rank, rank.ranks, seed * 100 + step)
                    for step in range(program.steps)
                ]
                for name, training in trainings.items():
                    found[case][name].add(time_steps(training, data, orders))
    return found


def order_of(case: str, rank: int, ranks: int, seed: int) -> list[int]:
    """In which a rank runs its branches in a step. Gradients come in the opposite one, so that what
    runs first is late.

    Args:
        case: of `CASES`.
        rank: whose.
        ranks: of all.
        seed: of the step, the same on all ranks.
    """
    given = list(range(BRANCHES))
    common, own = random.Random(seed), random.Random(f"{seed} {rank}")
    if case == CHANCE:
        own.shuffle(given)
    elif case == EACH or (case == ONE and common.randrange(ranks) == rank):
        given.insert(0, given.pop(own.randrange(BRANCHES)))
    return given
