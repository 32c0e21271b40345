"""What one rank that sleeps too long does to the others, by how they agree (Pumma et al., III-D,
IV)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch.distributed as dist
from torch import Tensor

from benchkit.control.crew import Crew
from benchkit.control.effort import Effort
from benchkit.control.late_sleepers import Late, late_sleepers, never, often, once
from benchkit.control.paced_models import Branchy
from benchkit.control.rank import Rank
from benchkit.control.trainings import WARM_UPS, Training, Way, drawn
from benchkit.report import Report, spread
from plink.torch import Control

CYCLE_MS = 5.0
SHARE, LATE_S = 0.05, 0.02
# One rank sleeps too long once; cycles before and after are compared.
LATE_RANK, LATE_SLEEP, AROUND = 1, 100, 50
CASCADE_S = 1.5
# A small training, whose gradients come one branch after the other.
BRANCHES, WIDTH, COMPUTE_S = 20, 8, 0.06
WAY = Way("by branch", groups=BRANCHES)

ASKED_CASCADE, ASKED_WITHOUT = 0.5, 0.1
ASKED_SPREAD = 0.5
ASKED_PROCESSOR = 1.0


@dataclass(frozen=True)
class Strategy:
    """How ranks agree, and what their control threads do beside.

    Args:
        name: of it.
        control: of the group.
        spins: where a thread would block.
        is_late: by chance, in as many sleeps as `SHARE` says.
        is_native: as it is shipped, without sleeps; the others are in Python.
    """

    name: str
    control: Control
    spins: bool = False
    is_late: bool = True
    is_native: bool = False


def _bitvector(**options: str) -> Control:
    return Control(mode="bitvector", cycle_ms=CYCLE_MS, **options)  # type: ignore[arg-type]


LOCAL = Strategy("local", _bitvector())
SPINNING = Strategy("local, spinning", _bitvector(), spins=True)
GLOBAL = Strategy("global (GS)", _bitvector(sleep="global"))
NONBLOCKING = Strategy("nonblocking (NBCS)", _bitvector(sync="nonblocking"))
TREE = Strategy("tree", Control(mode="tree"))
STRATEGIES = (
    Strategy("local, none late", _bitvector(), is_late=False),
    LOCAL,
    SPINNING,
    GLOBAL,
    NONBLOCKING,
    TREE,
    Strategy("tree, native", Control(mode="tree"), is_late=False, is_native=True),
)
HEADER = (
    "agreeing by",
    "iteration, ms (least, median, most)",
    "cycles a second",
    "median spread, ms",
    "mean spread, ms",
    "processor of a control thread, ms a second",
)


@dataclass(frozen=True)
class Found:
    """By one rank.

    Args:
        begins_s: of cycles, by their number.
        late: cycles that a late sleep of this rank came before.
        seconds: of each iteration.
        took_s: from the first to the last.
        thread_s: meanwhile, of the processor, by the control thread.
    """

    begins_s: dict[int, float]
    late: list[int]
    seconds: list[float]
    took_s: float
    thread_s: float


def show(crew: Crew, effort: Effort, report: Report) -> None:
    """First the cascade, then all strategies."""
    report.say(
        f"{crew.ranks} ranks, cycles of {CYCLE_MS:g} ms, machines and drivers in Python; sleeps "
        f"last {1e3 * LATE_S:g} ms longer where they are late"
    )
    _show_cascade(crew, report)
    rows: list[tuple[str, ...]] = []
    spreads: dict[str, list[float]] = {}
    thread_s: dict[str, float] = {}
    for strategy in STRATEGIES:
        found = crew.ask(training_late, strategy, effort.late_iterations, effort.seed)
        seconds = [1e3 * max(one) for one in zip(*(each.seconds for each in found), strict=True)]
        took_s = statistics.median(each.took_s for each in found)
        thread_s[strategy.name] = statistics.mean(each.thread_s / each.took_s for each in found)
        of_cycles = spreads[strategy.name] = list(spreads_s(found).values())
        told = ["", "", ""]
        if of_cycles:
            figures = (statistics.median(of_cycles), statistics.mean(of_cycles))
            told = [f"{len(of_cycles) / took_s:.0f}", *(f"{1e3 * one:.2f}" for one in figures)]
        processor = f"{1e3 * thread_s[strategy.name]:.1f}"
        rows.append((strategy.name, spread(seconds, 1), *told, processor))
    title = f"{100 * SHARE:g} % of sleeps are late"
    report.table(HEADER, rows, title=title)
    for name, figure in (("median", statistics.median), ("mean", statistics.mean)):
        ratio = figure(spreads[GLOBAL.name]) / figure(spreads[LOCAL.name])
        report.at_most(f"GS over local: {name} spread of arrivals", ASKED_SPREAD, ratio, "x")
    ratio = thread_s[NONBLOCKING.name] / thread_s[SPINNING.name]
    report.at_most("NBCS over spinning: processor of control", ASKED_PROCESSOR, ratio, "x")


def _show_cascade(crew: Crew, report: Report) -> None:
    """One late sleep of one rank, and what follows."""
    rows = []
    after_s: dict[str, float] = {}
    for strategy in (LOCAL, GLOBAL):
        found = crew.ask(idle, strategy)
        (late,) = found[LATE_RANK].late
        spread_s = spreads_s(found)
        before = statistics.median(spread_s[late - i] for i in range(1, AROUND))
        after = statistics.median(spread_s[late + i] for i in range(1, AROUND))
        after_s[strategy.name] = after
        figures = (before, spread_s[late], after)
        rows.append((strategy.name, *(f"{1e3 * one:.2f}" for one in figures)))
    header = ("agreeing by", f"spread before, ms (median of {AROUND})", "then", "after")
    report.table(header, rows, title="One late sleep")
    for name, asked in ((LOCAL.name, ASKED_CASCADE), (GLOBAL.name, ASKED_WITHOUT)):
        told = f"spread after one late sleep, {name}"
        limit = report.at_least if name == LOCAL.name else report.at_most
        limit(told, asked, after_s[name] / (CYCLE_MS / 1e3), "cycles")


def idle(rank: Rank, strategy: Strategy) -> Found:
    """Train no more; one rank is late once."""
    late = once(LATE_SLEEP, LATE_S) if rank.rank == LATE_RANK else never
    return _run(rank, f"oversleep/once/{strategy.name}", strategy, late, 0)


def training_late(rank: Rank, strategy: Strategy, iterations: int, seed: int) -> Found:
    """Train; some sleeps of all ranks are late."""
    late = often(f"{seed} {rank.rank}", SHARE, LATE_S) if strategy.is_late else never
    return _run(rank, f"oversleep/{strategy.name}", strategy, late, iterations)


def _run(rank: Rank, group: str, strategy: Strategy, late: Late, iterations: int) -> Found:
    with (
        late_sleepers(late, spins=strategy.spins, is_native=strategy.is_native) as notes,
        rank.group(group, strategy.control),
    ):
        training = Training(Branchy(BRANCHES, WIDTH, COMPUTE_S), WAY, None)
        # Known to all from here on.
        _train(training, drawn(rank.rank, WIDTH, WARM_UPS, 0))
        dist.barrier()
        notes.is_measured = True
        first, thread_s, began_s = len(notes.begins_s), notes.thread_s, time.monotonic()
        if iterations == 0:
            time.sleep(CASCADE_S)
        seconds = _train(training, drawn(rank.rank, WIDTH, iterations, 1))
        took_s, thread_s = time.monotonic() - began_s, notes.thread_s - thread_s
        last = len(notes.begins_s)
        begins_s = dict(enumerate(notes.begins_s[first:last], first))
        return Found(begins_s, notes.late, seconds, took_s, thread_s)


def _train(training: Training, data: Sequence[tuple[Tensor, Tensor]]) -> list[float]:
    """The seconds of each step."""
    seconds = []
    for inputs, labels in data:
        began_s = time.monotonic()
        training.step(inputs, labels, range(BRANCHES))
        seconds.append(time.monotonic() - began_s)
    return seconds


def spreads_s(found: Sequence[Found]) -> dict[int, float]:
    """By cycle in which all took part, from the first rank that began it to the last."""
    common = set.intersection(*(set(one.begins_s) for one in found))
    return {
        cycle: max(one.begins_s[cycle] for one in found) - min(one.begins_s[cycle] for one in found)
        for cycle in sorted(common)
    }
