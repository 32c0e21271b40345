"""Forms of costs for property tests, and the papers' own."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from plink.solvers.collectives import papers
from plink.solvers.collectives.form import RoundsForm, TreesForm, WeightedRound


@st.composite
def rounds_forms(draw, ranks: int):
    """Any rounds, weights among few values or all the same, edges twice now and then."""
    pairs = st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1)).filter(
        lambda pair: pair[0] != pair[1]
    )
    edges = st.lists(pairs, min_size=1, max_size=2 * ranks)
    weights = draw(st.sampled_from([st.just(2.0), st.sampled_from([0.25, 1.0, 7.0])]))
    return RoundsForm(
        ranks,
        [
            WeightedRound(np.array(each, dtype=np.intp), draw(weights))
            for each in draw(st.lists(edges, min_size=1, max_size=6))
        ],
    )


@st.composite
def trees_forms(draw, ranks: int):
    """One to three trees of any shape."""
    trees = []
    for _ in range(draw(st.integers(1, 3))):
        label = draw(st.permutations(range(ranks)))
        parents = np.full(ranks, -1, dtype=np.intp)
        for rank in range(1, ranks):
            parents[label[rank]] = label[draw(st.integers(0, rank - 1))]
        trees.append(parents)
    return TreesForm(ranks, trees)


def forms(ranks: int):
    """Rounds or trees."""
    return st.one_of(rounds_forms(ranks), trees_forms(ranks))


PAPER_FORMS = {
    "ring": papers.RING.form,
    "halving-doubling": papers.HALVING_DOUBLING.form,
    "bcube": papers.BCUBE.form,
    "bcube:2": papers.bcube(2).form,
    "tree": papers.TREE.form,
}
