"""Graphs of computations, for tests."""

from __future__ import annotations

import random

from control.programs import request
from plink.training.control.graph import Graph

BIG = 1 << 30


def graph_of(inputs: list[list[int]], reductions: list[int]) -> Graph:
    return Graph(inputs, {node: request(f"n{node}") for node in reductions})


def a_graph(rng: random.Random, nodes: int, edges: int) -> Graph:
    inputs: list[list[int]] = [[] for _ in range(nodes)]
    for node in range(1, nodes):
        # Mostly the few before, as layers have; one in fifty from anywhere.
        inputs[node].append(rng.randrange(max(0, node - 4), node))
    for _ in range(edges - nodes + 1):
        node = rng.randrange(1, nodes)
        inputs[node].append(rng.randrange(node if rng.random() < 0.02 else 0, node + 1) % node)
    reductions = [node for node in range(nodes) if rng.random() < 0.05]
    return graph_of(inputs, reductions or [rng.randrange(nodes)])


def ancestors(graph: Graph, node: int) -> set[int]:
    found: set[int] = set()
    left = [node]
    while left:
        for one in graph.inputs[left.pop()]:
            if one not in found:
                found.add(one)
                left.append(one)
    return found
