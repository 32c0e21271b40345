"""An order that follows from the graph: paths decide, not layers or direct edges."""

from __future__ import annotations

import random
import time

import pytest

from control.network import Network
from control.programs import request
from plink.training.control.graph import Graph, Order, order_of
from plink.training.control.graphed import Graphed
from plink.training.control.settings import Settings

BIG = 1 << 30


def graph_of(inputs: list[list[int]], reductions: list[int]) -> Graph:
    return Graph(inputs, {node: request(f"n{node}") for node in reductions})


def buffers(order: Order) -> list[list[str]]:
    return [[one.name for one in order.requests[first:end]] for first, end in order.buffers]


def a_graph(rng: random.Random, nodes: int, edges: int) -> Graph:
    inputs: list[list[int]] = [[] for _ in range(nodes)]
    for node in range(1, nodes):
        # Mostly the few before, as layers have; one in fifty from anywhere.
        inputs[node].append(rng.randrange(max(0, node - 4), node))
    for _ in range(edges - nodes + 1):
        node = rng.randrange(1, nodes)
        inputs[node].append(rng.randrange(node if rng.random() < 0.02 else 0, node + 1) % node)
    return graph_of(inputs, [node for node in range(nodes) if rng.random() < 0.05])


def ancestors(graph: Graph, node: int) -> set[int]:
    found: set[int] = set()
    left = [node]
    while left:
        for one in graph.inputs[left.pop()]:
            if one not in found:
                found.add(one)
                left.append(one)
    return found


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


@pytest.mark.parametrize("seed", range(20))
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


@pytest.mark.parametrize("seed", range(20))
def test_ranks_never_wait_for_each_other_however_they_schedule(seed: int) -> None:
    rng = random.Random(seed)
    graph = a_graph(rng, 120, 180)
    fetches = rng.sample(range(120), 6)
    order = order_of(graph, fetches, 64)
    needed = set(fetches).union(*(ancestors(graph, one) for one in fetches))
    net = Network([Graphed(order, Settings()) for _ in range(3)])
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
    net.check()
    assert net.sent == 0


def test_what_is_not_as_in_the_first_iteration_is_refused_by_name() -> None:
    order = order_of(graph_of([[], [0]], [0, 1]), [1], BIG)
    net = Network([Graphed(order, Settings(stall_warning_s=60.0))])
    net.announce(0, request("other"))
    net.announce(0, request("n1", 5))
    net.announce(0, request("n1"))
    net.announce(0, request("n1"))
    net.join(0)
    assert [told.split(",")[0] for told in net.refused_here[0]] == [
        "'other' is not in the graph of the first iteration",
        "'n1' is sum all-reduce of float32[5]",
        "'n1' is pending already",
        "a rank cannot join where the graph decides what is reduced",
    ]
    net.settle(until_s=61.0)
    assert "'n1' has waited 60 s or more; this rank has not announced 'n0'" in net.warned[0][0]
    net.announce(0, request("n0"))
    assert net.names == [["n0", "n1"]]


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
