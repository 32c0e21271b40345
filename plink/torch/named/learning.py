"""Graph of one iteration of a rank's program, from which the order of all-reduces follows.

It has what autograd computes, what is reduced where in that, and what a thread waited for before it
went on.

Autograd's own graph says what depends on what within a backward pass. That is not enough to know
what may wait for what: a thread of PyTorch runs one thing after the other, so that whatever it does
after it has waited for an all-reduce comes later, even where no tensor leads there (Pumma et al.,
section IV-D, leave threads that block out). With these edges added each all-reduce depends only on
what its thread has really waited for, so that the proof in `plink.training.control.graph` holds.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from plink.training.control.graph import Graph, Order, order_of
from plink.training.control.requests import UNNAMED, Request

_NO_TASK = -1


@dataclass
class _Node:
    """Node of the graph: something computed, reduced or waited for."""

    inputs: list[_Node] = field(default_factory=list)
    request: Request | None = None
    # Where it stands among others of its depth.
    place: tuple[int, str] = (0, "")


@dataclass(frozen=True)
class _Computed:
    """Node of autograd's graph, numbered in the order of discovery."""

    number: int
    node: _Node


class Learner:
    """Recorder of the graph of one iteration, in whatever threads the program runs.

    Args:
        fusion_bytes: of a buffer at most.
    """

    def __init__(self, fusion_bytes: int) -> None:
        self._fusion_bytes = fusion_bytes
        self._lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """Begin an iteration, and forget what is known of the one before."""
        with self._lock:
            # Of autograd's nodes, in the order in which they were found.
            self._computed: dict[Any, _Computed] = {}
            self._leaves: dict[int, list[_Computed]] = {}
            self._sources: Mapping[str, Sequence[Parameter]] = {}
            self._ends: list[_Node] = []
            self._has_run_back = False
            self._reduced: dict[str, _Node] = {}
            self._waited: dict[int, _Node] = {}
            self._last: _Node | None = None
            self._unnamed = 0
            self._is_whole = True

    def compute(self, root: Tensor, sources: Mapping[str, Sequence[Parameter]]) -> None:
        """Record that this thread is about to compute gradients backward from a tensor.

        Args:
            root: such as a loss.
            sources: whose gradients are reduced, by the name of what reduces them.
        """
        with self._lock:
            self._sources = sources
            if root.grad_fn is None:
                return
            first = _Computed(len(self._computed), _Node(self._before()))
            found = {root.grad_fn: first}
            left = [root.grad_fn]
            for node in left:
                for needed, _ in node.next_functions:
                    if needed is None:
                        continue
                    if needed not in found:
                        found[needed] = _Computed(first.number + len(found), _Node())
                        left.append(needed)
                    found[needed].node.inputs.append(found[node].node)
            for node, computed in found.items():
                if isinstance(leaf := getattr(node, "variable", None), Tensor):
                    self._leaves.setdefault(id(leaf), []).append(computed)
            self._computed |= found
            self._ends.append(_Node([computed.node for computed in found.values()]))

    def announce(self, requests: Sequence[Request]) -> None:
        """Record requests that this thread announces at its current place."""
        with self._lock:
            for request in requests:
                self._announce(request)

    def wait(self, name: str) -> None:
        """Record that this thread has waited for a collective."""
        with self._lock:
            if (reduced := self._reduced.get(name)) is not None:
                self._pass(reduced)

    def order(self) -> Order | None:
        """Return the order of all-reduces that follows from the recorded graph; None if unknown."""
        with self._lock:
            reduced = sorted(self._reduced.values(), key=lambda node: node.place)
            if not reduced or not self._is_whole or (self._has_run_back and not self._ends):
                return None
            nodes = [*reduced, *_others(reduced)]
            numbers = {id(node): i for i, node in enumerate(nodes)}
            inputs = [[numbers[id(one)] for one in node.inputs] for node in nodes]
            requests = {i: node.request for i, node in enumerate(nodes) if node.request is not None}
            try:
                return order_of(Graph(inputs, requests), range(len(reduced)), self._fusion_bytes)
            except ValueError:
                # Threads that wait for each other in ways that no graph has.
                return None

    def _announce(self, request: Request) -> None:
        is_unnamed = request.name.startswith(UNNAMED)
        if is_unnamed:
            request = replace(request, name=f"{UNNAMED}{self._unnamed}")
            self._unnamed += 1
        if request.name in self._reduced:
            self._is_whole = False
            return
        inside = torch._C._current_autograd_node() if _is_back() else None
        self._has_run_back |= inside is not None
        node = _Node(self._before(), request, (0, request.name))
        places = []
        for computed in self._where(request.name, inside):
            # What it follows on is what that follows on: it is reduced within.
            node.inputs += computed.node.inputs
            places.append(computed.number)
        if places:
            node.place = (1 + max(places), request.name)
        elif inside is not None and self._last is not None:
            # Within a backward pass inside another one, of which nothing is known.
            node.inputs.append(self._last)
        self._last = self._reduced[request.name] = node
        if is_unnamed:
            # Who called it may wait for it in ways that are not seen.
            self._pass(node)

    def _where(self, name: str, inside: Any) -> list[_Computed]:
        """Return the nodes of autograd within which a collective is announced."""
        if name in self._sources:
            leaves = [self._leaves.get(id(source), []) for source in self._sources[name]]
            return [computed for found in leaves for computed in found]
        return [self._computed[inside]] if inside in self._computed else []

    def _before(self) -> list[_Node]:
        """Return the nodes that this thread has waited for."""
        waited = self._waited.get(threading.get_ident())
        before = [] if waited is None else [waited]
        if self._has_run_back and not _is_back():
            before += self._ends
        return before

    def _pass(self, reduced: _Node) -> None:
        """Let the thread's further nodes follow a collective that it has waited for."""
        me = threading.get_ident()
        before = self._waited.get(me)
        self._waited[me] = _Node([reduced] if before is None else [before, reduced])
        inside = torch._C._current_autograd_node() if _is_back() else None
        if inside in self._computed:
            self._computed[inside].node.inputs.append(reduced)


def _is_back() -> bool:
    """Return whether this thread is computing gradients."""
    return bool(torch._C._current_graph_task_id() != _NO_TASK)


def _others(reduced: Sequence[_Node]) -> list[_Node]:
    """Return all nodes that the reduced nodes depend on and that are not reduced themselves."""
    found = {id(node): node for node in reduced}
    left = list(reduced)
    for node in left:
        for needed in node.inputs:
            if id(needed) not in found:
                found[id(needed)] = needed
                left.append(needed)
    return left[len(reduced) :]
