"""Works, futures, groups and faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytorch import work_checks as checks
from pytorch.processes import results, running

pytestmark = pytest.mark.timing


def test_many_works_in_flight(tmp_path: Path) -> None:
    assert results(checks.many_in_flight, 3, tmp_path) == [True] * 3


def test_sub_groups(tmp_path: Path) -> None:
    assert results(checks.sub_groups, 3, tmp_path) == [
        [4.0, 1.0, 1.0, 6.0],
        [2.0, 5.0, 2.0, 6.0],
        [4.0, 5.0, 3.0, 6.0],
    ]


def test_a_group_is_destroyed_and_made_again(tmp_path: Path) -> None:
    assert results(checks.again, 2, tmp_path) == [[4.0, 4.0]] * 2


def test_callbacks_may_wait_for_other_works(tmp_path: Path) -> None:
    assert results(checks.waiting_callbacks, 2, tmp_path) == [[4.0] * 3] * 2


def test_a_future_is_complete_once_its_work_was_waited_for(tmp_path: Path) -> None:
    assert results(checks.futures_after_waiting, 2, tmp_path) == [[True] * 40] * 2


def test_groups_of_other_ranks_meet_on_the_same_store(tmp_path: Path) -> None:
    assert results(checks.other_groups, 3, tmp_path) == [[3.0, 1.0], [3.0, 5.0], [3.0, 5.0]]


def test_groups_beside_those_of_pytorch(tmp_path: Path) -> None:
    store = str(tmp_path / "own")
    assert results(checks.own_groups, 2, tmp_path, store) == [[2.0, 2.0]] * 2


@pytest.mark.parametrize("in_ddp", [False, True])
def test_a_killed_rank_is_named_and_done_without(in_ddp: bool, tmp_path: Path) -> None:
    new_store = f"file://{tmp_path / 'new'}"
    with running(checks.lost_peer, 3, tmp_path, in_ddp, new_store) as ranks:
        assert [rank.hear() for rank in ranks] == ["running"] * 3
        assert ranks[2].process.pid is not None
        ranks[2].process.kill()
        words = [rank.hear() for rank in ranks[:2]]
    for said, sums in words:
        assert "Error: " in said
        assert "rank 2 (127.0.0.1) is lost" in said
        assert sums == [2.0] * 3


def test_a_future_fails_by_the_name_of_the_rank(tmp_path: Path) -> None:
    assert "rank 1 (127.0.0.1)" in results(checks.failed_future, 2, tmp_path)[0]


def test_a_rank_that_does_not_join_is_named_after_the_groups_timeout(tmp_path: Path) -> None:
    heard = results(checks.late_peer, 2, tmp_path, 2.0)[0]
    assert "rank 1 (127.0.0.1)" in heard
    assert "2 s" in heard


def test_a_rank_that_never_comes_is_named(tmp_path: Path) -> None:
    words = results(checks.reduced, 2, tmp_path, timeout_s=3.0, world_size=3)
    assert all("rank 2" in word or "3 s" in word for word in words)


def test_pg_options_are_checked(tmp_path: Path) -> None:
    heard = results(checks.reduced, 1, tmp_path, pg_options="fast")[0]
    assert heard == "DistBackendError: plink: pg_options are str, expected plink.torch.Options"


def test_an_interface_must_exist(tmp_path: Path) -> None:
    heard = results(checks.reduced, 1, tmp_path, environment={"PLINK_SOCKET_IFNAME": "nic9"})[0]
    assert "PLINK_SOCKET_IFNAME names nic9, which has no address here" in heard


def test_what_all_have_joined_ends_well_though_one_destroys_its_group(tmp_path: Path) -> None:
    assert results(checks.destroyed_in_flight, 2, tmp_path) == [[[3.0]] * 3] * 2


def test_messages_wait_for_the_groups_timeout_and_name_the_peer(tmp_path: Path) -> None:
    timeout_s = 2.0
    first, _ = results(checks.unanswered_messages, 2, tmp_path, timeout_s)
    *said, received = first
    assert received == [9.0] * 3
    assert len(said) == 7
    for text, took_s in said:
        assert "no rank" in text or "rank 1" in text
        assert "within 2 s" in text
        assert took_s >= timeout_s
