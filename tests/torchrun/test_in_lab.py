"""Real torchrun on hosts of the lab: ranks follow the order after restarts, kills and joins too."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import plink
from support.lab import Lab, lab_cluster
from torchrun.networks import order_of

pytestmark = pytest.mark.lab

WORKER = Path(__file__).with_name("worker.py")
PORT = 29_400
WITHIN_S = 200.0


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=2, hosts=2, hops=16, reached_from_here=False) as standing:
        yield standing


@contextmanager
def torchrun(lab: Lab, host: str, nodes: str, conf: str, folder: Path) -> Iterator[Any]:
    """An agent on a host; what it says is in `HOST.log`."""
    store = lab.truth["addresses"][lab.names[0]]
    command = [
        *(sys.executable, "-m", "torch.distributed.run", f"--nnodes={nodes}"),
        *("--nproc-per-node=1", "--max-restarts=3", "--monitor-interval=0.2", "--rdzv-id=job"),
        f"--log-dir={folder}",
        *("--rdzv-backend=plink", f"--rdzv-endpoint={store}:{PORT}"),
        (
            f"--rdzv-conf={conf},is_host={int(host == lab.names[0])},"
            "last_call_timeout=5,keep_alive_interval=1,keep_alive_max_attempt=20"
        ),
        *(str(WORKER), str(folder)),
    ]
    with (folder / f"{host}.log").open("w") as log:
        agent = subprocess.Popen(lab.command(host, command), cwd="/", stdout=log, stderr=log)
        try:
            yield agent
        finally:
            agent.kill()
            agent.wait()


def soon(found: Callable[[], bool], folder: Path) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not found():
        logs = [f"{file.name}: {file.read_text()[-2000:]}" for file in folder.glob("*.log")]
        assert time.monotonic() < deadline, "\n".join(logs)
        time.sleep(0.2)


def workers(folder: Path, agents: int) -> list[dict[str, str]]:
    """By rank what the workers of the next whole attempt say; all that was said is forgotten.

    On a busy machine agents go on without one that is late, and again once it has come.
    """
    attempts: defaultdict[str, dict[int, dict[str, str]]] = defaultdict(dict)
    whole: list[dict[str, str]] = []

    def is_whole() -> bool:
        for file in folder.glob("*.json"):
            one = json.loads(file.read_text())
            if one["WORLD_SIZE"] == str(agents):
                attempts[one["MASTER_PORT"]][int(one["RANK"])] = one
        for attempt in attempts.values():
            if sorted(attempt) == list(range(agents)):
                whole[:] = [attempt[rank] for rank in range(agents)]
        return bool(whole)

    soon(is_whole, folder)
    for file in folder.glob("*.json"):
        file.unlink()
    return whole


def hosts(said: Sequence[dict[str, str]]) -> list[str]:
    return [one["host"] for one in said]


@pytest.mark.timeout(1000)  # Five rounds, each of which may take WITHIN_S.
def test_real_agents_follow_an_order_file(lab: Lab, tmp_path: Path) -> None:
    a, b, c, d = lab.names
    addresses = lab.truth["addresses"]
    files, folder = tmp_path / "files", tmp_path / "said"
    files.mkdir()
    folder.mkdir()
    # The last is not in it, and comes last.
    order_of([c, a, b]).save(files / "order.json")
    conf = f"order={files / 'order.json'}"
    with ExitStack() as stack:
        for host in (a, b, c):
            stack.enter_context(torchrun(lab, host, "3:4", conf, folder))
        said = workers(folder, 3)
        assert hosts(said) == [c, a, b]
        assert {one["MASTER_ADDR"] for one in said} == {addresses[c]}
        assert {one["TORCHELASTIC_USE_AGENT_STORE"] for one in said} == {"False"}
        assert {one["members_change"] for one in said} == {"1"}
        (folder / f"fail-{b}").touch()
        assert hosts(workers(folder, 3)) == [c, a, b]
        newcomer = stack.enter_context(torchrun(lab, d, "3:4", conf, folder))
        assert hosts(workers(folder, 4)) == [c, a, b, d]
        newcomer.kill()
        newcomer.wait()
        (folder / f"fail-{a}").touch()
        said = workers(folder, 3)
        assert hosts(said) == [c, a, b]
        (folder / "done").touch()


def test_real_agents_measure_their_hosts_and_keep_racks_together(lab: Lab, tmp_path: Path) -> None:
    folder = tmp_path / "said"
    folder.mkdir()
    keep = tmp_path / "measured.json"
    with ExitStack() as stack:
        for host in lab.names:
            stack.enter_context(torchrun(lab, host, "4", f"order=probe,keep={keep}", folder))
        ranked = hosts(workers(folder, 4))
        (folder / "done").touch()
    rack_of = lab.truth["hosts"]
    racks = [rack_of[host] for host in ranked]
    assert sum(one != other for one, other in zip(racks, racks[1:] + racks[:1], strict=True)) == 2
    cluster = plink.MeasuredCluster.read(keep)
    assert {host.name: host.address for host in cluster.hosts} == {
        host: lab.truth["addresses"][host] for host in lab.names
    }
