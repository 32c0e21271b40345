"""Machines that follow a graph: without messages, until it does not hold."""

from __future__ import annotations

import random
import re
from functools import partial

import pytest

from control.graphs import BIG, a_graph, ancestors
from control.network import Network
from control.programs import a_tree, flat, request
from control.twins import Twins
from plink.training.control.events import Awaited, IterationEnded, Ticked
from plink.training.control.graph import Order, order_of
from plink.training.control.graphed import Graphed
from plink.training.control.requests import Request, Tensor
from plink.training.control.settings import Settings
from plink.training.control.shape import places
from support.seeds import with_seeds

W_S = 60.0


def network(
    parents: list[int], settings: Settings | None = None, *, completes: bool = True
) -> Network:
    used = settings or Settings()
    machines = [Graphed(place, used, partial(Twins, place, used)) for place in places(parents)]
    return Network(machines, completes=completes)


def end_iteration(net: Network, order: Order | None, *more: Order | None) -> None:
    """On all ranks, which have learnt this; or the last ranks something else."""
    orders = [order] * (len(net.machines) - len(more)) + list(more)
    for rank, one in enumerate(orders):
        net.step(rank, [IterationEnded(one)])


def following(
    parents: list[int],
    order: Order,
    settings: Settings | None = None,
    *,
    completes: bool = True,
) -> Network:
    """Ranks that have learnt it."""
    net = network(parents, settings, completes=completes)
    end_iteration(net, order)
    net.settle()
    assert all(machine.is_following for machine in net.machines)
    net.sent = 0
    return net


def chain(*names: str) -> Order:
    """Each depends on the one before."""
    return Order(tuple(map(request, names)), tuple((i, i + 1) for i in range(len(names))))


def together(*names: str) -> Order:
    """All in one buffer."""
    return Order(tuple(map(request, names)), ((0, len(names)),))


@with_seeds(4, 200)
def test_ranks_never_wait_for_each_other_however_they_schedule(seed: int) -> None:
    rng = random.Random(seed)
    graph = a_graph(rng, 120, 180)
    fetches = [*rng.sample(range(120), 6), max(graph.reductions)]
    order = order_of(graph, fetches, 64)
    needed = set(fetches).union(*(ancestors(graph, one) for one in fetches))
    net = following(flat(3), order)
    for iteration in range(2):
        ran: list[set[int]] = [set() for _ in range(3)]
        announced: list[set[int]] = [set() for _ in range(3)]
        while any(done != needed for done in ran):
            moved = False
            # A collective ends when all ranks have begun it.
            begun = min(len(names) for names in net.names)
            ended = set(net.names[0][iteration * len(order.requests) : begun])
            for rank in rng.sample(range(3), 3):
                for node in rng.sample(sorted(needed - ran[rank]), len(needed - ran[rank])):
                    if not ran[rank].issuperset(graph.inputs[node]):
                        continue
                    if node not in graph.reductions or f"n{node}" in ended:
                        ran[rank].add(node)
                        moved = True
                    elif node not in announced[rank]:
                        announced[rank].add(node)
                        net.announce(rank, graph.reductions[node])
                        moved = True
            assert moved, "dead-lock"
        end_iteration(net, None)
    net.check()
    assert net.sent == 0
    assert not any(net.warned)


@with_seeds(4, 200)
def test_ranks_leave_a_graph_behind_the_same_buffer_and_learn_again(seed: int) -> None:
    rng = random.Random(seed)
    ranks = rng.randint(2, 6)
    order = order_of(a_graph(rng, 120, 180), range(120), rng.choice([32, BIG]))
    names = [one.name for one in order.requests]
    net = following(a_tree(rng, ranks), order)
    expected: list[str] = []
    for iteration in range(8):
        others = [f"other {iteration}"] if rng.random() < 0.4 else []
        left_out = {rng.choice(names)} if rng.random() < 0.3 else set()
        for rank in rng.sample(range(ranks), ranks):
            mine = [request(name) for name in [*names, *others] if name not in left_out]
            for one in rng.sample(mine, len(mine)):
                net.announce(rank, one)
                if rng.random() < 0.2 and (busy := net.busy_links()):
                    net.deliver(rng.choice(busy))
        if left_out:
            for rank in range(ranks):
                if waits := sorted(net.pending[rank]):
                    net.step(rank, [Awaited(waits[0])])
        net.settle(rng)
        expected += sorted(set(names) - left_out | set(others))
        end_iteration(net, order)
        net.settle(rng)
        assert not any(net.pending), "dead-lock"
    net.check()
    assert sorted(net.names[0]) == sorted(expected)


def test_what_the_graph_does_not_have_is_agreed_on_by_name() -> None:
    net = following(flat(3), chain("a", "b"))
    net.announce(0, request("a"))
    net.announce(0, request("other"))
    net.settle()
    for rank in (1, 2):
        net.announce(rank, request("other"))
    net.settle()
    # Rank 0 has begun the first, so all do before they leave the graph.
    assert net.names == [["a"], [], []]
    for rank in (1, 2):
        net.announce(rank, request("a"))
    net.settle()
    assert net.names == [["a", "other"]] * 3
    text = "'other' was not in the iteration that was learnt: ranks agree as in mode 'tree' until"
    assert [told[0].startswith(text) for told in net.warned] == [True] * 3
    for rank in range(3):
        net.announce(rank, request("b"))
    net.settle()
    # The iteration that was left was not seen as a whole; the one after it is.
    for is_learnt in (False, True):
        end_iteration(net, chain("a", "b"))
        net.settle()
        assert [machine.is_following for machine in net.machines] == [is_learnt] * 3


def test_another_shape_than_was_learnt_is_told_where_ranks_differ_and_runs_where_not() -> None:
    net = following(flat(3), chain("a", "b"))
    for rank in range(3):
        net.announce(rank, request("a", 5))
        net.announce(rank, request("b", 7 if rank == 1 else 6))
    net.settle()
    assert net.names == [["a"]] * 3
    assert "float32[5], and sum all-reduce of float32[4] was learnt" in net.warned[2][0]
    [refused] = {tuple(told) for told in net.refused}
    assert "float32[6] on ranks 0, 2, and sum all-reduce of float32[7] on rank 1" in refused[0][1]


def test_a_name_that_is_pending_and_joining_are_refused_on_that_rank() -> None:
    net = following(flat(2), chain("a", "b"))
    net.announce(0, request("b"))
    net.announce(0, request("b"), request("a"))
    net.join(0)
    assert net.refused_here[0] == [
        "'b' is pending already",
        "a rank cannot join where the graph decides what is reduced",
    ]
    net.has_joined.clear()
    for rank, name in ((0, "a"), (1, "a"), (1, "b")):
        net.announce(rank, request(name))
    assert net.names == [["a", "b"]] * 2
    assert net.sent == 0


def test_every_rank_is_told_who_keeps_the_others_waiting() -> None:
    settings = Settings(is_deterministic=True)
    net = following(flat(4), chain("a", "b"), settings, completes=False)
    for rank in (0, 1, 3):
        net.announce(rank, request("a"))
    net.settle(until_s=W_S + 0.5)
    told = "'a' has waited 60 s for rank 2; ranks 0-1, 3 announced it"
    assert net.warned == [[told]] * 4
    net.settle(until_s=2 * W_S + 0.9)
    assert net.warned == [[told, told.replace("60", "120")]] * 4
    net.announce(2, request("a"))
    for rank in range(4):
        net.announce(rank, request("b"))
    net.settle()
    assert net.names == [["a", "b"]] * 4
    # Who waits has no other graph.
    assert all(machine.is_following for machine in net.machines)


def test_what_nobody_has_begun_is_told_as_in_tree_since_it_was_announced() -> None:
    settings = Settings(stall_error_s=90.0)
    net = following(flat(3), together("a", "b"), settings)
    for rank in range(3):
        net.announce(rank, request("a"))
    net.announce(0, request("b"))
    # Who has all of a buffer begins it; what it lacks the others are told of.
    net.settle(until_s=W_S + 0.5)
    told = "'b' has waited 60 s for ranks 1-2; rank 0 announced it"
    assert net.warned == [[told]] * 3
    net.settle(until_s=95.0)
    assert net.failed[0].startswith("'b' has waited 90 s for ranks 1-2; rank 0 announced it")
    assert len(set(net.failed)) == 1


def test_what_no_rank_has_begun_fails_alone() -> None:
    net = following(flat(3), chain("a", "b"), Settings(stall_error_s=70.0))
    net.announce(0, request("b"))
    net.announce(1, request("b"))
    net.settle(until_s=W_S + 0.5)
    # They leave the graph, and tell each other what they wait for.
    assert net.warned == [["'b' has waited 60 s for rank 2; ranks 0-1 announced it"]] * 3
    net.settle(until_s=80.0)
    assert [len(refused) for refused in net.refused] == [1, 1, 0]
    assert not any(net.failed)


def test_who_still_follows_the_graph_that_others_have_left_answers_when_it_has_left_it() -> None:
    net = following(flat(3), chain("a", "b", "c"))
    for rank in range(3):
        net.announce(rank, request("c"))
    for rank in (0, 1):
        net.announce(rank, request("a"))
        net.announce(rank, request("other"))
    net.now_s = W_S + 1.0
    for rank in range(3):
        net.step(rank, [Ticked()])
    net.settle(until_s=net.now_s + 3.0)
    # Rank 2 is to begin 'a' before it leaves the graph, and only then says that it announced 'c'.
    assert net.names == [["a"], ["a"], []]
    net.announce(2, request("a"))
    net.settle(until_s=net.now_s + 0.5)
    assert net.names == [["a", "c"]] * 3
    for warned in net.warned:
        told = [re.sub(r" [\d.]+ s", "", text) for text in warned if "has waited" in text]
        assert told == [
            "'a' has waited for rank 2; ranks 0-1 announced it",
            "'other' has waited for rank 2; ranks 0-1 announced it",
        ]


@pytest.mark.parametrize(("late", "others"), [(1, "ranks 0, 2-3"), (0, "ranks 1-3")])
def test_who_leaves_the_graph_late_relays_meanwhile(late: int, others: str) -> None:
    net = following([-1, 0, 1, 1], chain("a", "b", "c"))
    net.announce(late, request("c"))
    net.settle(until_s=1.0)
    for rank in {0, 1, 2, 3} - {late}:
        net.announce(rank, request("a"))
        net.announce(rank, request("other"))
    net.settle(until_s=50.0)
    # The late rank is to begin 'a' before it leaves the graph.
    assert [names == ["a"] for names in net.names] == [rank != late for rank in range(4)]
    net.settle(until_s=67.0)
    # All ranks hear that only the late one has not answered.
    for warned in net.warned:
        assert [text for text in warned if "has waited" in text] == [
            f"'{name}' has waited 60 s for rank {late}; {others} announced it"
            for name in ("a", "other")
        ]
    net.announce(late, request("a"))
    net.announce(late, request("other"))
    for rank in {0, 1, 2, 3} - {late}:
        net.announce(rank, request("c"))
    net.settle(until_s=68.0)
    assert net.names == [["a", "other", "c"]] * 4


def test_ranks_that_have_learnt_different_graphs_hear_it_and_go_on() -> None:
    net = network(flat(3))
    end_iteration(net, chain("a", "b"), chain("b", "a"))
    for rank in range(3):
        # Held until that is known.
        net.announce(rank, request("a"))
    assert not net.names[0]
    net.settle()
    assert net.names == [["a"]] * 3
    [text] = {told for (told,) in net.warned}
    assert text.startswith("ranks have not learnt the same graph, and go on as in mode 'tree': ")
    told = r"ranks 0-1: 2 collectives, [a-z ]+ [0-9a-f]{8}; rank 2: 2 collectives, [a-z ]+ \w{8}"
    assert re.fullmatch(told, text.split("'tree': ")[1])
    # Then after two iterations more, then three, five, nine.
    tries: list[int] = []
    for iteration in range(2, 22):
        end_iteration(net, chain("a"), chain("b"))
        net.settle()
        if len(net.warned[0]) > 1 + len(tries):
            tries.append(iteration)
    assert tries == [3, 6, 11, 20]


def test_a_program_that_shows_no_graph_is_told_how() -> None:
    net = network(flat(2))
    end_iteration(net, None)
    net.settle()
    assert "call optimizer.learn(loss)" in net.warned[0][0]


@pytest.mark.parametrize("lost", range(4))
def test_a_rank_is_lost(lost: int) -> None:
    net = following([-1, 0, 1, 1], chain("a", "b"))
    for rank in range(4):
        net.announce(rank, request("b"))
    net.lose(lost)
    net.settle()
    told = {text for rank, text in enumerate(net.failed) if rank != lost}
    assert told == {f"rank {lost} closed its engine"}


def test_what_has_no_name_is_known_by_its_place_in_an_iteration() -> None:
    def unnamed(number: int, *shape: int) -> Request:
        return Request(f"#{number}", (Tensor("float32", shape),))

    order = Order((unnamed(0, 3), request("a"), unnamed(1, 4)), ((0, 1), (1, 2), (2, 3)))
    net = following(flat(2), order)
    for iteration in range(3):
        for rank in range(2):
            net.announce(rank, unnamed(7 + 2 * iteration, 3))
            net.announce(rank, request("a"))
            net.announce(rank, unnamed(8 + 2 * iteration, 4))
        end_iteration(net, None)
    assert net.sent == 0
    assert net.names[0][3:6] == ["#9", "a", "#10"]
    net.announce(0, unnamed(13, 9))
    net.announce(1, unnamed(13, 9))
    net.settle()
    assert net.names[1][-1] == "#13"


@pytest.mark.parametrize("is_deterministic", [False, True])
def test_a_graph_is_left_between_iterations_only_where_bits_matter(is_deterministic: bool) -> None:
    settings = Settings(is_deterministic=is_deterministic)
    for begun in (0, 1):
        net = following(flat(2), chain("a", "b"), settings)
        for rank in range(2):
            for name in ("a", "other")[1 - begun :]:
                net.announce(rank, request(name))
        net.settle()
        if begun and is_deterministic:
            assert "which deterministic=True excludes" in net.failed[0]
            assert net.failed[0] == net.failed[1]
        else:
            assert net.names[0][-1] == "other"


@with_seeds(10, 1000)
def test_damaged_messages_end_in_a_sentence(seed: int) -> None:
    rng = random.Random(seed)
    net = following([-1, 0, 1], chain("a", "b"))
    net.announce(rng.randrange(3), request("other"))
    while busy := net.busy_links():
        link = rng.choice(busy)
        message = net.links[link][0]
        if message is not None and rng.random() < 0.5:
            damaged = bytearray(message)
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            net.links[link][0] = bytes(damaged[: rng.randint(1, len(damaged))])
        net.deliver(link)
    # What a rank says of it may be damaged on its way to the others.
    said = [text for text in net.failed if text]
    assert not said or any("broke the protocol of control" in text for text in said)
