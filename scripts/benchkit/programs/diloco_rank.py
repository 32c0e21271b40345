"""One rank of the benchmark diloco: trains in one of its ways, and says when a round has ended.

A line of JSON on standard input says who it is, where the others are, and how to train. It says
that it is ready, waits for another line, and trains. One that is told to be lost kills itself.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from benchkit.hard_task import TRAINING, Task, accuracy, drawn_task, student
from plink.bench.workers.torch_collectives import interface_of

LEARNING_RATE = 2e-3
OUTER_LEARNING_RATE, OUTER_MOMENTUM = 0.7, 0.9
TIMEOUT = timedelta(seconds=60)

Rounds = Callable[[], int]


def main() -> None:
    """Train once."""
    # Answers keep the real standard output; what libraries print goes to standard error.
    output = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    task = json.loads(sys.stdin.readline())
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = interface_of(task["address"])
    interface = os.environ["GLOO_SOCKET_IFNAME"]
    data = drawn_task(task["seed"])
    net = student(task["seed"])
    with WAYS[task["way"]["kind"]](task, net) as (optimizer, rounds):
        print(json.dumps({"ready": True}), file=output)
        sys.stdin.readline()
        ends: list[float] = []
        before, began_s = _bytes(interface), time.monotonic()
        taken = 0
        for taken in _steps(task, data, net, optimizer):
            if rounds() > len(ends):
                ends.append(time.monotonic())
                print(json.dumps({"round": rounds(), "at_s": ends[-1]}), file=output)
            if rounds() >= task["rounds"]:
                break
            if task["rank"] == task["lost_rank"] and taken == task["lost_step"]:
                print(json.dumps({"lost_at_s": time.monotonic()}), file=output)
                os.kill(os.getpid(), signal.SIGKILL)
        seconds = time.monotonic() - began_s
        after = _bytes(interface)
        told = {
            "seconds": seconds,
            "steps": taken,
            "sent_bytes": after[1] - before[1],
            "received_bytes": after[0] - before[0],
            "loss": _loss(net, data),
            "accuracy": accuracy(net, data),
        }
        print(json.dumps(told), file=output)
        # All have said it before one leaves.
        sys.stdin.readline()
    # torchft's threads wait for those that are gone.
    os._exit(0)


def _steps(
    task: dict[str, Any], data: Task, net: nn.Module, optimizer: torch.optim.Optimizer
) -> Iterator[int]:
    """Train without end; how many steps there have been, after each."""
    drawn = torch.Generator().manual_seed(task["seed"] * 1000 + task["rank"])
    for taken in itertools.count(1):
        chosen = torch.randint(TRAINING, (task["batch"],), generator=drawn)
        optimizer.zero_grad()
        loss = cross_entropy(net(data.inputs[chosen]), data.labels[chosen])
        loss.backward()  # type: ignore[no-untyped-call]
        # Stands for a larger network's, on a processor of its own.
        time.sleep(task["compute_ms"] / 1000)
        optimizer.step()
        yield taken


@contextmanager
def _sync(task: dict[str, Any], net: nn.Module) -> Iterator[tuple[torch.optim.Optimizer, Rounds]]:
    with ExitStack() as stack:
        hub = stack.enter_context(_hub(task))
        optimizer = hub.optimizer(_inner(net))
        yield optimizer, lambda: optimizer.iteration // task["sync_every"]


@contextmanager
def _diloco(task: dict[str, Any], net: nn.Module) -> Iterator[tuple[torch.optim.Optimizer, Rounds]]:
    import plink.torch  # noqa: PLC0415

    inner = _inner(net)
    options = {name: value for name, value in task["way"].items() if name != "kind"}
    with (
        _hub(task) as hub,
        plink.torch.DiLoCo(net, inner, hub=hub, sync_every=task["sync_every"], **options) as diloco,
    ):
        yield inner, lambda: diloco.rounds


@contextmanager
def _torchft(
    task: dict[str, Any], net: nn.Module
) -> Iterator[tuple[torch.optim.Optimizer, Rounds]]:
    # Its managers tell every quorum.
    os.environ.setdefault("RUST_LOG", "error")
    import torchft  # noqa: PLC0415
    from torch.distributed import TCPStore  # type: ignore[attr-defined] # noqa: PLC0415
    from torchft.local_sgd import DiLoCo  # noqa: PLC0415

    inner = _inner(net)
    store = TCPStore(task["address"], 0, is_master=True, wait_for_workers=False)
    manager = torchft.Manager(
        pg=torchft.ProcessGroupGloo(timeout=TIMEOUT),
        load_state_dict=lambda _: None,
        state_dict=dict,
        min_replica_size=1,
        use_async_quorum=False,
        init_sync=False,
        replica_id=f"replica_{task['rank']}",
        rank=0,
        world_size=1,
        store_addr=task["address"],
        store_port=store.port,
        lighthouse_addr=f"http://{task['lighthouse']}",
        hostname=task["address"],
        timeout=TIMEOUT,
    )
    outer = torch.optim.SGD(
        net.parameters(), lr=OUTER_LEARNING_RATE, momentum=OUTER_MOMENTUM, nesterov=True
    )
    with DiLoCo(manager, [net], inner, outer, sync_every=task["sync_every"]):
        yield inner, manager.current_step


def _inner(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(net.parameters(), lr=LEARNING_RATE)


def _hub(task: dict[str, Any]) -> Any:
    import plink.torch  # noqa: PLC0415

    return plink.torch.Hub(
        task["hub"],
        task["namespace"],
        secret_file=task["secret_file"],
        workers=task["ranks"],
        on_loss="shrink",
    )


WAYS: dict[str, Any] = {"sync": _sync, "diloco": _diloco, "torchft": _torchft}


def _loss(net: nn.Module, data: Task) -> float:
    with torch.no_grad():
        return cross_entropy(net(data.test_inputs), data.test_labels).item()


def _bytes(interface: str) -> tuple[int, int]:
    """Received and sent over an interface of this process's network namespace."""
    for line in Path("/proc/self/net/dev").read_text(encoding="ascii").splitlines():
        name, _, figures = line.partition(":")
        if name.strip() == interface:
            words = figures.split()
            return int(words[0]), int(words[8])
    raise SystemExit(f"error: no interface {interface}")


if __name__ == "__main__":
    main()
