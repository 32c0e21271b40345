"""An order that follows from the graph: paths decide, not layers or direct edges."""

from __future__ import annotations

import random
import time

import pytest

from control.graphs import BIG, a_graph, ancestors, graph_of
from plink.training.control.graph import Order, order_of
from support.seeds import with_seeds


def buffers(order: Order) -> list[list[str]]:
    return [[one.name for one in order.requests[first:end]] for first, end in order.buffers]


def test_the_figure_of_the_paper() -> None:
    # All-reduces 0 and 1 are concurrent, 2 depends on 0, and 3 and 4 on 2 and 1.
    graph = graph_of([[], [0], [0], [1], [3], [4, 2], [4]], [1, 2, 4, 5, 6])
    assert buffers(order_of(graph, [5, 6], BIG)) == [["n1", "n2"], ["n4"], ["n5", "n6"]]


def test_a_path_through_other_nodes_counts_as_a_dependency() -> None:
    # 5 depends on 1 only by way of three nodes that are no all-reduces.
    graph = graph_of([[], [0], [1], [2], [3], [4], [0]], [1, 5, 6])
    assert buffers(order_of(graph, [5, 6], BIG)) == [["n1", "n6"], ["n5"]]


def test_statistics_that_are_reduced_forward_and_backward_do_not_wait_for_each_other() -> None:
    inputs: list[list[int]] = [[]]

    def add(*needed: int) -> int:
        inputs.append(list(needed))
        return len(inputs) - 1

    last = 0
    chain, gradients = [], []
    for _ in range(3):
        output = add(last)
        chain.append(add(output))
        last = add(output, chain[-1])
    for _ in range(3):
        arrived = add(last)
        gradients.append(add(arrived))
        chain.append(add(arrived))
        last = add(arrived, chain[-1])
    found = buffers(order_of(graph_of(inputs, chain + gradients), [*gradients, last], BIG))
    of = {name: i for i, names in enumerate(found) for name in names}
    assert [of[f"n{node}"] for node in chain] == list(range(6))
    # The gradient of a layer's weights shares a buffer with the sum that goes backward from there.
    assert [of[f"n{node}"] for node in gradients] == [3, 4, 5]


@with_seeds(5, 200)
def test_parents_come_first_and_no_buffer_has_two_that_depend(seed: int) -> None:
    rng = random.Random(seed)
    graph = a_graph(rng, 300, 450)
    fetches = rng.sample(range(300), 8)
    order = order_of(graph, fetches, rng.choice([16, 64, BIG]))
    needed = set(fetches).union(*(ancestors(graph, one) for one in fetches))
    named = {one.name: i for i, one in enumerate(order.requests)}
    assert set(named) == {f"n{node}" for node in graph.reductions if node in needed}
    buffer_of = {number: i for i, (a, b) in enumerate(order.buffers) for number in range(a, b)}
    for node in graph.reductions:
        if node in needed:
            mine = named[f"n{node}"]
            for one in ancestors(graph, node) & set(graph.reductions):
                assert named[f"n{one}"] < mine
                assert buffer_of[named[f"n{one}"]] < buffer_of[mine]
    assert order_of(graph, fetches[::-1], BIG).requests == order.requests


def test_siblings_come_as_they_were_added_and_a_full_buffer_ends() -> None:
    graph = graph_of([[], *[[0] for _ in range(6)]], list(range(1, 7)))
    order = order_of(graph, [6, 4, 5, 3, 2, 1], 32)
    assert buffers(order) == [["n1", "n2"], ["n3", "n4"], ["n5", "n6"]]
    assert order.digest != order_of(graph, [1, 2, 3, 4, 5, 6], 64).digest


def test_a_circle_is_told() -> None:
    with pytest.raises(ValueError, match="depends on itself"):
        order_of(graph_of([[1], [0]], [0]), [1], BIG)


@pytest.mark.timing
def test_a_large_graph_takes_as_much_longer_as_it_is_larger() -> None:
    rng = random.Random(1)
    times_s = []
    # Nodes and edges of ResNet18 and ResNet152 in the paper's table I.
    for nodes, edges in ((1714, 2565), (11_128, 16_956)):
        graph = a_graph(rng, nodes, edges)
        fetches = range(nodes)
        taken_s = []
        for _ in range(7):
            start_s = time.process_time()
            order_of(graph, fetches, BIG)
            taken_s.append(time.process_time() - start_s)
        times_s.append(min(taken_s))
    assert times_s[1] < 0.3
    # A square would be 42 times; docs/control.md has the figure.
    assert times_s[1] < 20 * times_s[0]
