"""Hubs for tests, and workers in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from plink.hub.serving import Server, ServerOptions
from plink.torch.hub.hub import Hub
from plink.transport.tls import Tls

JOIN_TIMEOUT_S = 60


class Place:
    """Where a hub is, and its secret."""

    def __init__(self, servers: list[str], secret_file: Path) -> None:
        self.servers = servers
        self.secret_file = secret_file

    def hub(self, namespace: str, workers: int | None = None, **options: Any) -> Hub:
        return Hub(
            self.servers, namespace, secret_file=self.secret_file, workers=workers, **options
        )


@contextmanager
def running(folder: Path, tls: Tls | None = None, servers: int = 1) -> Iterator[Place]:
    secret = folder / "secret"
    secret.write_text("s" * 32)
    options = ServerOptions(
        listen=["127.0.0.1:0"], secret=secret.read_bytes(), cores=1, pins=(), tls=tls
    )
    with ExitStack() as stack:
        them = [stack.enter_context(Server(options)) for _ in range(servers)]
        yield Place([server.addresses[0] for server in them], secret)


def together(workers: int, work: Callable[[int], Any]) -> list[Any]:
    """What each of so many threads returned; the first one's error, if there was one."""
    returned: list[Any] = [None] * workers
    errors: list[BaseException] = []

    def run(worker: int) -> None:
        try:
            returned[worker] = work(worker)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(one,), daemon=True) for one in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(JOIN_TIMEOUT_S)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads)
    return returned


class Turns:
    """Workers join in the order of their numbers, and go on when all have.

    Args:
        workers: how many.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._joined = 0
        self._changed = threading.Condition()

    @contextmanager
    def of(self, worker: int) -> Iterator[None]:
        """Within it this worker joins."""
        self._wait(worker)
        yield
        with self._changed:
            self._joined += 1
            self._changed.notify_all()
        self._wait(self._workers)

    def _wait(self, joined: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._joined >= joined, JOIN_TIMEOUT_S)


def model(seed: int = 0) -> nn.Module:
    """Three layers: 435 parameters."""
    return drawn(
        nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)),
        seed,
    )


def wide(seed: int = 0) -> nn.Module:
    """Two layers: 20,003 parameters, three chunks."""
    return drawn(nn.Sequential(nn.Linear(6, 2000), nn.Tanh(), nn.Linear(2000, 3)), seed)


def drawn(net: nn.Module, seed: int) -> nn.Module:
    """Draw weights anew, from no generator that threads share."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.uniform_(-0.4, 0.4, generator=generator)
    return net


def examples(count: int = 64) -> tuple[Tensor, Tensor]:
    drawn = torch.Generator().manual_seed(3)
    return torch.randn(count, 6, generator=drawn), torch.randint(0, 3, (count,), generator=drawn)


def loss_of(net: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.cross_entropy(net(inputs), targets)


def apart(ours: nn.Module, theirs: nn.Module) -> float:
    """The greatest difference of two models' parameters."""
    return max(
        float((one - other).detach().abs().max())
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True)
    )
