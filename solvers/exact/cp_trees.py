"""CP-SAT model of trees: parents of hosts, and path lengths to root and leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from plink.solvers.collectives.form import TreesForm
from plink.solvers.exact.cp_places import Places, join
from plink.solvers.exact.whole import Whole, WholeTerms
from plink.solvers.limits.deadline import Deadline


def add_trees(
    model: cp_model.CpModel,
    form: TreesForm,
    whole: WholeTerms,
    places: Places,
    *,
    most: int,
    deadline: Deadline,
) -> cp_model.LinearExprT:
    """Add the trees to a model; return their cost.

    Args:
        model: to add to.
        form: the trees.
        whole: their hops.
        places: places of the ranks.
        most: what they may cost, in units.
        deadline: when to stop.

    Raises:
        TimeoutError: the time did not suffice.
    """
    cost = model.new_int_var(0, most, "cost")
    for parents in form.parents:
        tree = _Tree(parents.tolist(), whole.terms_of[0], most)
        _add_tree(model, tree, places, cost, deadline)
    return cost


@dataclass(frozen=True)
class _Tree:
    """Variables of one tree: the parent of every rank, hops and cost in units."""

    parents: Sequence[int]
    hops: Whole
    most: int

    @property
    def children(self) -> Mapping[int, Sequence[int]]:
        """Children of every rank."""
        below: dict[int, list[int]] = {rank: [] for rank in range(len(self.parents))}
        for rank, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(rank)
        return below


def _add_tree(
    model: cp_model.CpModel,
    tree: _Tree,
    places: Places,
    cost: cp_model.IntVar,
    deadline: Deadline,
) -> None:
    hosts = range(len(tree.parents))
    root = tree.parents.index(-1)
    children = tree.children
    walks = _shortest_walks(tree.hops)
    from_root = [model.new_int_var(0, tree.most, "") for _ in hosts]
    to_leaf = [model.new_int_var(0, tree.most, "") for _ in hosts]
    is_parent = {(i, j): model.new_bool_var("") for i in hosts for j in hosts if i != j}
    for i in hosts:
        above = [is_parent[j, i] for j in hosts if j != i]
        below = [is_parent[i, j] for j in hosts if j != i]
        model.add_exactly_one(*above, places[root][i])
        model.add(sum(below) == sum(len(children[rank]) * places[rank][i] for rank in hosts))
        model.add(from_root[i] + to_leaf[i] <= cost)
    for (i, j), holds in is_parent.items():
        hop = int(tree.hops[i, j])
        model.add(from_root[j] >= from_root[i] + hop).only_enforce_if(holds)
        model.add(to_leaf[i] >= to_leaf[j] + hop).only_enforce_if(holds)
    for rank in hosts:
        up, down = _edges_above(tree.parents, rank), _edges_below(children, rank)
        for host in hosts:
            here = places[rank][host]
            model.add(from_root[host] >= int(walks[up][host])).only_enforce_if(here)
            model.add(to_leaf[host] >= int(walks[down][host])).only_enforce_if(here)
    join(model, places, is_parent, children, deadline)
    is_child = {(j, i): holds for (i, j), holds in is_parent.items()}
    above_of = {q: [p] if p >= 0 else [] for q, p in enumerate(tree.parents)}
    join(model, places, is_child, above_of, deadline)


def _shortest_walks(hops: Whole) -> list[Whole]:
    """Return the least sums of each number of hops up to N from every host, (N,) each."""
    apart = hops + np.diag(np.full(len(hops), hops.max() * len(hops)))
    walks = [np.zeros(len(hops), dtype=np.int64)]
    for _ in hops:
        walks.append((apart + walks[-1]).min(axis=1))
    return walks


def _edges_above(parents: Sequence[int], rank: int) -> int:
    return 0 if parents[rank] < 0 else 1 + _edges_above(parents, parents[rank])


def _edges_below(children: Mapping[int, Sequence[int]], rank: int) -> int:
    return max((1 + _edges_below(children, child) for child in children[rank]), default=0)
