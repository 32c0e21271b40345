"""ResNet-50's gradients in so many groups: how long they wait, and how long they are reduced."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from benchkit.control.crew import Crew
from benchkit.control.effort import Effort
from benchkit.control.paced_models import Layered
from benchkit.control.phases import Phases, Waits
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

NETWORK = "resnet50"
SCALE = 0.1
WIDTH = 8
COMPUTE_S = 0.8
GROUPS = (0, 1, 2, 5, 10, 20, 50, 161)
# 25 MB of the network as it is.
BY_SIZE = "2.5MB"
DDP = tuple(Way(f"DDP, {mb:g} MB", bucket_mb=mb) for mb in (0.5, 1.0, 2.5))
OURS = (*(Way(f"groups={n}", groups=n) for n in GROUPS), Way(f"groups={BY_SIZE}", groups=BY_SIZE))
ASKED_OF_DDP = 0.98
HEADER = (
    "gradients by",
    "step, s (least, median, most)",
    "best of DDP / this",
    "buffers a step",
    "a gradient waits for its group, ms",
    "for ranks, ms",
    "is reduced, ms",
    "reducing in all, s a step",
    "processor, s",
)


@dataclass(frozen=True)
class Program:
    """What every rank does.

    Args:
        rounds: each way once in each, one step.
        seed: of the data.
    """

    rounds: int
    seed: int


@dataclass
class Grouped:
    """One way on one rank.

    Args:
        steps: as of other trainings.
        waits: of each round; of DDP there are none.
    """

    steps: Steps = field(default_factory=Steps)
    waits: list[Waits] = field(default_factory=list)


def show(crew: Crew, effort: Effort, report: Report) -> None:
    """Measure the whole curve."""
    found = crew.ask(train_all_ways, Program(effort.rounds, effort.seed))
    report.say(
        f"the gradients of {NETWORK}, each {SCALE:g} as long, {crew.ranks} ranks; computing takes "
        f"{COMPUTE_S:g} s a step, in which the processor sleeps"
    )
    by_way = {way.name: [of_rank[way.name] for of_rank in found] for way in (*DDP, *OURS)}
    steps = {name: [one.steps for one in of_ranks] for name, of_ranks in by_way.items()}
    best_s = min(median_s(steps[way.name]) for way in DDP)
    rows = []
    for name, of_ranks in by_way.items():
        seconds = slowest(steps[name], lambda one: one.seconds)
        of_ddp = f"{best_s / median_s(steps[name]):.2f}"
        waits = [one for of_rank in of_ranks for one in of_rank.waits]
        rows.append(
            (name, spread(seconds), of_ddp, *_format_waits(waits), f"{cpu_s(steps[name]):.2f}")
        )
    report.table(HEADER, rows, title="Groups")
    ours_s = {way.name: median_s(steps[way.name]) for way in OURS}
    first = OURS[0].name
    report.at_least(
        "without groups: DDP's step over DistributedOptimizer's",
        ASKED_OF_DDP,
        best_s / ours_s[first],
    )
    least = min(ours_s, key=lambda name: ours_s[name])
    report.say(f"the least with {least}: {ours_s[first] / ours_s[least]:.2f} x without groups")


def _format_waits(waits: Sequence[Waits]) -> tuple[str, ...]:
    if not waits:
        return ("", "", "", "", "")

    def mean(figure: Callable[[Waits], float]) -> float:
        return statistics.mean(map(figure, waits))

    return (
        f"{mean(lambda one: one.buffers):.0f}",
        f"{1e3 * mean(lambda one: one.for_group):.0f}",
        f"{1e3 * mean(lambda one: one.for_ranks):.0f}",
        f"{1e3 * mean(lambda one: one.reducing):.0f}",
        f"{mean(lambda one: one.busy_s):.2f}",
    )


def train_all_ways(rank: Rank, program: Program) -> dict[str, Grouped]:
    """All ways in turn."""
    found = {way.name: Grouped() for way in (*DDP, *OURS)}
    with both_groups(rank, "groups") as agreeing:
        trainings: dict[str, tuple[Training, Phases]] = {}
        for way in (*DDP, *OURS):
            torch.manual_seed(program.seed)
            model = Layered(NETWORK, SCALE, COMPUTE_S)
            phases = Phases(model.parameters())
            trainings[way.name] = Training(model, way, agreeing), phases
        for turn in range(-WARM_UPS, program.rounds):
            data = draw_data(rank.rank, WIDTH, 1, program.seed * 1000 + turn)
            for way in (*DDP, *OURS):
                training, phases = trainings[way.name]
                with contextlib.nullcontext() if way.is_ddp else phases:
                    measured = time_steps(training, data, [()])
                waits = [] if way.is_ddp else [phases.take()]
                if turn >= 0:
                    found[way.name].steps.add(measured)
                    found[way.name].waits.extend(waits)
    return found
