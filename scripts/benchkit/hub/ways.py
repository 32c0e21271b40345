"""The ways in which gradients are averaged here: through a hub, by the engine, by Gloo."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from benchkit.hub.flood import FloodWay

TIMEOUT_S = 120.0
# Small whole numbers, which float32 adds up exactly.
PERIOD = 1009


class Way(Protocol):
    """One of several that a rank has open."""

    def prepare(self) -> None:
        """What is averaged is written anew."""

    def once(self) -> None:
        """Average."""

    def check(self) -> dict[str, Any] | None:
        """Raises SystemExit where what came out is wrong; what else there is to say."""

    def close(self) -> None:
        """Leave."""


class Averaged:
    """What a rank has, and what all must have afterwards.

    Args:
        rank: of this process among `ranks`.
        ranks: how many.
        items: numbers of 4 bytes.
    """

    def __init__(self, rank: int, ranks: int, items: int) -> None:
        pattern = (np.arange(items) % PERIOD).astype(np.float32)
        self.own = pattern * np.float32(rank + 1)
        self.total = pattern * np.float32(ranks * (ranks + 1) // 2)
        self.ranks = ranks

    def check_sum(self, found: npt.NDArray[np.float32], name: str) -> None:
        """Raises SystemExit where it is not the sum."""
        if not np.array_equal(found, self.total):
            raise SystemExit(f"{name}: a wrong sum")

    def check_mean(self, found: npt.NDArray[np.float32], name: str) -> None:
        """Raises SystemExit where it is not the mean."""
        if not np.allclose(found, self.total / self.ranks, rtol=1e-6, atol=0.0):
            raise SystemExit(f"{name}: a wrong mean")


class HubWay:
    """Push and pull, through a service that is there.

    Args:
        rank, ranks: of this process.
        servers: where they listen, in the service's order.
        namespace: of the service.
        secret: its, in hexadecimal digits.
        keys: lengths of the parameters.
        optimizer: of the service; with `none` the mean comes back, and is checked.
        options: others of a worker.
    """

    def __init__(
        self,
        rank: int,
        ranks: int,
        *,
        servers: Sequence[str],
        namespace: str,
        secret: str,
        keys: Sequence[int],
        optimizer: str,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        from plink.hub.hyper import Hyper  # noqa: PLC0415  others of the ways need no hub
        from plink.hub.manifest import Key, Manifest  # noqa: PLC0415
        from plink.hub.worker import Worker, WorkerOptions  # noqa: PLC0415

        manifest = Manifest(tuple(Key(f"k{number}", (items,)) for number, items in enumerate(keys)))
        self._worker = Worker(
            servers, namespace, bytes.fromhex(secret), manifest, WorkerOptions(**(options or {}))
        )
        self._optimizer = optimizer
        self._done = 0
        self._averaged = Averaged(rank, ranks, sum(keys))
        self._hyper = [Hyper(lr=0.0001, momentum=0.9)]
        self._worker.initialise(np.zeros(sum(keys), dtype=np.float32))
        self._worker.gradients[:] = self._averaged.own

    def prepare(self) -> None:
        """Gradients are not overwritten."""

    def once(self) -> None:
        """Push all, wait for all."""
        self._worker.push_pull(self._hyper)
        self._done += 1

    def check(self) -> None:
        """Raises SystemExit where the mean is wrong, or momentum has come to other bits."""
        if self._optimizer == "none":
            self._averaged.check_mean(self._worker.values, "hub")
        elif self._optimizer == "momentum" and self._worker.service.mode == "sync":
            self._check_momentum()

    def _check_momentum(self) -> None:
        from plink.hub import reference  # noqa: PLC0415

        # Gradients repeat, and whole numbers come to the same sum in every order.
        gradient = reference.mean(self._averaged.total[:PERIOD], self._averaged.ranks)
        values, state = np.zeros_like(gradient), [np.zeros_like(gradient)]
        for step in range(1, self._done + 1):
            reference.apply(
                "momentum", self._hyper[0], step, gradient=gradient, values=values, state=state
            )
        if not np.array_equal(self._worker.values, np.resize(values, self._worker.values.size)):
            raise SystemExit("hub: other bits than those of the reference")

    def close(self) -> None:
        """Leave the service."""
        self._worker.close()


class EngineWay:
    """An all-reduce of plink's engine.

    Args:
        rank, ranks: of this process.
        address: of its host.
        store: a folder in which the ranks meet.
        plan: weights and trees.
        items: numbers of 4 bytes.
        options: others of an engine.
    """

    def __init__(
        self,
        rank: int,
        ranks: int,
        *,
        address: str,
        store: str,
        plan: Mapping[str, Any],
        items: int,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        from plink.engine import DirectoryStore, Engine, Forest, Options  # noqa: PLC0415

        forest = Forest(*(np.array(plan[part]) for part in ("weights", "reduce", "broadcast")))
        settings = Options(addresses=[address], setup_timeout_s=TIMEOUT_S, **(options or {}))
        self._engine = Engine(rank, ranks, DirectoryStore(store), forest, settings)
        self._averaged = Averaged(rank, ranks, items)
        self._array = np.empty(items, dtype=np.float32)

    def prepare(self) -> None:
        """The sum overwrites what was there."""
        self._array[:] = self._averaged.own

    def once(self) -> None:
        """Reduce."""
        self._engine.allreduce(self._array).wait(TIMEOUT_S)

    def check(self) -> None:
        """Raises SystemExit where the sum is wrong."""
        self._averaged.check_sum(self._array, "engine")

    def close(self) -> None:
        """Leave."""
        self._engine.close()


class GlooWay:
    """An all-reduce of Gloo, as PyTorch calls it.

    Args:
        rank, ranks: of this process.
        address: of its host.
        master: the address of rank 0's host.
        port: there.
        items: numbers of 4 bytes.
    """

    def __init__(
        self, rank: int, ranks: int, *, address: str, master: str, port: int, items: int
    ) -> None:
        import datetime  # noqa: PLC0415

        import torch  # noqa: PLC0415
        import torch.distributed as dist  # noqa: PLC0415
        from torch._C._distributed_c10d import TCPStore  # noqa: PLC0415

        from plink.bench.workers.torch_collectives import interface_of  # noqa: PLC0415

        torch.set_num_threads(1)
        os.environ["GLOO_SOCKET_IFNAME"] = interface_of(address)
        timeout = datetime.timedelta(seconds=TIMEOUT_S)
        store = TCPStore(master, port, ranks, rank == 0, timeout)
        self._group: Any = dist.ProcessGroupGloo(store, rank, ranks, timeout)
        self._averaged = Averaged(rank, ranks, items)
        self._tensor = torch.empty(items)

    def prepare(self) -> None:
        """The sum overwrites what was there."""
        self._tensor.numpy()[:] = self._averaged.own

    def once(self) -> None:
        """Reduce."""
        self._group.allreduce([self._tensor]).wait()

    def check(self) -> None:
        """Raises SystemExit where the sum is wrong."""
        self._averaged.check_sum(self._tensor.numpy(), "gloo")

    def close(self) -> None:
        """Leave."""
        self._group = None


WAYS: Mapping[str, Any] = {
    "hub": HubWay,
    "engine": EngineWay,
    "gloo": GlooWay,
    "flood": FloodWay,
}
