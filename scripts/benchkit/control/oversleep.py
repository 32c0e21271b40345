"""What one rank that sleeps too long does to the others, by how they agree (Pumma et al., III-D,
IV)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor

from benchkit.control.crew import Crew
from benchkit.control.effort import Effort
from benchkit.control.late_sleepers import Late, Notes, late_sleepers, never, often, once
from benchkit.control.paced_models import Branchy
from benchkit.control.rank import Rank
from benchkit.control.trainings import WARM_UPS, Training, Way, draw_data
from benchkit.report import Report, spread
from plink.torch import Control

CYCLE_MS = 5.0
SHARE, LATE_S = 0.05, 0.02
# One rank sleeps too long once; cycles before and after are compared.
LATE_RANK, LATE_SLEEP, AROUND = 1, 100, 50
REST_S = 2.0
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
    Strategy("graph (TOPO)", Control(mode="graph")),
    Strategy("tree, native", Control(mode="tree"), is_late=False, is_native=True),
)
HEADER = (
    "agreeing by",
    "cycles a second",
    "spread of arrivals, ms (median, mean)",
    "processor of a control thread, ms a second",
    "in training: cycles a second",
    "spread, ms",
    "processor",
    "step, ms (least, median, most)",
)


@dataclass(frozen=True)
class Found:
    """By one rank.

    Args:
        begins_s: of cycles, by their number.
        late: cycles that a late sleep of this rank came before.
        steps_s: of each step; none where nothing is announced.
        took_s: in all.
        thread_s: meanwhile, of the processor, by the control thread.
    """

    begins_s: dict[int, float]
    late: list[int]
    steps_s: list[float]
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
    at_rest: dict[str, list[Found]] = {}
    trained: dict[str, list[Found]] = {}
    for strategy in STRATEGIES:
        found = crew.ask(often_late, strategy, effort.late_iterations, effort.seed)
        of_phases = [[one[phase] for one in found] for phase in (0, 1)]
        at_rest[strategy.name], trained[strategy.name] = of_phases
        steps_ms = [
            1e3 * max(one) for one in zip(*(each.steps_s for each in of_phases[1]), strict=True)
        ]
        told = [figure for of_ranks in of_phases for figure in _format_spread(of_ranks)]
        rows.append((strategy.name, *told, spread(steps_ms, 0)))
    report.table(HEADER, rows, title=f"{100 * SHARE:g} % of sleeps are late")
    for phase, by_name in (("nothing announced", at_rest), ("training", trained)):
        local, alike = (list(spreads_s(by_name[one.name]).values()) for one in (LOCAL, GLOBAL))
        for name, figure in (("median", statistics.median), ("mean", statistics.mean)):
            told_as = f"{phase}: GS over local, {name} spread of arrivals"
            report.at_most(told_as, ASKED_SPREAD, figure(alike) / figure(local), "x")
        ratio = busy(by_name[NONBLOCKING.name]) / busy(by_name[SPINNING.name])
        report.at_most(f"{phase}: NBCS over spinning, processor", ASKED_PROCESSOR, ratio, "x")


def _format_spread(of_ranks: Sequence[Found]) -> tuple[str, str, str]:
    spread_ms = [1e3 * one for one in spreads_s(of_ranks).values()]
    processor = f"{1e3 * busy(of_ranks):.1f}"
    if not spread_ms:
        return ("", "", processor)
    rate = len(spread_ms) / statistics.median(one.took_s for one in of_ranks)
    figures = f"{statistics.median(spread_ms):.2f}, {statistics.mean(spread_ms):.2f}"
    return (f"{rate:.0f}", figures, processor)


def busy(of_ranks: Sequence[Found]) -> float:
    """Of a processor, a control thread's share."""
    return statistics.mean(one.thread_s / one.took_s for one in of_ranks)


def _show_cascade(crew: Crew, report: Report) -> None:
    """One late sleep of one rank, and what follows."""
    rows = []
    after_s: dict[str, float] = {}
    for strategy in (LOCAL, GLOBAL):
        found = crew.ask(late_once, strategy)
        (late,) = found[LATE_RANK].late
        spread_s = spreads_s(found)
        before = statistics.median(spread_s[late - i] for i in range(1, AROUND))
        follow = [spread_s[late + i] for i in range(1, AROUND) if late + i in spread_s]
        after = statistics.median(follow)
        after_s[strategy.name] = after
        figures = (before, spread_s[late], after)
        rows.append((strategy.name, *(f"{1e3 * one:.2f}" for one in figures)))
    header = ("agreeing by", f"spread before, ms (median of {AROUND})", "then", "after")
    report.table(header, rows, title="One late sleep")
    for name, asked in ((LOCAL.name, ASKED_CASCADE), (GLOBAL.name, ASKED_WITHOUT)):
        told = f"spread after one late sleep, {name}"
        limit = report.at_least if name == LOCAL.name else report.at_most
        limit(told, asked, after_s[name] / (CYCLE_MS / 1e3), "cycles")


def late_once(rank: Rank, strategy: Strategy) -> Found:
    """Announce nothing; one rank is late once."""
    late = once(LATE_SLEEP, LATE_S) if rank.rank == LATE_RANK else never
    with _open_training(rank, f"once/{strategy.name}", strategy, late) as (notes, _):
        return _phase(notes, [])


def often_late(rank: Rank, strategy: Strategy, iterations: int, seed: int) -> tuple[Found, Found]:
    """Announce nothing for a while, then train; some sleeps of all ranks are late."""
    late = often(f"{seed} {rank.rank}", SHARE, LATE_S) if strategy.is_late else never
    with _open_training(rank, strategy.name, strategy, late) as (notes, training):
        rest = _phase(notes, [])
        steps = draw_data(rank.rank, WIDTH, iterations, 1)
        return rest, _phase(notes, [(training, *one) for one in steps])


@contextmanager
def _open_training(
    rank: Rank, name: str, strategy: Strategy, late: Late
) -> Iterator[tuple[Notes, Training]]:
    """A group whose ranks know all that the training announces, from where on they are late."""
    with (
        late_sleepers(late, spins=strategy.spins, is_native=strategy.is_native) as notes,
        rank.group(f"oversleep/{name}", strategy.control),
    ):
        training = Training(Branchy(BRANCHES, WIDTH, COMPUTE_S), WAY, None)
        for inputs, labels in draw_data(rank.rank, WIDTH, WARM_UPS, 0):
            training.step(inputs, labels, range(BRANCHES))
        notes.is_measured = True
        yield notes, training


def _phase(notes: Notes, steps: Sequence[tuple[Training, Tensor, Tensor]]) -> Found:
    """Take these steps; none: rest for a while."""
    first, thread_s, began_s = len(notes.begins_s), notes.thread_s, time.monotonic()
    if not steps:
        time.sleep(REST_S)
    steps_s = []
    for training, inputs, labels in steps:
        step_began_s = time.monotonic()
        training.step(inputs, labels, range(BRANCHES))
        steps_s.append(time.monotonic() - step_began_s)
    took_s, thread_s = time.monotonic() - began_s, notes.thread_s - thread_s
    begins_s = dict(enumerate(notes.begins_s[first:], first))
    return Found(begins_s, list(notes.late), steps_s, took_s, thread_s)


def spreads_s(found: Sequence[Found]) -> dict[int, float]:
    """By cycle in which all took part, from the first rank that began it to the last."""
    common = set.intersection(*(set(one.begins_s) for one in found))
    return {
        cycle: max(one.begins_s[cycle] for one in found) - min(one.begins_s[cycle] for one in found)
        for cycle in sorted(common)
    }
