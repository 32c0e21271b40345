"""A job that "auto" plans on a network that does not change: what it changes, and what it costs."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from benchkit.control.crew import Crew
from benchkit.control.rank import Rank
from benchkit.overlap.iterations import AUTO_PASSES, Subject, time_iteration
from benchkit.overlap.paced import Paced
from benchkit.report import Report
from plink.torch import DataParallel
from plink.torch.overlap.arrangement import Arrangement, Fixed
from plink.training.overlap.schedule import Schedule

# Each way so many iterations in turn.
TURN = 10


@dataclass
class Found:
    """On one rank.

    Args:
        passes: that were planned.
        changes: the passes after which "auto" changed its schedule, and why; on rank 0.
        windows: in which it decided; on rank 0.
        auto_s, fixed_s: medians of turns, with "auto" and with its schedule alone.
        auto_cpu_s, fixed_cpu_s: of the processor.
    """

    passes: int
    changes: list[tuple[int, str]]
    windows: int
    auto_s: list[float]
    fixed_s: list[float]
    auto_cpu_s: list[float]
    fixed_cpu_s: list[float]


def measure_quiet(rank: Rank, subject: Subject, seconds: float) -> Found:
    """Let it settle; then in turn with what it has settled on, installed by hand."""
    with rank.group(f"quiet/{subject.network}", None):
        parts = (subject.network, subject.scale, subject.pace, rank.rank)
        auto = DataParallel(Paced(*parts), schedule="auto")
        for _ in range(AUTO_PASSES):
            time_iteration(auto)
        found = Found(AUTO_PASSES, [], 0, [], [], [], [])
        fixed = DataParallel(Paced(*parts), schedule=_Same(auto.arrangement))
        last, began_s = torch.zeros(1), time.monotonic()
        while not last.item():
            for module, took_s, used_s in (
                (auto, found.auto_s, found.auto_cpu_s),
                (fixed, found.fixed_s, found.fixed_cpu_s),
            ):
                turn = [time_iteration(module) for _ in range(TURN)]
                took_s.append(statistics.median(one[0] for one in turn))
                # What windows cost at their ends counts.
                used_s.append(statistics.mean(one[1] for one in turn))
            found.passes += TURN
            last.fill_(float(time.monotonic() - began_s >= seconds))
            dist.broadcast(last, 0)
        planning: Any = auto.arranger
        report = planning.report
        found.changes = [
            (at, f"{len(one.schedule.cuts)} groups, {one.reason}") for at, one in report.decisions
        ]
        found.windows = report.windows
        return found


class _Same(Fixed):
    """What another has come to, order and all."""

    def __init__(self, arrangement: Arrangement) -> None:
        super().__init__(lambda profile: Schedule((len(profile),)))
        self._arrangement = arrangement

    def first(self, profile: Any) -> Arrangement:
        """That."""
        del profile
        return self._arrangement

    def pass_ended(self) -> Arrangement | None:
        """It stays."""
        return None


def show(crew: Crew, subject: Subject, seconds: float, report: Report) -> None:
    """What it changed after it had settled, and what it took of the processor and of time."""
    found = crew.ask(measure_quiet, subject, seconds)
    first = found[0]
    took = [
        statistics.median(max(turn) for turn in zip(*turns, strict=True))
        for turns in ([one.auto_s for one in found], [one.fixed_s for one in found])
    ]
    used = [
        sum(statistics.median(turns) for turns in each)
        for each in ([one.auto_cpu_s for one in found], [one.fixed_cpu_s for one in found])
    ]
    late = [at for at, _ in first.changes if at > AUTO_PASSES]
    rows = [
        ("auto", f"{took[0]:.4f}", f"{used[0]:.4f}"),
        ("the same schedule, fixed", f"{took[1]:.4f}", f"{used[1]:.4f}"),
    ]
    report.table(("way", "an iteration, s", "processor, s, all ranks"), rows, subject.network)
    report.say(f"{first.passes} passes with auto, {first.windows} windows")
    for at, reason in first.changes:
        report.say(f"after pass {at}: {reason}")
    report.at_most(f"changes after pass {AUTO_PASSES}", 0, len(late))
    report.at_most("an iteration, hooks and planning", 1.0, 100 * (took[0] / took[1] - 1.0), "%")
    share = 100 * (used[0] - used[1]) / len(found) / took[1]
    report.at_most("processor of each rank, of an iteration", 1.0, share, "%")
