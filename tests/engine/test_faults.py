"""Whatever goes wrong with a rank, all others end, and all blame the same one."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from engine.forests import binary_tree, chains, stars
from engine.group import group
from engine.processes import begin_again, running_ranks
from plink.engine import Engine, EngineError

pytestmark = pytest.mark.timing

DRAINING_PROGRAM = Path(__file__).with_name("draining_program.py")
WAIT_S = 30.0
# Longer than a busy machine stops a rank that is to be heard.
SILENCE_S = 6.0


@pytest.mark.parametrize(
    ("kind", "shares"),
    [("stars", True), ("chains", False), ("binary tree", False)],
)
def test_a_killed_rank_is_named_by_all_others(kind: str, shares: bool, tmp_path: Path) -> None:
    with running_ranks(kind, 4, tmp_path, shared_memory=shares) as ranks:
        ranks[2].process.kill()
        words = [rank.hear() for rank in ranks if rank is not ranks[2]]
        assert [word["event"] for word in words] == ["failed"] * 3
        assert {word["rank"] for word in words} == {2}
        assert len({word["message"] for word in words}) == 1
        assert "rank 2 (127.0.0.1) is lost" in words[0]["message"]
        begin_again([rank for rank in ranks if rank is not ranks[2]], tmp_path / "again")


@pytest.mark.parametrize("shares", [True, False])
def test_a_stopped_rank_is_named_by_all_others(shares: bool, tmp_path: Path) -> None:
    with running_ranks(
        "chains", 4, tmp_path, silence_timeout_s=SILENCE_S, shared_memory=shares
    ) as ranks:
        ranks[1].process.send_signal(signal.SIGSTOP)
        words = [rank.hear() for rank in ranks if rank is not ranks[1]]
        assert {word["rank"] for word in words} == {1}
        assert "rank 1 (127.0.0.1) has been silent for 6 s" in words[0]["message"]
        # Once it goes on, it learns what became of it.
        ranks[1].process.send_signal(signal.SIGCONT)
        assert ranks[1].hear()["event"] == "failed"
        begin_again(ranks, tmp_path / "again")


def test_a_rank_that_is_late_is_not_blamed() -> None:
    """It calls long after it would have counted as silent without its heartbeats."""
    with group(stars(3), silence_timeout_s=SILENCE_S) as ranks:
        arrays = [np.full(1000, rank + 1.0) for rank in range(3)]
        works = [ranks.engines[rank].allreduce(arrays[rank]) for rank in range(2)]
        with pytest.raises(TimeoutError):
            works[0].wait(SILENCE_S + 1.0)
        works.append(ranks.engines[2].allreduce(arrays[2]))
        for work, array in zip(works, arrays, strict=True):
            work.wait(WAIT_S)
            assert np.all(array == 6.0)


def outcome(engine: Engine, items: int, op: str = "sum") -> str:
    try:
        engine.allreduce(np.ones(items, dtype=np.float32), op).wait(WAIT_S)
    except EngineError as error:
        return f"{error.rank}: {error}"
    return "done"


@pytest.mark.parametrize("op", ["sum", "max"])
def test_another_length_or_operation_is_no_wrong_sum(op: str) -> None:
    with group(stars(3)) as ranks:
        items = 1001 if op == "sum" else 1000
        outcomes = ranks.on_all(
            lambda e: outcome(e, items, op) if e.rank == 1 else outcome(e, 1000)
        )
    assert len(set(outcomes)) == 1
    assert "called another collective: its collective 0 has another length, type" in outcomes[0]


def test_a_plan_that_only_one_rank_installs_is_noticed() -> None:
    """Here every rank waits for another one, and no frame shows it."""
    with group(stars(3)) as ranks:
        ranks.engines[2].install(chains(3), 0)
        outcomes = ranks.on_all(lambda engine: outcome(engine, 1000))
    assert len(set(outcomes)) == 1
    assert "another length, type, operation or plan" in outcomes[0]


def test_a_rank_that_leaves_is_named_and_what_it_took_part_in_ends_well() -> None:
    with group(binary_tree(4)) as ranks:
        assert ranks.on_all(lambda engine: outcome(engine, 100_000)) == ["done"] * 4
        ranks.engines[3].close()
        outcomes = ranks.on_all(lambda e: outcome(e, 10) if e.rank != 3 else "")
    assert len(set(outcomes)) == 2
    assert outcomes[0] == "3: rank 3 (127.0.0.1) closed its engine before collective 1"


def test_what_a_rank_that_leaves_has_joined_ends_though_others_wait_for_more() -> None:
    """Rank 0 is beyond what rank 2 took part in, and waits for rank 1 in both."""
    with group(stars(3)) as ranks:
        gathered = np.zeros(3)
        first = [
            ranks.engines[0].gather(np.array([1.0]), gathered, 0),
            ranks.engines[2].gather(np.array([3.0]), None, 0),
        ]
        then = ranks.engines[0].barrier()
        first[1].wait(WAIT_S)
        ranks.engines[2].close()
        with pytest.raises(TimeoutError):
            first[0].wait(0.3)
        ranks.engines[1].gather(np.array([2.0]), None, 0).wait(WAIT_S)
        first[0].wait(WAIT_S)
        assert gathered.tolist() == [1.0, 2.0, 3.0]
        with pytest.raises(EngineError, match=r"rank 2 .* before collective 1") as failed:
            then.wait(WAIT_S)
        assert failed.value.rank == 2


def test_draining_lets_what_all_have_joined_end() -> None:
    with group(stars(2)) as ranks:
        arrays = [np.full(4_000_000, rank + 1.0) for rank in range(2)]
        works = [
            engine.allreduce(array) for engine, array in zip(ranks.engines, arrays, strict=True)
        ]
        # That nobody else joins.
        late = ranks.engines[1].allreduce(np.ones(10))
        ranks.engines[1].drain(0.5)
        assert not late.done()
        ranks.engines[1].close()
        for work, array in zip(works, arrays, strict=True):
            work.wait(WAIT_S)
            assert np.all(array == 3.0)
        with pytest.raises(EngineError, match="closed"):
            late.wait(WAIT_S)


def test_a_pause_of_a_process_that_drains_is_not_its_peers_silence() -> None:
    grace_s = 2.0
    argv = [sys.executable, str(DRAINING_PROGRAM), str(grace_s)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "draining\n"
            # Until it has looked, so that its clock runs.
            time.sleep(0.2)
            process.send_signal(signal.SIGSTOP)
            time.sleep(grace_s)
            process.send_signal(signal.SIGCONT)
            heard, _ = process.communicate("\n")
        finally:
            process.kill()
    assert heard == "True\n"


def test_a_rank_that_never_joins_is_named() -> None:
    with group(stars(3), stall_timeout_s=0.5) as ranks:
        # Called in turn, so that rank 2 cannot find rank 0 late.
        work = ranks.engines[0].allreduce(np.ones(1000, dtype=np.float32))
        of_rank_2 = outcome(ranks.engines[2], 1000)
        with pytest.raises(EngineError) as failed:
            work.wait(WAIT_S)
    assert (
        of_rank_2 == "1: rank 1 (127.0.0.1) has not joined collective 0 within the timeout of 0.5 s"
    )
    assert (failed.value.rank, str(failed.value)) == (1, of_rank_2.removeprefix("1: "))


def test_after_a_failure_everything_fails_and_a_new_engine_works() -> None:
    with group(stars(2)) as ranks:
        ranks.on_all(lambda engine: outcome(engine, 10 + engine.rank))
        message = outcome(ranks.engines[0], 10)
        assert "another collective" in message
        with pytest.raises(EngineError, match="another collective"):
            ranks.engines[0].check()
    with group(stars(2)) as ranks:
        assert ranks.on_all(lambda engine: outcome(engine, 10)) == ["done"] * 2


def test_closing_ends_what_is_pending() -> None:
    with group(stars(2)) as ranks:
        work = ranks.engines[0].allreduce(np.ones(1000))
        ranks.engines[0].close()
        with pytest.raises(EngineError, match="closed"):
            work.wait(WAIT_S)
        with pytest.raises(EngineError, match="closed"):
            ranks.engines[0].allreduce(np.ones(1000))
        with pytest.raises(EngineError, match=r"rank 0 .* closed its engine before collective 0"):
            ranks.engines[1].allreduce(np.ones(1000)).wait(WAIT_S)


def test_a_wait_can_be_interrupted() -> None:
    with group(stars(2)) as ranks:
        work = ranks.engines[0].allreduce(np.ones(10))

        def be_interrupted() -> None:
            threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
            work.wait()

        with pytest.raises(KeyboardInterrupt):
            be_interrupted()
        ranks.engines[1].allreduce(np.ones(10)).wait(WAIT_S)
        work.wait(WAIT_S)
