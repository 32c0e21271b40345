"""torchft on plink: replicas are threads of this process, as in torchft's own tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.request import ProxyHandler, build_opener

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch.distributed import ReduceOp, TCPStore

from plink.autotune.ranks.placing import Place, match_some
from plink.formats.plan import PlanRank
from plink.plans.regroup import flat, regroup_forest
from support.running import wait_for

# torchft takes three seconds to import: only the worker that runs these tests does.
if TYPE_CHECKING:
    from torchft.coordination import LighthouseServer

    from plink.torch.fault_tolerance import ProcessGroupPlink

T = TypeVar("T")

TIMEOUT = timedelta(seconds=40)


@pytest.fixture
def new_group() -> Callable[[], ProcessGroupPlink]:
    pytest.importorskip("torchft")
    from plink.torch.fault_tolerance import ProcessGroupPlink

    return lambda: ProcessGroupPlink(TIMEOUT)


@pytest.fixture
def store() -> TCPStore:
    return TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def total(group: ProcessGroupPlink, value: float) -> float:
    tensor = torch.full((1000,), value)
    group.allreduce([tensor], ReduceOp.SUM).wait()
    return float(tensor.mean())


def hears(lighthouse: LighthouseServer, replicas: list[str]) -> bool:
    direct = build_opener(ProxyHandler({}))
    page = direct.open(f"{lighthouse.address()}/status", timeout=TIMEOUT.seconds).read().decode()
    return all(f"{replica}:" in page for replica in replicas)


def test_a_group_goes_on_with_others_after_a_loss(
    new_group: Callable[[], ProcessGroupPlink], store: TCPStore, threads: ThreadPoolExecutor
) -> None:
    groups = [new_group() for _ in range(3)]

    def on_all(action: Callable[[int, ProcessGroupPlink], T]) -> list[T]:
        return list(threads.map(action, range(len(groups)), groups))

    def configure(name: str) -> None:
        address = f"127.0.0.1:{store.port}/{name}"
        on_all(lambda rank, group: group.configure(address, "0", rank, len(groups)))

    def outcome(rank: int, group: ProcessGroupPlink) -> str:
        with pytest.raises(RuntimeError) as failed:
            total(group, 1.0)
        assert str(failed.value) == str(group.errored())
        return str(failed.value)

    configure("first")
    assert on_all(lambda rank, group: total(group, rank + 1.0)) == [6.0] * 3
    assert [group.errored() for group in groups] == [None] * 3
    groups.pop(1).shutdown()
    said = on_all(outcome)
    assert said == [said[0]] * 2
    assert said[0].startswith("plink: rank 1 (127.0.0.1) closed its engine before collective ")
    configure("second")
    assert on_all(lambda rank, group: total(group, rank + 1.0)) == [3.0] * 2
    groups.append(new_group())
    configure("third")
    assert on_all(lambda rank, group: total(group, rank + 1.0)) == [6.0] * 3
    assert [group.errored() for group in groups] == [None] * 3
    for group in groups:
        group.shutdown()


# Of torchft's own logger.
@pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated:DeprecationWarning")
@pytest.mark.timing
def test_managers_lose_a_step_and_go_on(
    new_group: Callable[[], ProcessGroupPlink], threads: ThreadPoolExecutor
) -> None:
    from torchft.coordination import LighthouseServer
    from torchft.manager import Manager

    # Both longer than a busy machine stops a replica.
    lighthouse = LighthouseServer(
        bind="[::]:0", min_replicas=1, join_timeout_ms=30_000, heartbeat_timeout_ms=10_000
    )

    replicas = [f"replica_{number}" for number in range(2)]

    def replica(number: int) -> list[tuple[bool, int, float]]:
        own = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
        group = new_group()
        state = torch.zeros(3)
        manager: Any = Manager(
            pg=group,
            load_state_dict=lambda loaded: state.copy_(loaded["state"]),
            state_dict=lambda: {"state": state},
            min_replica_size=1,
            # Without a checkpoint to begin with: all begin alike.
            init_sync=False,
            max_retries=3,
            replica_id=replicas[number],
            rank=0,
            world_size=1,
            store_addr="localhost",
            store_port=own.port,
            lighthouse_addr=lighthouse.address(),
            timeout=TIMEOUT,
        )
        outcomes = []
        try:
            # A quorum waits for all whose heartbeats the lighthouse has heard, and for no others.
            wait_for(lambda: hears(lighthouse, replicas), limit_s=TIMEOUT.seconds)
            while manager.current_step() < (2 if number else 4):
                manager.start_quorum()
                gradient = torch.full((3,), number + 1.0)
                manager.allreduce(gradient).wait()
                outcomes.append(
                    (manager.should_commit(), manager.num_participants(), float(gradient[0]))
                )
        finally:
            group.shutdown()
            manager.shutdown(wait=False)
        return outcomes

    both = list(threads.map(replica, range(2)))
    lighthouse.shutdown()
    assert both[1] == [(True, 2, 1.5)] * 2
    assert both[0][:2] == [(True, 2, 1.5)] * 2
    lost = [outcome for outcome in both[0] if not outcome[0]]
    assert len(lost) <= 1
    assert both[0][-2:] == [(True, 1, 1.0)] * 2
    assert len(both[0]) == 4 + len(lost)


def test_a_plan_is_used_without_hosts_that_are_absent_and_with_new_ones() -> None:
    planned = [PlanRank(host, f"10.0.0.{number}") for number, host in enumerate("abcc")]
    places = [
        Place("c", []),
        Place("new", ["10.9.9.9"]),
        Place("elsewhere", ["10.0.0.0"]),
        Place("c", []),
        Place("c", []),
    ]
    assert match_some(planned, places) == [2, None, 0, 3, None]
    forest = regroup_forest(flat(4), match_some(planned, places))
    assert sorted(np.argmax(forest.reduce_parents == -1, axis=1).tolist()) == [0, 1, 2, 3, 4]
