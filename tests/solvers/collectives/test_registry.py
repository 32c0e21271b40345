"""Algorithms by name."""

from __future__ import annotations

import pytest

from collective_replay import check_flows
from plink.solvers.collectives.form import RingForm, RoundsForm, TreesForm
from plink.solvers.collectives.registry import ALGORITHMS, find

SIZE_BYTES = 1 << 20


def test_papers_forms_and_the_libraries_are_there_by_name():
    assert ALGORITHMS.keys() >= {"ring", "halving-doubling", "tree", "bcube", "all-to-all"}
    libraries = {name.partition("-")[0] for name in ALGORITHMS}
    assert libraries >= {"gloo", "openmpi", "mpich", "nccl", "lightgbm"}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_says_what_it_is_in_a_line_and_fits_some_ranks(name):
    algorithm = find(name)
    assert algorithm.name == name
    assert 10 <= len(algorithm.about) <= 90
    assert "\n" not in algorithm.about
    fitting = [ranks for ranks in range(2, 100) if algorithm.refusal(ranks) is None]
    assert len(fitting) >= 2


@pytest.mark.parametrize("name", ALGORITHMS)
def test_forms_name_each_edge_once_and_only_ranks_that_exist(name):
    algorithm = find(name)
    for ranks in (
        count for count in (2, 3, 4, 7, 8, 12, 16, 64, 70) if algorithm.refusal(count) is None
    ):
        form = algorithm.form(ranks)
        assert form.ranks == ranks
        check_flows(algorithm.table(ranks, SIZE_BYTES))
        match form:
            case RoundsForm(rounds=rounds):
                for step in rounds:
                    assert step.weight > 0.0
                    edges = [frozenset(edge) for edge in step.edges.tolist()]
                    assert all(len(edge) == 2 for edge in edges)
                    assert len(set(edges)) == len(edges) > 0
                    assert set().union(*edges) <= set(range(ranks))
            case TreesForm(parents=parents):
                assert all(tree.shape == (ranks,) for tree in parents)
            case _:
                assert isinstance(form, RingForm)


def test_a_variant_is_named_after_a_colon():
    assert find("bcube:3").refusal(9) is None
    assert find("gloo-bcube:4").refusal(12) is None


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("rng", "'rng'; did you mean ring"),
        ("halving", "halving-doubling"),
        ("bcube:x", "'bcube:x'; did you mean bcube"),
        ("ring:2", "'ring:2'; did you mean ring"),
        ("zzz", "'zzz'$"),
        ("bcube:1", "groups of at least 2"),
    ],
)
def test_an_unknown_name_is_told_with_names_near_it(name, hint):
    with pytest.raises(ValueError, match=hint):
        find(name)
