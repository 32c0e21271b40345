"""Trainings on a clock, whose ranks run the machines that real ranks run."""

from __future__ import annotations

import functools
import math
import random
import statistics
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from control.programs import MODES, a_tree, flat, request
from plink.base.replacing import replace
from plink.simulate.control.clocked import Clocked, Machine
from plink.simulate.control.costs import Costs, Often
from plink.simulate.control.data import DataPlane
from plink.simulate.control.iterations import DisagreementError, Iteration
from plink.simulate.control.processors import Processors
from plink.simulate.control.training import Training
from plink.simulate.control.workload import Workload, backward
from plink.training.control import _native
from plink.training.control.actions import Action, Batch, Release
from plink.training.control.events import Announced, Event
from plink.training.control.graph import Graph, order_of
from plink.training.control.graphed import Graphed
from plink.training.control.settings import Settings
from plink.training.control.shape import places
from plink.training.control.tree import Tree

CYCLE_S = 0.002
SETTINGS = Settings(cycle_s=CYCLE_S, fusion_bytes=64)
COSTS = Costs(latency_s=2e-5, step_s=3e-6, in_s=1e-6, out_s=1e-6, in_s_per_byte=1e-8)
DATA = DataPlane(latency_s=1e-4, bytes_s=1e6)
# Each is announced alone; the third is two tensors of one layer.
CALLS = [(request("a"),), (request("b", 8),), (request("c"), request("d")), (request("e", 64),)]
NAMES = {one.name for call in CALLS for one in call}


def workload(deviation: float = 0.1, disorder_s: float = 0.002) -> Workload:
    calls, ready_s = backward(CALLS, [4, 1, 2, 1], 0.02)
    return Workload(calls, ready_s, 0.02, deviation, disorder_s)


def training(
    mode: str, parents: Sequence[int], costs: Costs = COSTS, seed: int = 0, **more: object
) -> Training:
    machines = [MODES[mode](place, SETTINGS) for place in places(parents)]
    work = workload()
    return Training(machines, work, costs, DATA, seed=seed, **more)  # type: ignore[arg-type]


def figures(iterations: Sequence[Iteration]) -> list[tuple[float, list[tuple[str, ...]]]]:
    return [(one.took_s, one.released) for one in iterations]


def depth_of(parents: Sequence[int]) -> int:
    depths = dict.fromkeys(range(len(parents)), 0)
    for rank in depths:
        at = rank
        while parents[at] != -1:
            at = parents[at]
            depths[rank] += 1
    return max(depths.values())


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(MODES)), st.integers(1, 9), st.integers(0, 2**32 - 1), st.booleans())
def test_all_release_all_once_and_not_before_it_can_be(
    mode: str, ranks: int, seed: int, sleeps_long: bool
) -> None:
    rng = random.Random(seed)
    parents = a_tree(rng, ranks)
    oversleep = Often(0.2 * sleeps_long, 0.005, seed)
    run = training(mode, parents, seed=seed, oversleep=oversleep).run(4)
    assert len(run) == 4
    for iteration in run:
        # That all ranks release the same in the same order the run itself holds.
        released = [name for names in iteration.released for name in names]
        assert sorted(released) == sorted(NAMES)
        # Whoever was last: all ranks hear of it from the root.
        assert min(iteration.latencies_s) >= depth_of(parents) * COSTS.latency_s
        assert iteration.took_s > iteration.reduced_s


@pytest.mark.parametrize("mode", sorted(MODES))
def test_the_seed_decides(mode: str) -> None:
    first, same, other = (figures(training(mode, flat(5), seed=seed).run(3)) for seed in (1, 1, 2))
    assert first == same
    assert first != other


@pytest.mark.parametrize("mode", sorted(MODES))
def test_slower_messages_are_never_of_use(mode: str) -> None:
    rng = random.Random(5)
    parents = a_tree(rng, 12)
    means_s = [
        statistics.mean(
            latency_s
            for iteration in training(mode, parents, Costs(latency_s=each_s)).run(20)
            for latency_s in iteration.latencies_s
        )
        for each_s in (1e-6, 5e-4, 2e-3)
    ]
    assert means_s == sorted(means_s)


def test_native_machines_and_their_twins_take_the_same_time() -> None:
    parents = a_tree(random.Random(7), 20)
    work = workload()
    runs = [
        Training([make(place, SETTINGS) for place in places(parents)], work, COSTS, DATA).run(5)
        for make in (Tree, _native.Tree)
    ]
    assert figures(runs[0]) == figures(runs[1])


def test_only_the_root_makes_anything_of_what_has_ended() -> None:
    costs = Costs(latency_s=2e-5)
    runs = [
        figures(training("tree", a_tree(random.Random(8), 10), costs, heeds_done=heed).run(5))
        for heed in (None, [a_tree(random.Random(8), 10).index(-1)])
    ]
    assert runs[0] == runs[1]


def test_a_graph_that_is_learnt_needs_no_message() -> None:
    requests = [one for call in CALLS for one in call]
    inputs = [[node - 1] if node else [] for node in range(len(requests))]
    order = order_of(Graph(inputs, dict(enumerate(requests))), [len(requests) - 1], 64)
    work = Workload(CALLS, [0.001, 0.002, 0.003, 0.004], 0.004)
    machines = [
        Graphed(place, SETTINGS, functools.partial(Tree, place, SETTINGS))
        for place in places(flat(6))
    ]
    network = Training(machines, work, Costs(), DATA, order=order)
    network.run(2)
    messages = network.clock.messages
    [iteration] = network.run(1)
    assert 0 < messages == network.clock.messages
    assert set(iteration.latencies_s) == {0.0}
    assert iteration.took_s == pytest.approx(0.004 + DATA.time_s(requests[-1].size_bytes))


class Lone:
    """When each rank releases the one tensor that all announce at the same time."""

    def __init__(self, machines: Sequence[Machine], costs: Costs, each: int | None = None) -> None:
        ranks = len(machines)
        self.released_s = [math.inf] * ranks
        processors = Processors([0] * ranks, each) if each else None
        clock = Clocked(machines, costs, processors=processors, do=self._do)
        for rank in range(ranks):
            clock.at(0.01, lambda rank=rank: clock.tell(rank, Announced((request("x"),))))  # type: ignore[misc]
        clock.run(1.0)

    def _do(self, rank: int, action: Action, at_s: float) -> None:
        if isinstance(action, Release):
            self.released_s[rank] = at_s - 0.01


def test_time_is_that_of_threads_and_messages() -> None:
    costs = Costs(1e-4, step_s=1e-5, in_s=2e-5, in_s_per_byte=1e-7, out_s=3e-5, out_s_per_byte=2e-7)
    heard: list[int] = []

    class Weighed(Tree):
        def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
            heard.extend(len(one.message) for one in events if hasattr(one, "message"))
            return super().step(events, now_s)

    lone = Lone([Weighed(place, Settings()) for place in places([-1, 0])], costs)
    up, down = heard
    # The child says so; the root, which had announced it, hears it and says so; the child hears it.
    at_root_s = 1e-5 + 3e-5 + 2e-7 * up + 1e-4 + 1e-5 + 2e-5 + 1e-7 * up + 3e-5 + 2e-7 * down
    assert lone.released_s[0] == pytest.approx(at_root_s)
    assert lone.released_s[1] == pytest.approx(at_root_s + 1e-4 + 1e-5 + 2e-5 + 1e-7 * down)


def test_who_is_busy_hears_later_and_all_at_once() -> None:
    costs = Costs(latency_s=0.0, in_s=1e-3)
    lone = Lone([Tree(place, Settings()) for place in places(flat(9))], costs)
    # The root reads the first of eight messages, then all others together.
    assert lone.released_s[0] == pytest.approx(8e-3)


def test_ranks_that_share_processors_take_turns() -> None:
    costs = Costs(latency_s=0.0, step_s=1e-3)
    alone, shared = (
        max(Lone([Tree(place, Settings()) for place in places(flat(8))], costs, each).released_s)
        for each in (8, 2)
    )
    # All step once to say so, and all but the root once to hear of it.
    assert alone == pytest.approx(4e-3, rel=0.3)
    assert shared == pytest.approx(8e-3, rel=0.3)


def test_a_thread_that_is_held_begins_no_cycle() -> None:
    free, held = (
        Training(
            [MODES["bitvector"](place, SETTINGS) for place in places(flat(3))],
            workload(0.0, 0.0),
            COSTS,
            DataPlane(0.0, 1e4, holds_thread),
        )
        for holds_thread in (False, True)
    )
    for one in (free, held):
        one.run(2)
    # An all-reduce of 256 bytes takes 25 ms, in which twelve cycles would begin.
    assert len(held.clock.spreads_s()) < 0.5 * len(free.clock.spreads_s())


def test_threads_that_spin_slow_the_computing_down() -> None:
    took_s = [
        statistics.mean(
            one.took_s
            for one in training(
                "bitvector",
                flat(6),
                oversleep=Often(0.2, 0.01),
                spinning=spinning,
            ).run(10)
        )
        for spinning in (0.0, 0.5)
    ]
    assert took_s[1] > 1.1 * took_s[0]


def test_machines_that_disagree_are_found() -> None:
    class Wrong(Tree):
        def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
            return [
                Release(tuple(Batch(batch.requests[::-1]) for batch in action.batches))
                if isinstance(action, Release)
                else action
                for action in super().step(events, now_s)
            ]

    machines = [(Wrong if place.rank == 2 else Tree)(place, SETTINGS) for place in places(flat(4))]
    with pytest.raises(DisagreementError, match="rank 2 released another buffer"):
        Training(machines, workload(), COSTS, DataPlane(latency_s=0.05)).run(5)


@pytest.mark.parametrize("mode", ["tree", "bitvector"])
def test_ranks_that_wait_for_ever_are_found(mode: str) -> None:
    class Deaf(MODES[mode]):  # type: ignore[misc, valid-type]
        def step(self, events: Sequence[Event], now_s: float) -> list[Action]:
            heard = [one for one in events if not isinstance(one, Announced)]
            return super().step(heard, now_s)  # type: ignore[no-any-return]

    settings = replace(SETTINGS, cycle_s=1.0)
    machines = [
        (Deaf if place.rank == 2 else MODES[mode])(place, settings) for place in places(flat(4))
    ]
    with pytest.raises(DisagreementError, match="takes more than"):
        Training(machines, workload(), COSTS, DATA).run(1)


def test_a_workload_is_one_iteration() -> None:
    calls, ready_s = backward(CALLS, [1, 1, 1, 1], 3.0)
    assert calls == CALLS[::-1]
    assert ready_s == pytest.approx([1.5, 2.0, 2.5, 3.0])
    with pytest.raises(ValueError, match="ascend"):
        Workload(CALLS, [2.0, 1.0, 3.0, 4.0], 5.0)
    with pytest.raises(ValueError, match="twice"):
        Workload([CALLS[0], CALLS[0]], [1.0, 2.0], 2.0)
