"""Iterations of published networks' shapes, averaged in all ways in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from scipy.stats import spearmanr
from torch import nn

from benchkit.control.crew import Crew
from benchkit.control.rank import Rank
from benchkit.overlap.calibration import calibrate
from benchkit.overlap.paced import Pace, Paced, profile_of
from benchkit.overlap.ways import (
    AUTO,
    DDP,
    DDP_ON_GLOO,
    GLOO,
    MG,
    ONE,
    OPTIMAL,
    OPTIMAL_ONE,
    TWO,
    WFBP,
    Trainer,
    Way,
    lazies,
    of_ddp,
    schedules_by_name,
)
from benchkit.report import Report, spread
from plink.torch import Options
from plink.training.overlap.bound import lower_bound_s
from plink.training.overlap.heuristics import DDP_BUCKET_BYTES
from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timeline import communicated_s

# What DistributedDataParallel learns in its first iterations, and PowerSGD sends whole.
WARM_UPS = 3
# In which "auto" measures, decides, and tries what it decided on.
AUTO_PASSES = 50
HEADER = (
    "gradients by",
    "collectives",
    "an iteration, s (least, median, most)",
    "predicted, s",
    "of the bound",
    "DDP on plink / this",
    "processor, s",
)


@dataclass(frozen=True)
class Subject:
    """What is iterated.

    Args:
        network: one of `NETWORKS`.
        scale: of each tensor's length, and of buckets.
        pace: of computing.
        rounds: each way once in each.
        ways: their names; none for all.
    """

    network: str
    scale: float
    pace: Pace
    rounds: int
    ways: tuple[str, ...] = ()

    @property
    def profile(self) -> Profile:
        """Of a backward pass."""
        return profile_of(self.network, self.scale, self.pace)

    @property
    def bucket_bytes(self) -> int:
        """Of DistributedDataParallel's."""
        return max(1, int(DDP_BUCKET_BYTES * self.scale))


@dataclass
class Iterated:
    """One way on one rank: seconds of each round, and of the processor."""

    seconds: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def add(self, measured_s: tuple[float, float]) -> None:
        """A round."""
        self.seconds.append(measured_s[0])
        self.cpu_s.append(measured_s[1])


@dataclass
class Found:
    """All ways on one rank.

    Args:
        network: what collectives take, the same on all ranks.
        computing: an iteration without any.
        ways: by name.
        auto_cuts: how many collectives "auto" has come to.
        auto_passes: after how many passes it changed anything at last; on rank 0.
        auto_reasons: why it did what it did; on rank 0.
    """

    network: Network
    computing: Iterated
    ways: dict[str, Iterated]
    auto_cuts: int
    auto_passes: int
    auto_reasons: tuple[str, ...]


def measure_ways(rank: Rank, subject: Subject) -> Found:
    """Calibrate, plan, then iterate in all ways in turn."""
    name = f"overlap/{subject.network}"
    with rank.group(name, None):
        one = dist.new_group(backend="plink", pg_options=Options(in_flight=1))
        groups = {GLOO: dist.new_group(backend="gloo"), ONE: one, TWO: dist.group.WORLD}
        network = calibrate(groups[ONE], groups[TWO]).network()
        ways = ways_of(subject, network)
        trainers = {
            way.name: Trainer(
                Paced(subject.network, subject.scale, subject.pace, rank.rank),
                way,
                groups,
                subject.bucket_bytes / 2**20,
            )
            for way in ways
        }
        bare = Paced(subject.network, subject.scale, subject.pace, rank.rank)
        computing, found = Iterated(), {way.name: Iterated() for way in ways}
        for _ in range(AUTO_PASSES):
            time_iteration(trainers[AUTO].module)
        for turn in range(-WARM_UPS, subject.rounds):
            computing.add(time_iteration(bare))
            for way in ways:
                measured_s = time_iteration(trainers[way.name].module)
                if way.is_lossless and not trainers[way.name].is_average(rank.ranks):
                    raise SystemExit(f"{way.name}: a gradient is not the average")
                if turn >= 0:
                    found[way.name].add(measured_s)
        auto: Any = trainers[AUTO].module
        decisions = auto.arranger.report.decisions
        return Found(
            network,
            computing,
            found,
            len(auto.arrangement.cuts),
            max((at for at, _ in decisions), default=0),
            tuple(f"{one.action.value} {one.name}: {one.reason}" for _, one in decisions),
        )


def time_iteration(module: nn.Module) -> tuple[float, float]:
    """Seconds of an iteration, and of the processor: forward, backward, all gradients averaged."""
    dist.barrier()
    used_s, began_s = time.process_time(), time.perf_counter()
    module.zero_grad(set_to_none=True)
    module(torch.ones(1, requires_grad=True)).backward()
    return time.perf_counter() - began_s, time.process_time() - used_s


def ways_of(subject: Subject, network: Network) -> list[Way]:
    """All of them; the same on all ranks."""
    profile = subject.profile
    every = [
        *of_ddp(),
        *schedules_by_name(profile, network, subject.bucket_bytes).values(),
        *(lazies(profile, network).values() if subject.ways else ()),
    ]
    return [way for way in every if not subject.ways or way.name in subject.ways]


def show(crew: Crew, subjects: Sequence[Subject], report: Report) -> None:
    """Measure all networks."""
    errors: list[float] = []
    for subject in subjects:
        found = crew.ask(measure_ways, subject)
        errors += _report_network(subject, found, report)
    report.at_most("predictions: median error", 10.0, 100 * statistics.median(errors), "%")


def _report_network(subject: Subject, found: Sequence[Found], report: Report) -> list[float]:
    network, profile = found[0].network, subject.profile
    ways = ways_of(subject, network)
    report.say(_describe_subject(subject, network, len(found)))
    seconds = {way.name: slowest_s([f.ways[way.name] for f in found]) for way in ways}
    medians_s = {name: statistics.median(one) for name, one in seconds.items()}
    computing_s = statistics.median(slowest_s([f.computing for f in found]))
    # What the processor does of a backward pass goes on while the accelerator computes.
    before_s = computing_s - subject.pace.backward_s
    bound_s = before_s + lower_bound_s(profile, network)
    rows, predicted = [], {}
    for way in ways:
        told, groups = "", ""
        if isinstance(way.schedule, Schedule):
            communicated = communicated_s(profile, way.schedule, network)
            predicted[way.name] = before_s + communicated
            told, groups = f"{predicted[way.name]:.3f}", str(len(way.schedule.cuts))
        if way.name == AUTO:
            groups = str(found[0].auto_cuts)
        cpu_s = sum(statistics.median(f.ways[way.name].cpu_s) for f in found)
        rows.append(
            (
                way.name,
                groups,
                spread(seconds[way.name]),
                told,
                f"{bound_s / medians_s[way.name]:.2f}",
                f"{medians_s[DDP] / medians_s[way.name]:.2f}",
                f"{cpu_s:.2f}",
            )
        )
    cpu_s = sum(statistics.median(f.computing.cpu_s) for f in found)
    rows.append(("computing alone", "", f"{computing_s:.3f}", "", "", "", f"{cpu_s:.2f}"))
    report.table(HEADER, rows, title=subject.network)
    report.say("; ".join(("auto", *found[0].auto_reasons)))
    _targets(subject, medians_s, bound_s, report)
    correlation = spearmanr(list(predicted.values()), [medians_s[name] for name in predicted])
    name = f"{subject.network}: Spearman of predicted and measured"
    report.at_least(name, 0.95, float(correlation.statistic))
    return [abs(at_s / medians_s[name] - 1.0) for name, at_s in predicted.items()]


def slowest_s(ranks: Sequence[Iterated]) -> list[float]:
    """Of each round, the rank that took longest."""
    return [max(one) for one in zip(*(rank.seconds for rank in ranks), strict=True)]


def _describe_subject(subject: Subject, network: Network, ranks: int) -> str:
    profile, pace = subject.profile, subject.pace
    bytes_s = network.s_per_byte * profile.total_bytes
    return (
        f"{subject.network}, each tensor {subject.scale:g} as long: "
        f"{profile.total_bytes / 1e6:.2f} MB in {len(profile)} gradients; {ranks} ranks; computing "
        f"{pace.forward_s:g} s forward and {pace.backward_s:g} s backward, slept; a collective "
        f"takes {1e3 * network.startup_s:.2f} ms ({1e3 * network.exclusive_s:.2f} of them the "
        f"line's) and {1e9 * network.s_per_byte:.1f} ns a byte "
        f"({1e9 * network.line_s_per_byte:.1f} of several at a time). Startups of single gradients "
        f"take {len(profile) * network.startup_s / bytes_s:.1f} of what all bytes take, computing "
        f"backward {pace.backward_s / bytes_s:.2f}."
    )


def _targets(subject: Subject, medians_s: dict[str, float], bound_s: float, report: Report) -> None:
    name, ours_s = subject.network, medians_s[OPTIMAL]
    report.at_least(f"{name}: of the bound", 0.92, bound_s / ours_s)
    is_late = name in ("densenet201", "resnet50")
    report.at_least(
        f"{name}: DDP on plink / optimal", 1.15 if is_late else 0.98, medians_s[DDP] / ours_s
    )
    if name in WFBP_OVER:
        report.at_least(f"{name}: serial WFBP / optimal", WFBP_OVER[name], medians_s[WFBP] / ours_s)
    report.at_least(f"{name}: DDP on plink / auto", 0.98, medians_s[DDP] / medians_s[AUTO])
    report.at_least(f"{name}: greedy MG / optimal", 1.15, medians_s[MG] / ours_s)
    both = medians_s[OPTIMAL_ONE] / ours_s
    report.say(
        f"merging alone gains {medians_s[WFBP] / medians_s[OPTIMAL_ONE]:.2f} over serial WFBP, two "
        f"at once {both:.2f} more; DDP on Gloo takes {medians_s[DDP_ON_GLOO] / ours_s:.2f} of it"
    )


WFBP_OVER = {"resnet152": 1.8, "densenet201": 2.4}
