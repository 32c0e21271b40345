"""Each fault in each way to agree, by real ranks: one set of processes for all of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytorch import fault_checks as checks
from pytorch.processes import running

pytestmark = pytest.mark.timing

RANKS = range(checks.RANKS)
Found = list[dict[str, dict[str, Any]]]

WAY = pytest.mark.parametrize("way", checks.WAYS)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """By rank, way and row; not of the rank that is killed."""
    with running(checks.all_faults, checks.RANKS, tmp_path_factory.mktemp("faults")) as ranks:
        return [rank.hear() for rank in ranks[:-1]]


def of(found: Found, way: str, row: str) -> list[Any]:
    return [of_rank[way][row] for of_rank in found]


@WAY
def test_all_are_told_who_keeps_them_waiting(found: Found, way: str) -> None:
    """Each in its time, and later on a busy machine: simulated clocks tell how much at most."""
    for one in of(found, way, "stalling"):
        assert one["late"] == "no error"
        for name in ("late", "never"):
            told = {at_s: text for at_s, text in one["told"] if text.startswith(f"'{name}'")}
            assert 1 <= len(told) <= checks.ERROR_S / checks.WARNING_S, told
            for number, (at_s, text) in enumerate(sorted(told.items()), 1):
                assert at_s >= number * checks.WARNING_S
                # Others that announce late on a busy machine are named, too.
                assert re.fullmatch(
                    rf"'{name}' has waited [\d.]+ s for ranks? [\d, -]*\b3; .* announced it", text
                )
            assert told[max(told)].endswith(" s for rank 3; ranks 0-2 announced it")
        assert re.search(
            r"'never .*' has waited [\d.]+ s for rank 3; ranks 0-2 announced it", one["never"]
        )
        assert one["never at"] >= checks.ERROR_S
        assert one["again"] == 4.0


@WAY
def test_what_differs_fails_alike_and_all_else_goes_on(found: Found, way: str) -> None:
    texts, goods = of(found, way, "differing")[0]
    for others, other_goods in of(found, way, "differing"):
        assert others == texts
        assert other_goods == goods == [[4.0, 4.0]] * 2
    told = {
        "shape": r"float32\[4\] on ranks 0, 2-3, and sum all-reduce of float32\[5\] on rank 1",
        "type": r"float32\[4\] on ranks 0, 2-3, and sum all-reduce of float64\[4\] on rank 1",
        "operation": r"sum .* on ranks 0, 2-3, and max all-reduce of float32\[4\] on rank 1",
        "factor": r"float32\[4\] on ranks 0, 2-3, and .* scaled by 0.5 and 1 on rank 1",
        "size of a group": r"a group of 3: .* on ranks 0, 2-3, and .* a group of 2: .* on rank 1",
        "place": r"where 'place/0' is: in 'place' on ranks 0, 2-3, and in 'place/0' on rank 1",
    }
    assert set(texts) == set(told)
    for kind, said in texts.items():
        assert len(said) == 2
        for text in said:
            assert re.search(told[kind], text), text


@WAY
def test_large_groups_and_empty_tensors_are_reduced_and_sparse_ones_refused(
    found: Found, way: str
) -> None:
    for sums, refused in of(found, way, "odd"):
        assert sums == [4.0]
        assert "'refused' is sparse tensors" in refused[0]
        assert "of float32, int32, which the engine does not reduce" in refused[1]


@WAY
def test_a_name_that_is_pending_is_refused_where_it_is(found: Found, way: str) -> None:
    for rank, (said, other, value) in enumerate(of(found, way, "pending")):
        assert ("'w/1' is pending already" in said) == (rank == 0)
        assert (other, value) == (4.0, 4.0)


@WAY
def test_ranks_with_less_data_join(found: Found, way: str) -> None:
    joined = of(found, way, "joining")
    for rank, one in enumerate(joined):
        steps = min(rank, 2) + 1
        assert one["sums"] == [4.0, 3.0, 2.0][:steps]
        # By all ranks, also by those that have joined.
        assert one["means"] == [1.0, 0.75, 0.5][:steps]
        assert one["last"] == joined[0]["last"] in (2, 3)
        assert (one["after"], one["unnamed after"]) == (4.0, 4.0)
    assert joined[2]["unnamed"] == 2.0
    assert "cannot be while ranks 0-1 joined: only an all-reduce can" in joined[2]["refused"]


@WAY
def test_caches_that_differ_are_found_and_told(found: Found, way: str) -> None:
    texts = of(found, way, "caches")
    assert len(set(texts)) == 1
    assert re.search(r"rank \d and rank \d agreed on different collectives", texts[0]), texts
    assert "rank 1" in texts[0]


@WAY
def test_a_rank_that_closes_is_told_to_all_handles(found: Found, way: str) -> None:
    closed = of(found, way, "closing")
    assert "process group has ended" in closed[2][0]
    for rank in (0, 1):
        assert len(closed[rank]) == 2
        assert all("rank 2 closed its engine" in text for text in closed[rank]), closed[rank]


@WAY
def test_a_rank_that_is_killed_is_told_to_all_handles(found: Found, way: str) -> None:
    killed = of(found, way, "killing")
    assert [len(texts) for texts in killed] == [2, 2, 1]
    for texts in killed:
        assert all("rank 3" in text for text in texts), texts
