"""An order of all-reduces that follows from the graph of the computation, without any message
(Pumma et al., section IV-D, "TOPO").

**Numbering.** From the fetches backwards all that is computed is found, and the depth of each node:
the longest path to it. All-reduces are numbered by depth, and those of equal depth in the order in
which they were added to the graph, which the program is to do alike on all ranks. So what another
depends on has the smaller number, since depth grows along each edge; siblings, which have the same
inputs and so the same depth, come in the order in which they were added; and there are no ties.

**Buffers.** Each is a run of consecutive numbers, of which none depends on another by any path, up
to the threshold. Ranks begin buffers in the order of their numbers, each when all of it is there.

**No dead-lock.** Let all ranks run one graph, acyclic and finite, whose nodes run at some time once
all their inputs are there, and let a collective that all ranks have begun in the same order end.
Then each buffer is begun by all ranks. By induction: suppose all buffers before `k` are begun by
all ranks, in their order, and so end. Take an all-reduce of buffer `k`. All-reduces on which it
depends by any path have smaller numbers, and are not in `k`, whose members do not depend on each
other; numbers being consecutive, they are in buffers before `k`, and end. So all that it depends on
runs at some time, on each rank, and then it is announced there. That holds for each member of `k`:
at some time all of it is there and all before it is begun, so that `k` is begun; on all ranks as
the same, since numbers and buffers are functions of the graph. With members that are not
consecutive this fails: of 0, 1, 2 and 3, where 2 depends on 1, buffers (0, 2) and (1, 3) wait for
each other for ever.

Threads that are blocked by something outside of the graph, such as a bounded queue before another
all-reduce, break the assumption that a node runs once its inputs are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plink.training.control.digest import digest, mix_bits
from plink.training.control.fusion import can_share
from plink.training.control.requests import Request
from plink.training.control.wire import Writer

_UNSEEN, _ENTERED, _LEFT = range(3)


@dataclass(frozen=True)
class Graph:
    """A computation.

    Args:
        inputs: (N,) of each node, by number; nodes are numbered in the order in which they were
            added, which is the same on all ranks.
        reductions: the nodes that are all-reduces, and what they announce.
    """

    inputs: Sequence[Sequence[int]]
    reductions: Mapping[int, Request]


@dataclass(frozen=True)
class Order:
    """Order in which all-reduces are begun.

    Args:
        requests: (R,) by number.
        buffers: first number, and the one after the last, of each.
    """

    requests: tuple[Request, ...]
    buffers: tuple[tuple[int, int], ...]

    @property
    def digest(self) -> int:
        """Digest of 64 bits, equal on ranks whose programs have made the same graph."""
        value = 0
        for first, end in self.buffers:
            for request in self.requests[first:end]:
                writer = Writer()
                writer.request(request)
                value = mix_bits(value ^ digest(writer.done(), first))
        return value


def order_of(graph: Graph, fetches: Sequence[int], fusion_bytes: int) -> Order:
    """Return the order in which ranks begin collectives to compute these nodes.

    Takes time in proportion to nodes and edges, and N log N of all-reduces.

    Args:
        graph: of one iteration.
        fetches: nodes, in any order.
        fusion_bytes: of a buffer at most; an all-reduce that is larger is alone.

    Raises:
        ValueError: the graph has a cycle.
    """
    computed = _needed_nodes(graph.inputs, fetches)
    depths = [0] * len(graph.inputs)
    for node in computed:
        depths[node] = 1 + max((depths[one] for one in graph.inputs[node]), default=-1)
    ordered = sorted(
        (node for node in computed if node in graph.reductions),
        key=lambda node: (depths[node], node),
    )
    numbers = [-1] * len(graph.inputs)
    for number, node in enumerate(ordered):
        numbers[node] = number
    # The highest number of those on which a node depends, by any path; -1 for none.
    latest = [-1] * len(graph.inputs)
    for node in computed:
        for one in graph.inputs[node]:
            latest[node] = max(latest[node], latest[one], numbers[one])
    requests = tuple(graph.reductions[node] for node in ordered)
    return Order(requests, _buffers(requests, [latest[node] for node in ordered], fusion_bytes))


def _needed_nodes(inputs: Sequence[Sequence[int]], fetches: Sequence[int]) -> list[int]:
    """Return all nodes that fetches need, inputs first: depth first, backwards."""
    states = [_UNSEEN] * len(inputs)
    order: list[int] = []
    left = sorted(set(fetches), reverse=True)
    while left:
        node = left[-1]
        if states[node] != _UNSEEN:
            left.pop()
            if states[node] == _ENTERED:
                states[node] = _LEFT
                order.append(node)
            continue
        states[node] = _ENTERED
        for one in inputs[node]:
            if states[one] == _ENTERED:
                raise ValueError(f"node {one} depends on itself")
            if states[one] == _UNSEEN:
                left.append(one)
    return order


def _buffers(
    requests: Sequence[Request], latest: Sequence[int], fusion_bytes: int
) -> tuple[tuple[int, int], ...]:
    buffers: list[tuple[int, int]] = []
    first = size_bytes = 0
    for number, request in enumerate(requests):
        fits = size_bytes + request.size_bytes <= fusion_bytes
        # Nothing in the buffer has a higher number, so that none of it depends on this one.
        is_free = latest[number] < first
        if number > first and not (fits and is_free and can_share(requests[first], request)):
            buffers.append((first, number))
            first, size_bytes = number, 0
        size_bytes += request.size_bytes
    if requests:
        buffers.append((first, len(requests)))
    return tuple(buffers)
