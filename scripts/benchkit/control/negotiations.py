"""What is negotiated by name: once at first, once more where a shape changes, and else nothing."""

from __future__ import annotations

import random
from dataclasses import replace

from benchkit.control.agreeing import Agreeing, engine_of, meet
from benchkit.control.counted import Counted, CountedByName, Counts
from benchkit.control.crew import Crew
from benchkit.control.effort import Effort
from benchkit.control.rank import Rank
from benchkit.networks import resnet50
from benchkit.report import Report
from plink.torch import Control
from plink.torch.named.driver import Machine
from plink.training.control.requests import Request, Tensor
from plink.training.control.shape import control_parents

MODES = ("tree", "bitvector", "full-tree", "full")
REMEMBERING = ("tree", "bitvector")
ITERATIONS = 12
# From this iteration on one tensor has another shape.
CHANGED = 6
HEADER = (
    "mode",
    "iteration",
    "named to parents, per rank (least, most)",
    "named to children, per rank",
    "messages of all ranks",
    "KB of all ranks",
)


def show(crew: Crew, effort: Effort, report: Report) -> None:
    """Measure all modes."""
    rows = []
    for mode in MODES:
        found = crew.ask(count_messages, mode, effort.seed)
        # The root has no parent, and its children hear from it.
        below = found[1:]
        for label, iterations in (
            ("1", range(1)),
            (f"2 to {CHANGED}", range(1, CHANGED)),
            (f"{CHANGED + 1}, another shape of one", range(CHANGED, CHANGED + 1)),
            (f"{CHANGED + 2} to {ITERATIONS}", range(CHANGED + 1, ITERATIONS)),
        ):
            asked = [one[i].asked for one in below for i in iterations]
            told = [one[i].told for one in found for i in iterations]
            # Each is sent by one and heard by another.
            both = [one[i] for one in found for i in iterations]
            messages = sum(one.messages for one in both) / 2 / len(iterations)
            kilobytes = sum(one.bytes for one in both) / 2 / len(iterations) / 1e3
            row = (mode, label, f"{min(asked)}, {max(asked)}", f"{min(told)}, {max(told)}")
            rows.append((*row, f"{messages:.0f}", f"{kilobytes:.1f}"))
            if mode in REMEMBERING and len(iterations) > 1:
                name = f"{mode}: full negotiations in iterations {label}"
                report.at_most(name, 0, max(asked + told))
            if mode in REMEMBERING and iterations.start == CHANGED:
                name = f"{mode}: ranks on which another shape costs one negotiation"
                count = sum(one[CHANGED].told == 1 for one in found)
                count = min(count, 1 + sum(one[CHANGED].asked == 1 for one in below))
                report.at_least(name, crew.ranks, count)
    report.table(HEADER, rows, title="Negotiations")


def count_messages(rank: Rank, mode: str, seed: int) -> list[Counts]:
    """By iteration, what this rank's machine said and heard."""
    engine = engine_of(rank, f"negotiations/{mode}", rank.forest)
    counts = Counts()
    parents = [-1, *[0] * (rank.ranks - 1)] if mode == "full" else control_parents(rank.forest)

    def watched(machine: Machine) -> Machine:
        counted = Counted(machine, counts)
        return CountedByName(counted, counts, mode, parents[rank.rank], rank.ranks)

    agreeing = Agreeing(engine, rank.forest, Control(mode=mode), watched=watched)
    tensors = [(one.name, Tensor("float32", one.shape)) for one in resnet50()]
    requests = [Request(name, (tensor,)) for name, tensor in tensors]
    order = random.Random(f"{seed} {rank.rank}")
    by_iteration = []
    for iteration in range(ITERATIONS):
        if iteration == CHANGED:
            requests[0] = replace(requests[0], tensors=(Tensor("float32", (64, 4, 7, 7)),))
        meet(engine)
        before = replace(counts)
        agreeing.iterate(requests, order)
        meet(engine)
        by_iteration.append(counts - before)
    meet(engine)
    agreeing.close()
    meet(engine)
    engine.close()
    return by_iteration
