"""How long it takes to find an order of all-reduces in a graph, small or large."""

from __future__ import annotations

import functools
import random
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchkit.control.effort import Effort
from benchkit.report import Report
from plink.torch.named.learning import Learner
from plink.training.control import requests
from plink.training.control.graph import Graph, order_of
from plink.training.control.requests import Request

# Nodes and edges of ResNet-18 and ResNet-152 as TensorFlow's graphs have them (Pumma et al., table
# I), and how many all-reduces.
GRAPHS = ((1714, 2565, 62), (11_128, 16_956, 467))
BLOCKS = (8, 50)
REPETITIONS = 9
FUSION_BYTES = 64 << 20
MOST_MS = 300.0
# Of the time, for 6.6 times the elements.
MOST_GROWTH = 8.0
CHANNELS = 4
HEADER = ("graph", "nodes", "edges", "all-reduces", "buffers", "ms (median)")


def show(effort: Effort, report: Report) -> None:
    """Measure a small graph and a large one, of a table of the paper and of PyTorch's autograd."""
    rows, times_ms = [], []
    for nodes, edges, reductions in GRAPHS:
        graph = a_graph(random.Random(effort.seed), nodes, edges, reductions)
        order = order_of(graph, range(nodes), FUSION_BYTES)
        times_ms.append(median_ms(functools.partial(order_of, graph, range(nodes), FUSION_BYTES)))
        rows.append(("as the paper's", nodes, edges, reductions, len(order.buffers), times_ms[-1]))
    elements = [nodes + edges for nodes, edges, _ in GRAPHS]
    for blocks in BLOCKS:
        model = nn.Sequential(*(Bottleneck(CHANNELS) for _ in range(blocks)))
        loss = model(torch.ones(1, CHANNELS, 4, 4)).sum()
        learner = Learner(FUSION_BYTES)
        buffers = len(learnt(learner, model, loss))
        nodes, edges = size_of(loss)
        taken_ms = median_ms(functools.partial(learnt, learner, model, loss))
        count = len(list(model.parameters()))
        rows.append((f"autograd's, {blocks} blocks", nodes, edges, count, buffers, taken_ms))
    report.table(HEADER, [(*row[:-1], f"{row[-1]:.1f}") for row in rows], title="Finding an order")
    name = f"{elements[1] / elements[0]:.1f} times the elements: times the time"
    report.at_most(name, MOST_GROWTH, times_ms[1] / times_ms[0])
    report.at_most(f"{elements[1]:,} elements", MOST_MS, times_ms[1], "ms")


def median_ms(run: Callable[[], object]) -> float:
    """Of some repetitions."""
    taken_ms = []
    for _ in range(REPETITIONS):
        start_s = time.perf_counter()
        run()
        taken_ms.append(1000.0 * (time.perf_counter() - start_s))
    return statistics.median(taken_ms)


def a_graph(rng: random.Random, nodes: int, edges: int, reductions: int) -> Graph:
    """One in which most depends on what is near, as in layers."""
    inputs: list[list[int]] = [[] for _ in range(nodes)]
    for node in range(1, nodes):
        inputs[node].append(rng.randrange(max(0, node - 4), node))
    for _ in range(edges - nodes + 1):
        node = rng.randrange(1, nodes)
        first = 0 if rng.random() < 0.02 else max(0, node - 4)
        inputs[node].append(rng.randrange(first, node))
    reduced = rng.sample(range(nodes), reductions)
    return Graph(inputs, {node: request(f"{node}", 1000) for node in reduced})


def request(name: str, length: int) -> Request:
    """An all-reduce of so many numbers."""
    return Request(name, (requests.Tensor("float32", (length,)),))


class Bottleneck(nn.Module):
    """As of a residual network: three convolutions and what normalises them, beside a short cut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for size in (1, 3, 1):
            convolution = nn.Conv2d(channels, channels, size, padding=size // 2, bias=False)
            parts += [convolution, nn.BatchNorm2d(channels), nn.ReLU()]
        self.parts = nn.Sequential(*parts)

    def forward(self, inputs: Tensor) -> Tensor:
        """Both together."""
        out: Tensor = self.parts(inputs) + inputs
        return out


def learnt(learner: Learner, model: nn.Module, loss: Tensor) -> tuple[tuple[int, int], ...]:
    """The buffers of what autograd shows, as a rank finds them in an iteration."""
    named = dict(model.named_parameters())
    learner.begin()
    learner.compute(loss, {name: [parameter] for name, parameter in named.items()})
    learner.announce([request(name, parameter.numel()) for name, parameter in named.items()])
    order = learner.order()
    if order is None:
        raise AssertionError("no order was found")
    return order.buffers


def size_of(loss: Tensor) -> tuple[int, int]:
    """Nodes and edges that autograd shows."""
    seen, left, edges = {loss.grad_fn}, [loss.grad_fn], 0
    for node in left:
        if node is None:
            continue
        for needed, _ in node.next_functions:
            edges += needed is not None
            if needed is not None and needed not in seen:
                seen.add(needed)
                left.append(needed)
    return len(seen), edges
