"""Digits learnt at a hub by threads of this process, one of them lost and one joining."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchkit.digits import LEARNING_RATE, MOMENTUM, accuracy, digits, drawn_images, model
from plink.hub.serving import Server, ServerOptions
from plink.torch import DiLoCo, Hub

WORKERS = 3
BATCH = 30
# As scripts/train-digits-hub has it.
OUTER_MOMENTUM = 0.5
_SECRET = b"of this benchmark alone, on loopback"


class Digits:
    """The task, and all that learn it from the same weights and the same batches.

    Args:
        seed: of both.
        steps: of each worker.
    """

    def __init__(self, seed: int, steps: int) -> None:
        self._seed = seed
        self.steps = steps
        self._images, self._labels = digits()
        torch.manual_seed(seed)
        self._begin = model().state_dict()

    def alone(self) -> float:
        """The accuracy of one process that sees what all workers see."""
        net, optimizer = self.made()
        for step in range(self.steps):
            self.train(net, optimizer, step, range(WORKERS))
        return accuracy(net, self._images, self._labels)

    def at_hub(self, sync_every: int, lost_at: int) -> float:
        """The accuracy that workers come to.

        Args:
            sync_every: H of DiLoCo; 0 for a step at a time.
            lost_at: the step at which one is lost, and another joins; 0 for none.
        """
        with tempfile.TemporaryDirectory() as folder:
            secret = Path(folder, "secret")
            secret.write_bytes(_SECRET)
            options = ServerOptions(listen=["127.0.0.1:0"], secret=_SECRET, cores=1, pins=())
            with Server(options) as server:
                job = _Job(self, server.addresses[0], secret, sync_every, lost_at)
                with ThreadPoolExecutor(WORKERS + 1) as threads:
                    told = list(threads.map(job.work, range(WORKERS + bool(lost_at))))
        first: float = told[0] or 0.0
        return first

    def made(self) -> tuple[nn.Module, torch.optim.Optimizer]:
        """A network with the weights that all begin with, and its optimizer."""
        net = model()
        net.load_state_dict(self._begin)
        return net, torch.optim.SGD(net.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)

    def train(self, net: nn.Module, optimizer: Any, step: int, workers: Any) -> None:
        """One step with what these workers draw for it."""
        chosen = torch.cat([drawn_images(self._seed, step, one, BATCH) for one in workers])
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 - step / self.steps)
        optimizer.zero_grad()
        told: Tensor = net(self._images[chosen])
        loss = nn.functional.cross_entropy(told, self._labels[chosen])
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    def accuracy_of(self, net: nn.Module) -> float:
        """On what no worker has seen."""
        return accuracy(net, self._images, self._labels)


class _Job:
    def __init__(
        self, task: Digits, server: str, secret: Path, sync_every: int, lost_at: int
    ) -> None:
        self._task = task
        self._server = server
        self._secret = secret
        self._sync_every = sync_every
        self._lost_at = lost_at
        self._lost = threading.Event()
        # The first one's weights count, so it comes first; they are all the same here.
        self._ready = threading.Barrier(WORKERS)

    def work(self, worker: int) -> float | None:
        """Of one worker; the last number joins when another is lost."""
        if worker == WORKERS:
            self._lost.wait()
        net, optimizer = self._task.made()
        hub = Hub(self._server, "job", secret_file=self._secret, workers=WORKERS, on_loss="shrink")
        stepped, now = self._join(hub, net, optimizer)
        if worker < WORKERS:
            self._ready.wait()
        is_lost = self._lost_at > 0 and worker == WORKERS - 1
        while now() < (self._lost_at if is_lost else self._task.steps):
            self._task.train(net, stepped, now(), [min(worker, WORKERS - 1)])
        if is_lost:
            hub.abandon()
            self._lost.set()
            return None
        hub.close()
        return self._task.accuracy_of(net)

    def _join(
        self, hub: Hub, net: nn.Module, optimizer: torch.optim.Optimizer
    ) -> tuple[Any, Callable[[], int]]:
        if self._sync_every:
            diloco = DiLoCo(
                net,
                optimizer,
                hub=hub,
                sync_every=self._sync_every,
                outer_momentum=OUTER_MOMENTUM,
            )
            return optimizer, lambda: diloco.step
        at_hub = hub.optimizer(optimizer)
        return at_hub, lambda: at_hub.iteration
