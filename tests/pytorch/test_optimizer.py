"""DistributedOptimizer in the ways in which programs use optimizers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import plink.torch
from plink.torch.gradient_groups import group_names
from pytorch import optimizer_checks as checks
from pytorch.processes import results

pytestmark = pytest.mark.timing

Found = list[dict[str, Any]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """By rank, what each check says."""
    options = plink.torch.Options(control=plink.torch.Control())
    return results(checks.everything, 2, tmp_path_factory.mktemp("ranks"), pg_options=options)


def of_both(found: Found, name: str) -> Any:
    first, second = (one[name] for one in found)
    assert first == second
    return first


def test_a_closures_gradients_are_reduced(found: Found) -> None:
    assert of_both(found, "closure") is True


def test_what_is_reduced_before_the_step_is_reduced_once(found: Found) -> None:
    assert of_both(found, "synchronized") == [True] * 4


def test_nothing_is_added_to_a_sum_over_all_ranks(found: Found) -> None:
    refused, taken = of_both(found, "added")
    assert "was added to a sum" in refused
    assert taken == ""


def test_an_infinite_gradient_of_one_rank_is_skipped_by_all(found: Found) -> None:
    for has_stayed, is_right, scales in of_both(found, "scaled").values():
        assert has_stayed
        assert is_right
        assert scales == [256.0, 256.0, 128.0, 128.0, 128.0]


def test_weights_and_options_that_differ_are_refused_at_the_first_step(found: Found) -> None:
    same, weights, rate, decay = of_both(found, "weights")
    assert same == ""
    assert "the weights of '2.weight'" in weights
    assert "options" in rate
    assert "options" in decay


def test_hooks_are_those_of_the_optimizer_inside(found: Found) -> None:
    assert of_both(found, "hooks") == [
        *("before", "after", "saving", "saved", "loading", "loaded"),
        *("refused", "refused"),
    ]


def test_a_rank_may_join_before_its_first_step(found: Found) -> None:
    assert of_both(found, "joined") is True


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20, 50, 160, 161, 162, 1000])
@pytest.mark.parametrize("types", [1, 3])
def test_groups_are_as_many_as_asked_for(count: int, types: int) -> None:
    dtypes = [torch.float32, torch.float16, torch.float64]
    parameters = {
        f"p{i}": torch.nn.Parameter(torch.zeros(1, dtype=dtypes[i % 7 % types])) for i in range(161)
    }
    found = group_names(parameters, count)
    assert len(found) == max(types, min(count, 161))
    assert sorted(name for group in found for name in group) == sorted(parameters)
    for group in found:
        assert len({parameters[name].dtype for name in group}) == 1
        # As gradients come: the last first.
        numbers = [int(name[1:]) for name in group]
        assert numbers == sorted(numbers, reverse=True)
    if types == 1:
        sizes = [len(group) for group in found]
        assert max(sizes) - min(sizes) <= 1
