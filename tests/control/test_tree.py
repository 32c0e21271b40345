"""Ranks that agree along a tree: the same order everywhere, whatever comes when."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.programs import Maker, Program, a_tree, flat, group, network, request, run
from control.twins import Twins
from plink.training.control.actions import RefuseHere, Send, SleepUntil
from plink.training.control.events import Announced, Heard, Ticked
from plink.training.control.ranks import Ranks
from plink.training.control.requests import Request
from plink.training.control.settings import Settings
from plink.training.control.tree_messages import Downward, Member, pack_downward, parse_upward
from support.seeds import draw_seeds


def test_all_release_the_same_once_whatever_comes_when() -> None:
    for seed in draw_seeds(30, 2000):
        rng = random.Random(seed)
        ranks = rng.choice([1, 2, 3, 4, 7, 16])
        tensors = rng.randint(1, 12)
        settings = Settings(
            fusion_bytes=rng.choice([1, 64, 1 << 20]),
            check_every=rng.choice([1, 3, 256]),
            most_positions=rng.choice([1, 3, tensors, 1 << 20]),
        )
        iterations = rng.randint(1, 4)
        shapes = {t: rng.randint(0, 30) for t in range(tensors)}
        plan = []
        for _ in range(iterations):
            if rng.random() < 0.5:
                shapes[rng.randrange(tensors)] = rng.randint(31, 60)
            plan.append([request(f"t{t}", shape) for t, shape in shapes.items()])
        lasts = [
            rng.randint(0, iterations) if rng.random() < 0.3 else iterations for _ in range(ranks)
        ]
        net = network(a_tree(rng, ranks), settings)
        programs = [Program(rank, plan, rng, lasts[rank]) for rank in range(ranks)]
        run(net, programs, rng)
        net.settle()
        net.check()
        assert not any(net.failed), net.failed
        assert len({len(released) for released in net.released}) == 1, seed
        for rank in range(ranks):
            assert len(net.joined[rank]) == 1
            assert net.joined[rank] == net.joined[0]
            assert lasts[net.joined[rank][0]] == max(lasts)
            for t in range(tensors):
                assert net.names[rank].count(f"t{t}") == max(lasts)


def test_nothing_is_said_while_nothing_is_announced() -> None:
    net = network(flat(4))
    for rank in range(4):
        net.announce(rank, request("a"))
    net.settle()
    sent = net.sent
    assert min(net.wakes_s) == float("inf")
    net.settle(until_s=1e6)
    assert net.sent == sent


def test_a_known_collective_costs_a_few_bytes_a_link() -> None:
    net = network(flat(8))
    names = [f"a rather long name of a layer {i}" for i in range(100)]
    for iteration in range(2):
        before_bytes, before = net.sent_bytes, net.sent
        for rank in range(8):
            net.announce(rank, *(request(name) for name in names))
        net.settle()
        if iteration == 1:
            assert net.sent - before == 14
            # From the root 100 positions of one or two bytes to each of seven.
            assert net.sent_bytes - before_bytes < 7 * (20 + 220)


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (request("a", 5), "float32[4] on ranks 0, 2, and sum all-reduce of float32[5] on rank 1"),
        (request("a", op="max"), "max all-reduce of float32[4] on rank 1"),
        (request("a", prescale=0.5), "scaled by 0.5 and 1 on rank 1"),
        (request("a", kind="broadcast", op="", root=1), "broadcast of float32[4] with root 1"),
        (group("g", "a", "b"), "ranks differ in where 'a' is"),
    ],
)
@pytest.mark.parametrize("parents", [flat(3), [-1, 0, 1], [1, 2, -1]])
def test_what_differs_fails_alike_everywhere_and_all_else_goes_on(
    parents: list[int], other: Request, told: str
) -> None:
    net = network(parents)
    for again in range(2):
        for rank in range(3):
            net.announce(rank, other if rank == 1 else request("a"))
            net.announce(rank, request("c"))
        net.settle()
        texts = {text for rank in range(3) for _, text in net.refused[rank][again:]}
        assert len(texts) == 1
        assert told in texts.pop()
        assert [len(net.refused[rank]) for rank in range(3)] == [again + 1] * 3
        assert net.names == [["c"] * (again + 1)] * 3
    for rank in range(3):
        net.announce(rank, request("a"))
    net.settle()
    assert all(names[-1] == "a" for names in net.names)


def test_a_changed_shape_costs_one_negotiation() -> None:
    net = network(flat(4))
    costs = []
    for shape in (4, 4, 5, 5):
        before_bytes = net.sent_bytes
        for rank in range(4):
            net.announce(rank, request("a", shape))
        net.settle()
        costs.append(net.sent_bytes - before_bytes)
    assert costs[1] == costs[3] < costs[0] == costs[2]


@pytest.mark.parametrize("parents", [flat(6), [-1, 0, 1, 2, 3, 4], [3, 3, 1, -1, 3, 4]])
def test_all_are_told_who_keeps_them_waiting(parents: list[int]) -> None:
    net = network(parents, Settings(stall_warning_s=60.0, stall_error_s=100.0))
    for rank in (0, 1, 2, 4):
        net.announce(rank, request("x"))
    net.settle(until_s=59.0)
    assert net.warned == [[]] * 6
    net.settle(until_s=60.5)
    assert net.warned == [["'x' has waited 60 s for ranks 3, 5; ranks 0-2, 4 announced it"]] * 6
    net.settle(until_s=101.0)
    assert [bool(refused) for refused in net.refused] == [rank in (0, 1, 2, 4) for rank in range(6)]
    assert "has waited 100 s for ranks 3, 5" in net.refused[0][0][1]
    for rank in range(6):
        net.announce(rank, request("x"))
    net.settle(until_s=102.0)
    assert net.names == [["x"]] * 6


@pytest.mark.parametrize("mode", ["tree", Twins])
def test_who_announced_later_is_not_told_as_missing(mode: str | Maker) -> None:
    net = network([-1, 0, 1, 2], Settings(stall_warning_s=60.0), mode)
    net.announce(0, request("x"))
    net.settle(until_s=30.0)
    net.announce(1, request("x"))
    net.settle(until_s=60.5)
    assert net.warned == [["'x' has waited 60 s for ranks 2-3; ranks 0-1 announced it"]] * 4
    net.announce(2, request("x"))
    # All wait since the first announced it: nobody is told in between.
    net.settle(until_s=119.0)
    assert [len(warned) for warned in net.warned] == [1] * 4
    net.settle(until_s=120.5)
    assert [warned[1:] for warned in net.warned] == [
        ["'x' has waited 120 s for rank 3; ranks 0-2 announced it"]
    ] * 4


@pytest.mark.parametrize("slow", [(0, 1), (1, 0), (1, 3), (3, 1)])
def test_nobody_is_told_as_missing_whose_answer_takes_seconds(slow: tuple[int, int]) -> None:
    net = network([-1, 0, 1, 1], Settings(stall_warning_s=1.0))
    for rank in (0, 1, 2):
        net.announce(rank, request("x"))
        net.deliver_except_to(0)
    net.settle(until_s=0.9)
    for net.now_s in (1.0, 2.0, 4.0):
        for rank in range(4):
            net.step(rank, [Ticked()])
        while links := [link for link in net.busy_links() if link != slow]:
            net.deliver(links[0])
        assert net.warned == [[]] * 4
    net.deliver(slow, len(net.links[slow]))
    net.settle()
    assert net.warned == [["'x' has waited 4 s for rank 3; ranks 0-2 announced it"]] * 4


@pytest.mark.parametrize("silent", [1, 3])
def test_who_does_not_answer_is_told_as_missing_after_some_seconds(silent: int) -> None:
    net = network(flat(4), Settings(stall_warning_s=60.0))
    for rank in (0, 2):
        net.announce(rank, request("x"))
    net.settle(until_s=59.0)
    net.lost.add(silent)
    net.settle(until_s=64.0)
    assert not any(net.warned)
    net.settle(until_s=66.0)
    assert net.warned[0] == ["'x' has waited 60 s for ranks 1, 3; ranks 0, 2 announced it"]


@pytest.mark.parametrize("mode", ["tree", Twins])
def test_answers_about_a_name_are_one_entry_of_a_message(mode: str | Maker) -> None:
    names = ["x", "y", "z"]
    net = network([-1, 0, 1, 1, 1], Settings(stall_warning_s=60.0), mode)
    for rank in (0, 3):
        net.announce(rank, *map(request, names))
    net.settle(until_s=59.0)
    net.now_s = 60.0
    net.step(0, [Ticked()])
    net.deliver((0, 1))
    net.links[1, 0].clear()
    for child in (2, 3, 4):
        net.deliver((1, child))
    net.step(1, [event for child in (2, 3, 4) for event in net.arrive((child, 1))])
    (message,) = net.links[1, 0]
    assert message is not None
    waiting = parse_upward(message, 5).waiting
    assert [one.name for one in waiting] == names
    for one in waiting:
        assert one.announced == Ranks.of([3])
        assert one.answered == Ranks.of([2, 3, 4])


@pytest.mark.parametrize("mode", ["tree", Twins])
def test_what_shares_a_tensor_with_what_is_refused_on_its_way_waits_on(mode: str | Maker) -> None:
    net = network([-1, 0, 1, 1], Settings(stall_warning_s=1.0, stall_error_s=2.0), mode)
    net.announce(0, request("a"))
    net.settle(until_s=1.9)
    net.now_s = 2.0
    net.step(0, [Ticked()])
    net.deliver_except_to(0)
    answers = len(net.links[1, 0])
    # Rank 1 says both together; the root has refused one of them by then.
    net.announce(1, request("a"))
    net.announce(2, group("g", "a", "b"))
    net.announce(3, request("a"))
    for child in (2, 3):
        net.deliver((child, 1))
    net.deliver((1, 0), answers)
    assert [name for name, _ in net.refused[0]] == ["a"]
    net.settle(until_s=2.5)
    assert [len(refused) for refused in net.refused] == [1, 1, 0, 1]
    before = [len(warned) for warned in net.warned]
    net.settle(until_s=3.2)
    assert [warned[n:] for warned, n in zip(net.warned, before, strict=True)] == [
        ["'g' has waited 1 s for ranks 0-1, 3; rank 2 announced it"]
    ] * 4
    for rank in (0, 1, 3):
        net.announce(rank, group("g", "a", "b"))
    net.settle(until_s=3.5)
    assert net.names == [["g"]] * 4


@pytest.mark.parametrize("mode", ["tree", Twins])
def test_what_is_said_of_a_name_that_is_passed_on_is_not_passed_on_again(mode: str | Maker) -> None:
    net = network([-1, 0, 1, 1, 3], Settings(), mode)
    net.announce(2, group("g", "a", "b"))
    net.announce(1, request("b"))
    for rank in (3, 4):
        net.announce(rank, request("a"))
    net.settle()
    # Rank 3 says both at once; one of them is what rank 1 has passed on.
    net.announce(3, group("h", "c", "b"))
    net.announce(4, request("b"))
    net.settle()
    net.announce(0, request("a"))
    net.settle()
    assert net.failed == [""] * 5
    assert [[name for name, _ in refused] for refused in net.refused] == [
        ["a"],
        ["b"],
        ["g"],
        ["a"],
        ["b", "a"],
    ]
    for rank in (0, 1, 2, 4):
        net.announce(rank, group("h", "c", "b"))
    net.settle()
    assert net.names == [["h"]] * 5


@pytest.mark.parametrize("mode", ["tree", Twins])
def test_a_release_that_cannot_be_is_not_half_taken(mode: str | Maker) -> None:
    machine = network([-1, 0], Settings(), mode).machines[1]
    machine.step([Announced((request("a"),))], 0.0)
    spoilt = pack_downward(Downward(batches=[(Member(0, request("a")), Member(7, None))]))
    sent, refused = machine.step([Heard(0, spoilt), Announced((request("a"),))], 0.0)[::-1]
    assert refused == RefuseHere(("a",), "'a' is pending already")
    assert isinstance(sent, Send)
    assert "nothing is at position 7" in parse_upward(sent.message, 2).failed


@pytest.mark.parametrize("mode", ["tree", Twins])
def test_what_is_said_together_with_a_refused_name_is_said_again(mode: str | Maker) -> None:
    net = network([-1, 0, 1, 1, 3], Settings(stall_warning_s=1.0, stall_error_s=2.0), mode)
    net.announce(0, request("c"))
    net.settle(until_s=1.9)
    net.announce(2, group("g", "a", "b"))
    net.announce(1, request("b"))
    for rank in (3, 4):
        net.announce(rank, request("a"))
    net.settle(until_s=1.95)
    # Rank 1 has passed on 'b', which rank 3 says now together with what the root then refuses.
    net.announce(3, group("c", "b", "d"))
    net.announce(4, request("b"))
    net.settle(until_s=2.5)
    assert "'c' has waited" in net.refused[0][0][1]
    net.announce(3, request("b"))
    net.settle(until_s=2.55)
    net.announce(0, request("a"))
    net.settle(until_s=2.6)
    assert net.failed == [""] * 5
    assert [sorted(name for name, _ in refused) for refused in net.refused] == [
        ["a", "c"],
        ["b"],
        ["g"],
        ["a", "b", "c"],
        ["a", "b"],
    ]


@pytest.mark.parametrize("mode", ["tree", Twins])
def test_what_comes_together_with_its_refusal_is_void(mode: str | Maker) -> None:
    net = network([-1, 0, 1], Settings(stall_warning_s=1.0, stall_error_s=2.0), mode)
    net.announce(0, request("a"))
    net.announce(1, request("a"))
    net.settle(until_s=1.9)
    net.now_s = 2.0
    net.step(0, [Ticked()])
    net.deliver_except_to(0)
    net.announce(2, request("a"))
    net.deliver((1, 0), len(net.links[1, 0]))
    net.step(1, [*net.arrive((2, 1)), *net.arrive((0, 1))])
    net.settle(until_s=2.5)
    assert [len(refused) for refused in net.refused] == [1] * 3
    net.announce(0, request("a"))
    net.settle(until_s=2.6)
    assert net.names == [[]] * 3
    for rank in (1, 2):
        net.announce(rank, request("a"))
    net.settle(until_s=2.7)
    assert net.names == [["a"]] * 3


def test_a_name_that_is_pending_is_refused_on_that_rank_and_nothing_of_the_call_is_taken() -> None:
    net = network(flat(2))
    net.announce(0, request("a"))
    net.announce(0, request("b"), request("a"))
    assert net.refused_here[0] == ["'a' is pending already"]
    net.announce(1, request("a"), request("b"))
    net.settle()
    assert net.names == [["a"], ["a"]]
    net.announce(0, request("b"))
    net.settle()
    assert net.names == [["a", "b"], ["a", "b"]]


def test_nothing_of_a_group_is_released_before_all_of_it() -> None:
    net = network(flat(2))
    net.announce(0, group("g", "a", "b"))
    net.settle()
    assert net.names == [[], []]
    net.announce(1, group("g", "a", "b"))
    net.settle()
    assert net.names == [["g"], ["g"]]


def test_only_sums_over_all_are_for_those_who_have_joined() -> None:
    net = network(flat(3))
    net.join(1)
    net.settle()
    for rank in (0, 2):
        net.announce(rank, request("b", kind="broadcast", op="", root=0), request("a"))
    net.settle()
    assert net.names == [["a"]] * 3
    assert "cannot be while rank 1 joined" in net.refused[0][0][1]
    net.announce(1, request("late"))
    assert "after this rank has joined" in net.refused_here[1][0]
    net.join(0)
    net.join(2)
    net.settle()
    assert net.joined == [[2]] * 3


@given(st.binary(max_size=60), st.sampled_from([(0, 1), (1, 0), (1, 2)]))
def test_bytes_that_nobody_sends_fail_all_or_do_nothing(data: bytes, link: tuple[int, int]) -> None:
    net = network([-1, 0, 1])
    for rank in range(3):
        net.announce(rank, request("a"))
    net.settle()
    net.links[link].append(data)
    net.settle()


def test_a_group_that_overlaps_more_tensors_than_there_are_ranks_fails_alone() -> None:
    net = network([-1, 0, 1])
    names = ["a", "b", "c", "d", "e"]
    for rank in (1, 0):
        for name in names:
            net.announce(rank, request(name))
    net.announce(2, group("g", *names))
    net.settle()
    assert net.failed == [""] * 3
    assert "ranks differ in where 'a' is" in net.refused[0][0][1]
    assert [len(refused) for refused in net.refused] == [5, 5, 1]


def test_what_differs_on_many_ranks_is_told_in_one_sentence() -> None:
    net = network(flat(100))
    for rank in range(100):
        net.announce(rank, request("a", *[10**12 + rank] * 62, 0))
    net.settle()
    assert net.failed == [""] * 100
    assert "on rank 2, and 97 more" in net.refused[99][0][1]


def test_a_tensor_of_a_group_that_fails_is_announced_again() -> None:
    net = network([-1, 0, 1])
    net.announce(1, request("a"))
    net.announce(2, group("g", "a", "b"))
    net.deliver((2, 1))
    net.announce(1, request("b"))
    net.deliver((1, 0))
    for name in ("a", "b"):
        net.announce(0, request(name))
    net.settle()
    assert [name for name, _ in net.refused[1]] == ["a"]
    net.announce(2, request("b"))
    net.settle()
    assert net.names == [["b"]] * 3


def test_what_overlaps_two_others_that_overlap_is_told_once() -> None:
    net = network(flat(3))
    net.announce(0, request("a"))
    net.announce(1, group("g", "a", "b"))
    net.settle()
    net.announce(2, group("h", "a", "b"))
    net.settle()
    texts = {text for refused in net.refused for _, text in refused}
    assert texts == {
        "ranks differ in where 'a' is: in 'a' on rank 0, and in 'g' on rank 1, and in 'h' on rank 2"
    }


def test_a_name_that_no_message_holds_is_refused() -> None:
    net = network(flat(2))
    net.announce(0, request("x" * 4097))
    net.announce(0, request("y", *[1] * 65))
    net.announce(0, request("z", 2**40, 2**40))
    net.announce(0, group("g", *(f"{i}" for i in range(65537))))
    assert "more than 4096 bytes" in net.refused_here[0][0]
    assert "'y' has a tensor of more than 64 dimensions" in net.refused_here[0][1]
    assert "'z' has a tensor of more bytes than can be" in net.refused_here[0][2]
    assert "the group 'g' has more than 65536 tensors" in net.refused_here[0][3]


@pytest.mark.parametrize("mode", ["tree", Twins])
def test_a_tick_that_comes_too_soon_is_asked_for_again(mode: str | Maker) -> None:
    net = network([-1, 0], Settings(stall_warning_s=10.0), mode)
    machine = net.machines[0]
    asked = machine.step([Announced((request("t"),))], 0.0)
    (at_s,) = [action.at_s for action in asked if isinstance(action, SleepUntil)]
    again = machine.step([Ticked()], at_s - 1e-9)
    assert [action.at_s for action in again if isinstance(action, SleepUntil)] == [at_s]
