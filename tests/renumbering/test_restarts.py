"""Ranks that torchrun's agents restart meet again, however each agent counts its restarts."""

from __future__ import annotations

import concurrent.futures
import os
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from plink.base.errors import PlinkError
from torchrun.networks import order_of

dist = pytest.importorskip("torch.distributed")

attempts = pytest.importorskip("plink.torch.attempt")

WORKER = Path(__file__).with_name("worker.py")
# Four processes import PyTorch.
WITHIN_S = 150.0


@pytest.mark.timeout(750)
def test_ranks_meet_after_a_restart_that_only_one_agent_counts(tmp_path: Path) -> None:
    order_of(["b", "a"]).save(tmp_path / "order.json")
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=WITHIN_S))
    # The agents' store outlives the ranks.
    for restarts in (["0", "0"], ["1", "0"]):
        assert ranks(store.port, restarts, tmp_path / "order.json") == [1, 0]


def ranks(port: int, restarts: list[str], order: Path) -> list[int]:
    """The ranks that processes get which their agents restarted so many times."""
    processes = []
    for rank, count in enumerate(restarts):
        told = {
            "RANK": str(rank),
            "WORLD_SIZE": str(len(restarts)),
            "PLINK_HOST": "ab"[rank],
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "GLOO_SOCKET_IFNAME": "lo",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "TORCHELASTIC_RESTART_COUNT": count,
        }
        command = [sys.executable, str(WORKER), str(order), "-"]
        environment = {**os.environ, **told}
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, env=environment))
    try:
        said = [process.communicate(timeout=WITHIN_S)[0].split() for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [line[::2] for line in said] == [[b"placed", socket.gethostname().encode()]] * 2
    return [int(line[1]) for line in said]


def meet(store: object, ranks: int, come: list[int], limit_s: float = WITHIN_S) -> list[object]:
    """What the ranks that come learn: the name of the attempt, or an error."""

    def process(rank: int) -> object:
        try:
            return attempts.agreed_attempt(store, rank, ranks, timedelta(seconds=limit_s))
        except PlinkError as error:
            return error

    with concurrent.futures.ThreadPoolExecutor(len(come)) as threads:
        return list(threads.map(process, come))


def test_every_attempt_has_a_name_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_LATER_S", 0.2)
    store = dist.HashStore()
    names = set(meet(store, 3, [0, 1, 2]))
    assert len(names) == 1
    # Ranks 0 and 1 die before 2 has come, which alone is not started again.
    failed = meet(store, 3, [0, 1], 5.0)
    assert "rank 2 of 3" in str(failed[0])
    assert all(isinstance(error, PlinkError) for error in failed)
    names |= set(meet(store, 3, [2, 0, 1]))
    # Rank 0 dies, and what it has offered last is there still.
    assert all(isinstance(error, PlinkError) for error in meet(store, 3, [1, 2], 0.3))
    names |= set(meet(store, 3, [1, 2, 0]))
    assert len(names) == 3
    assert len(meet(store, 1, [0])) == 1
