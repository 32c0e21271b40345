"""The points of the benchmark training-control: what they count, and that real ranks reach them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchkit.control import any_order, lone, negotiations
from benchkit.control.agreeing import star
from benchkit.control.counted import Counted, CountedByName, Counts
from benchkit.control.crew import Crew, crew_on
from benchkit.control.effort import Effort
from benchkit.control.load import Load, r2
from benchkit.labs import Loopback
from benchkit.plans import plan_over, write_plan
from benchkit.report import Report
from plink.torch.named.driver import Machine
from plink.training.control.actions import Release, Send
from plink.training.control.bitvector import BitVector
from plink.training.control.events import Announced, Done, Event, Heard, Ticked
from plink.training.control.requests import Request, Tensor
from plink.training.control.settings import Settings
from plink.training.control.shape import Place, places
from plink.training.control.tree import Tree

EFFORT = Effort(
    seed=1,
    scale=0.0005,
    iterations=2,
    fewer_iterations=1,
    ranks=(2,),
    load_iterations=1,
    repetitions=5,
    rounds=1,
    steps=1,
    late_iterations=1,
)


@pytest.fixture(scope="module")
def crew(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    here = Loopback(2)
    plan = plan_over(here, "flat", star(2), 1000)
    write_plan(plan, path := tmp_path_factory.mktemp("crew") / "plan.json")
    with crew_on(here, here.in_rack_order(), path) as crew:
        yield crew


def reached(report: Report) -> dict[str, bool]:
    return {target.name: target.is_reached for target in report.targets}


@pytest.mark.timing
def test_real_ranks_are_right_in_any_order_and_name_nothing_twice(crew: Crew) -> None:
    report = Report()
    any_order.show(crew, EFFORT, report)
    negotiations.show(crew, EFFORT, report)
    assert len(report.targets) == len(any_order.MODES) + 1 + 3 * len(negotiations.REMEMBERING)
    assert set(reached(report).values()) == {True}


@pytest.mark.timing
def test_a_rank_that_fails_is_told(crew: Crew) -> None:
    with pytest.raises(SystemExit, match=r"(?s)rank 0 failed:.*mode is 'ring'"):
        crew.ask(any_order.announce_permuted, any_order.Program([], [], 1), "ring", 1)


@pytest.mark.parametrize(("mode", "machine"), [("tree", Tree), ("bitvector", BitVector)])
def test_only_what_is_new_is_counted_as_named(mode: str, machine: type[Tree | BitVector]) -> None:
    counts = [Counts(), Counts()]
    machines = [
        _counted(machine(place, Settings()), place, mode, counts[place.rank])
        for place in places([-1, 0])
    ]
    for asked, shape in ((1, (4,)), (0, (4,)), (1, (5,)), (0, (5,))):
        before = [one - Counts() for one in counts]
        _iterate(machines, Request("x", (Tensor("float32", shape),)))
        root, leaf = (now - then for now, then in zip(counts, before, strict=True))
        assert (leaf.asked, leaf.told, root.told) == (asked, asked, asked)
        assert root.messages == leaf.messages > 0
        assert root.bytes == leaf.bytes


def _counted(machine: Tree | BitVector, place: Place, mode: str, counts: Counts) -> Machine:
    parent = -1 if place.parent is None else place.parent
    return CountedByName(Counted(machine, counts), counts, mode, parent, place.ranks)


def _iterate(machines: list[Machine], request: Request, cycles: int = 3) -> None:
    """Both announce, and whatever is said is heard."""
    for cycle in range(cycles):
        for rank in range(len(machines)):
            events: list[Event] = [Announced((request,))] if cycle == 0 else []
            _step(machines, rank, [*events, Ticked()])


def _step(machines: list[Machine], rank: int, events: list[Event]) -> None:
    for action in machines[rank].step(events, 0.0):
        if isinstance(action, Send):
            _step(machines, action.rank, [Heard(rank, action.message)])
        elif isinstance(action, Release):
            _step(machines, rank, [Done(len(action.batches))])


def test_repetitions_after_the_last_bucket_do_not_count() -> None:
    many = lone.WARMUPS + 3
    called = [float(i) for i in range(many)]
    ranks = [
        lone.Times(called, [at + 0.5 for at in called], [True] * (many - 1) + [False]),
        lone.Times([at + 0.1 for at in called], [at + 0.6 for at in called], [True] * many),
    ]
    assert lone.own_s(ranks) == pytest.approx([0.5] * 4)
    assert lone.last_from_s(ranks) == pytest.approx([0.4, 0.5] * 2)


def test_linear_is_what_lies_on_a_line() -> None:
    assert r2([4, 8, 16], [40.0, 80.0, 160.0]) == pytest.approx(1.0)
    assert r2([4, 8, 16, 32], [16.0, 64.0, 256.0, 1024.0]) < 0.97


def test_a_machine_of_which_nothing_is_counted_has_no_figures() -> None:
    assert Load(0.001, 0, 0, 0.1).row() == ("1.0", "", "", "100")
