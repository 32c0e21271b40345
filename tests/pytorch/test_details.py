"""What PyTorch asks of works and groups beside the result: of one set of processes."""

from __future__ import annotations

from typing import Any

import pytest

from pytorch import detail_checks as checks
from pytorch.processes import results

pytestmark = pytest.mark.timing

RANKS = checks.RANKS


@pytest.fixture(scope="module")
def details(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """By name of the check what each rank found."""
    found = results(checks.every_detail, RANKS, tmp_path_factory.mktemp("details"))
    assert all(isinstance(one, dict) for one in found), found
    return {name: [one[name] for one in found] for name in found[0]}


def test_hooks_that_are_built_into_ddp(details: dict[str, list[Any]]) -> None:
    assert details["builtin_hooks"] == [[True, True]] * RANKS


def test_the_profiler_shows_when_all_reduces_ended(details: dict[str, list[Any]]) -> None:
    assert details["events"] == [[2, True, True]] * RANKS


def test_works_and_events_say_which_collective_they_are(details: dict[str, list[Any]]) -> None:
    assert details["operations"] == [[]] * RANKS


def test_a_group_counts_its_collectives(details: dict[str, list[Any]]) -> None:
    assert details["numbers"] == [[3, 1, 1]] * RANKS


def test_expanded_tensors(details: dict[str, list[Any]]) -> None:
    assert details["expanded"] == [[3.0]] * RANKS
