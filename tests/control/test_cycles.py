"""Ranks that agree in cycles, by name and by bits: as along a tree, at another price."""

from __future__ import annotations

import random
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.network import Network
from control.programs import Program, a_tree, flat, group, network, request, run
from control.twins import Twins
from plink.base.replacing import replace
from plink.training.control.bitvector import BitVector
from plink.training.control.requests import Request
from plink.training.control.settings import Settings
from support.seeds import draw_seeds

WAYS: dict[str, tuple[str, Settings]] = {
    "full": ("full", Settings()),
    "bitvector": ("bitvector", Settings()),
    "nonblocking": ("bitvector", Settings(is_blocking=False)),
    "common": ("bitvector", Settings(common_sleep_every=2)),
}
SHAPES = [flat(4), [-1, 0, 1, 2], [1, 2, -1, 2]]


def way(name: str, parents: list[int], **settings: object) -> Network:
    mode, usual = WAYS[name]
    make = partial(Twins, mode=mode)
    return network(parents, replace(usual, **settings), make)  # type: ignore[arg-type]


def changes(net: Network) -> set[int]:
    machines = [machine.python for machine in net.machines if isinstance(machine, Twins)]
    return {machine._cache.changes for machine in machines if isinstance(machine, BitVector)}


@pytest.mark.parametrize("name", WAYS)
def test_all_release_the_same_once_whatever_comes_when(name: str) -> None:
    for seed in draw_seeds(5, 200):
        rng = random.Random(seed)
        ranks = rng.choice([1, 2, 3, 4, 7, 16])
        tensors = rng.randint(1, 12)
        iterations = rng.randint(1, 4)
        shapes = {t: rng.randint(0, 30) for t in range(tensors)}
        plan: list[list[Request]] = []
        for _ in range(iterations):
            if rng.random() < 0.5:
                shapes[rng.randrange(tensors)] = rng.randint(31, 60)
            plan.append([request(f"t{t}", shape) for t, shape in shapes.items()])
        lasts = [
            rng.randint(0, iterations) if rng.random() < 0.3 else iterations for _ in range(ranks)
        ]
        net = way(
            name,
            flat(ranks) if rng.random() < 0.3 else a_tree(rng, ranks),
            fusion_bytes=rng.choice([1, 64, 1 << 20]),
            check_every=rng.choice([1, 3, 256]),
            cache=rng.choice([1, 3, tensors, 1024]),
            most_positions=rng.choice([1, 2, tensors, 1 << 20]),
        )
        run(net, [Program(rank, plan, rng, lasts[rank]) for rank in range(ranks)], rng)
        net.check()
        assert not any(net.failed), net.failed
        for rank in range(ranks):
            assert net.joined[rank] == net.joined[0]
            assert lasts[net.joined[rank][0]] == max(lasts)
            for t in range(tensors):
                assert net.names[rank].count(f"t{t}") == max(lasts)


@pytest.mark.parametrize("name", WAYS)
def test_many_ranks_release_the_same(name: str) -> None:
    rng = random.Random(64)
    plan = [[request(f"t{t}", 4) for t in range(6)] for _ in range(2)]
    net = way(name, a_tree(rng, 32), check_every=1)
    run(net, [Program(rank, plan, rng, 2) for rank in range(32)], rng)
    net.check()
    assert all(len(names) == 12 for names in net.names)


@pytest.mark.parametrize(
    ("parents", "other", "told"),
    [
        (
            SHAPES[0],
            request("a", 5),
            "float32[4] on ranks 0, 2-3, and sum all-reduce of float32[5]",
        ),
        (SHAPES[1], request("a", op="max"), "max all-reduce of float32[4] on rank 1"),
        (SHAPES[2], request("a", kind="broadcast", op="", root=1), "float32[4] with root 1"),
        (SHAPES[1], group("g", "a", "b"), "ranks differ in where 'a' is"),
    ],
)
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("is_cached", [False, True])
def test_what_differs_fails_alike_everywhere_and_all_else_goes_on(
    is_cached: bool, parents: list[int], name: str, other: Request, told: str
) -> None:
    net = way(name, parents)
    if is_cached:
        for rank in range(4):
            net.announce(rank, request("a"), request("c"))
        net.settle()
    before = [len(names) for names in net.names]
    for rank in range(4):
        net.announce(rank, other if rank == 1 else request("a"))
        net.announce(rank, request("c"))
    net.settle(until_s=net.now_s + 0.05)
    assert [len(refused) for refused in net.refused] == [1] * 4
    texts = {text for refused in net.refused for _, text in refused}
    assert len(texts) == 1
    assert told in texts.pop()
    assert [names[n:] for names, n in zip(net.names, before, strict=True)] == [["c"]] * 4
    for rank in range(4):
        net.announce(rank, request("a"))
    net.settle(until_s=net.now_s + 0.05)
    assert all(names[-1] == "a" for names in net.names)


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize(
    ("parents", "is_cached"),
    [(flat(6), True), ([3, 3, 1, -1, 3, 4], True), ([3, 3, 1, -1, 3, 4], False)],
)
def test_all_are_told_who_keeps_them_waiting(
    is_cached: bool, parents: list[int], name: str
) -> None:
    net = way(name, parents, cycle_s=0.2, stall_warning_s=20.0, stall_error_s=50.0)
    if is_cached:
        for rank in range(6):
            net.announce(rank, request("x"))
        net.settle(until_s=10.0)
    base_s = net.now_s
    for rank in (0, 1, 2):
        net.announce(rank, request("x"))
    net.settle(until_s=base_s + 15.0)
    net.announce(4, request("x"))
    for at_s, texts in [(20.0, net.warned), (40.0, net.warned), (50.0, net.refused)]:
        before = [len(told) for told in texts]
        net.settle(until_s=base_s + at_s - 0.3)
        assert [len(told) for told in texts] == before
        # A second, and what a cycle over three ranks without blocking takes.
        net.settle(until_s=base_s + at_s + 2.5)
        told = {str(one) for said, n in zip(texts, before, strict=True) for one in said[n:]}
        assert len(told) == 1
        found = re.search(r"'x' has waited ([\d.]+) s for (.*)", told.pop())
        assert found is not None
        assert at_s <= float(found[1]) <= at_s + 1.5
        assert found[2].startswith("ranks 3, 5; ranks 0-2, 4 announced it")
    assert [len(warned) for warned in net.warned] == [2] * 6
    assert [len(refused) for refused in net.refused] == [1, 1, 1, 0, 1, 0]
    for rank in range(6):
        net.announce(rank, request("x"))
    net.settle(until_s=base_s + 60.0)
    assert all(names[-1] == "x" for names in net.names)


@pytest.mark.parametrize("name", WAYS)
def test_only_sums_over_all_are_for_those_who_have_joined(name: str) -> None:
    net = way(name, flat(3))
    whole = request("b", kind="broadcast", op="", root=0)
    for rank in range(3):
        net.announce(rank, whole, request("a"))
    net.settle()
    net.join(1)
    net.settle(until_s=net.now_s + 0.05)
    for rank in (0, 2):
        net.announce(rank, whole, request("a"))
    net.settle(until_s=net.now_s + 0.05)
    assert [names[2:] for names in net.names] == [["a"]] * 3
    told = "'b' is of the kind broadcast, which cannot be while rank 1 joined"
    assert [told in text for refused in net.refused for _, text in refused] == [True] * 2
    net.announce(1, request("late"))
    assert "after this rank has joined" in net.refused_here[1][0]
    net.join(0)
    net.join(2)
    net.settle(until_s=net.now_s + 0.05)
    assert net.joined == [[2]] * 3


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("parents", SHAPES)
def test_what_a_rank_announced_before_all_joined_is_released_with_the_zeros_of_others(
    name: str, parents: list[int]
) -> None:
    net = way(name, parents)
    for rank in range(4):
        net.announce(rank, request("a"))
    net.settle(until_s=net.now_s + 0.05)
    net.announce(2, request("a"), request("b"))
    for rank in range(4):
        net.join(rank)
    net.settle(until_s=net.now_s + 0.05)
    assert [sorted(names) for names in net.names] == [["a", "a", "b"]] * 4
    assert [len(joined) for joined in net.joined] == [1] * 4
    for rank in range(4):
        net.announce(rank, request("a"))
    net.settle(until_s=net.now_s + 0.05)
    assert all(names[-1] == "a" for names in net.names)


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize(
    ("parents", "lost"), [(SHAPES[0], 0), (SHAPES[0], 2), (SHAPES[1], 1), (SHAPES[2], 3)]
)
def test_all_fail_alike_when_a_rank_closes(parents: list[int], lost: int, name: str) -> None:
    net = way(name, parents)
    for rank in range(4):
        net.announce(rank, request("a"))
    net.settle()
    net.announce(1, request("a"))
    net.lose(lost)
    net.settle(until_s=net.now_s + 0.05)
    left = [text for rank, text in enumerate(net.failed) if rank != lost]
    assert left == [f"rank {lost} closed its engine"] * 3
    net.announce((lost + 1) % 4, request("late"))
    assert net.refused_here[(lost + 1) % 4] == [left[0]]


def test_hits_are_released_while_others_are_negotiated() -> None:
    net = way("bitvector", flat(3))
    for rank in range(3):
        net.announce(rank, request("a"), request("b"))
    net.settle()
    for rank in range(3):
        net.announce(rank, request("b"))
        if rank < 2:
            net.announce(rank, request("new"), request("a", 5))
    net.settle()
    assert [names[2:] for names in net.names] == [["b"]] * 3


def test_a_known_collective_costs_bits_and_a_changed_shape_one_negotiation() -> None:
    net = way("bitvector", flat(4))
    costs = []
    for shape in (4, 4, 5, 5):
        for rank in range(4):
            net.announce(rank, request("a rather long name of a layer", shape))
        before, sent = net.sent_bytes, net.sent
        net.settle()
        # What empty cycles cost, of one byte of message and status each way, is no part of it.
        costs.append((net.sent_bytes - before) - 2 * (net.sent - sent))
    assert costs[0] > 100 < costs[2]
    assert costs[1] == costs[3] == 0


def test_a_cache_too_small_grows_by_agreement() -> None:
    net = way("bitvector", flat(3), cache=8)
    names = [f"t{i}" for i in range(9)]
    seen = []
    for _ in range(6):
        for rank in range(3):
            net.announce(rank, *(request(name) for name in names))
        net.settle()
        seen.append(changes(net))
    assert all(len(found) == 1 for found in seen)
    # The first fills it, the second finds one missing, and then none ever is.
    assert seen[2] == seen[-1]
    assert all(len(found) == 54 for found in net.names)


def test_what_was_fused_is_cached_apart() -> None:
    net = way("bitvector", flat(2))
    for rank in range(2):
        net.announce(rank, request("a"), request("b"))
    net.settle()
    assert net.released == [[("a", "b")]] * 2
    before = changes(net)
    for rank in range(2):
        net.announce(rank, request("b"))
    net.settle()
    assert net.released == [[("a", "b"), ("b",)]] * 2
    assert changes(net) == before


def test_a_rank_that_does_not_block_hears_nothing_while_it_sleeps() -> None:
    net = way("nonblocking", flat(3), cycle_s=0.005)
    net.settle()
    for rank in range(3):
        net.announce(rank, request("a"))
    assert net.sleepers() == [0, 1, 2]
    net.settle(until_s=0.1)
    assert net.names == [["a"]] * 3


@given(
    st.binary(max_size=40),
    # Downward they could be what the root says, which nobody doubts.
    st.sampled_from([(1, 0), (2, 1)]),
    st.sampled_from(["full", "bitvector", "nonblocking"]),
)
def test_bytes_that_nobody_sends_fail_all_or_do_nothing(
    data: bytes, link: tuple[int, int], name: str
) -> None:
    net = way(name, [-1, 0, 1])
    for rank in range(3):
        net.announce(rank, request("a"))
    net.settle()
    net.links[link].append(data)
    net.settle()
    if any(net.failed):
        assert all(net.failed)


@pytest.mark.parametrize("name", WAYS)
def test_what_differs_in_parts_of_the_tree_and_overlaps_fails_by_name(name: str) -> None:
    net = way(name, [-1, 0, 1, 1, 3])
    net.announce(1, group("h", "a"))
    net.announce(2, request("a"))
    for rank in (3, 4):
        net.announce(rank, request("a"))
    # Below rank 3 they differ as well, in one of the names that differ below rank 1.
    net.announce(3, group("d", "z"))
    net.announce(4, group("h", "z"))
    net.announce(0, request("a"))
    net.settle(until_s=net.now_s + 0.05)
    assert not any(net.failed), net.failed
    refused = [sorted(one for one, _ in told) for told in net.refused]
    assert refused == [["a"], ["h"], ["a"], ["a"], ["a", "h"]]
    for rank in (0, 1, 2, 4):
        net.announce(rank, group("d", "z"))
    net.settle(until_s=net.now_s + 0.05)
    assert net.names == [["d"]] * 5
