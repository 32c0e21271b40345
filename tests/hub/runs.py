"""Whole runs in one process: servers, workers as threads, and what the reference makes of them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from plink.hub import reference
from plink.hub.admin import create_service
from plink.hub.hyper import STATES, Hyper
from plink.hub.manifest import Key, Manifest
from plink.hub.reference import Floats
from plink.hub.service import ServiceOptions
from plink.hub.serving import Server, ServerOptions
from plink.hub.worker import Step, Worker, WorkerOptions
from plink.transport.tls import Tls

ADMIN_SECRET = b"of whoever makes services"

MANIFEST = Manifest(
    (
        Key("a", (20_000,)),
        Key("b", (3,)),
        Key("c", (700,), 1),
        Key("d", (9_001,), 1),
        Key("e", (5,)),
    ),
    2,
)


@dataclass
class Service:
    """A standing service.

    Args:
        servers: that have it.
        addresses: of their control.
        options: of it.
        secret: of its workers.
    """

    servers: list[Server]
    addresses: list[str]
    options: ServiceOptions
    secret: bytes
    manifest: Manifest = MANIFEST

    tls: Tls | None = None

    def worker(self) -> Worker:
        """A new one."""
        options = WorkerOptions(tls=self.tls)
        return Worker(self.addresses, "job", self.secret, self.manifest, options)


@contextlib.contextmanager
def service(
    workers: int,
    *,
    servers: int = 1,
    ports: int = 1,
    cores: int = 1,
    manifest: Manifest = MANIFEST,
    snapshots: Path | None = None,
    tls: Tls | None = None,
    **options: Any,
) -> Iterator[Service]:
    """Servers with a service for so many workers."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(servers):
            listen = ["127.0.0.1:0"] * ports
            folder = None if snapshots is None else str(snapshots)
            its = ServerOptions(listen, ADMIN_SECRET, cores, (), snapshots=folder, tls=tls)
            made.append(Server(its))
            stack.enter_context(made[-1])
        addresses = [server.addresses[0] for server in made]
        chosen = ServiceOptions("job", workers, **options)
        secret = create_service(addresses, ADMIN_SECRET, chosen, tls=tls)
        yield Service(made, addresses, chosen, secret, manifest, tls)


@dataclass
class Threads:
    """Workers at work; what they returned or failed with, in the order in which they began."""

    threads: list[threading.Thread] = field(default_factory=list)
    results: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, BaseException] = field(default_factory=dict)

    def begin(self, work: Callable[[], Any]) -> None:
        """Another one."""
        index = len(self.threads)

        def run() -> None:
            try:
                self.results[index] = work()
            except BaseException as error:
                self.failures[index] = error

        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()

    @property
    def alive(self) -> int:
        """How many have not ended."""
        return sum(thread.is_alive() for thread in self.threads)

    def join(self, seconds: float = 60.0) -> list[Any]:
        """What they returned; fails where one has failed or goes on."""
        self.end(seconds)
        # Who leaves because it has failed makes others fail.
        for error in sorted(self.failures.values(), key=lambda error: "has left" in str(error)):
            raise error
        return [self.results[index] for index in range(len(self.threads))]

    def end(self, seconds: float = 60.0) -> None:
        """They have ended, well or not."""
        for thread in self.threads:
            thread.join(seconds)
            assert not thread.is_alive()


def gradient(worker: int, iteration: int, items: int) -> Floats:
    """Of a worker in an iteration."""
    return np.random.default_rng([worker, iteration]).standard_normal(items, np.float32)


def first_values(items: int) -> Floats:
    """With which a service begins."""
    return np.random.default_rng(99).standard_normal(items, np.float32)


@dataclass
class Outcome:
    """What a worker ended with."""

    number: int
    values: Floats
    steps: list[Step]


def train(worker: Worker, hypers: Sequence[Hyper], iterations: int) -> Outcome:
    """A worker's whole life."""
    with worker:
        items = len(worker.values)
        own = first_values(items) if worker.number == 0 else np.zeros(items, np.float32)
        worker.initialise(own)
        steps = []
        for _ in range(iterations):
            worker.gradients[:] = gradient(worker.number, worker.iteration, items)
            steps.append(worker.push_pull(hypers))
        return Outcome(worker.number, worker.values.copy(), steps)


def run(served: Service, hypers: Sequence[Hyper], iterations: int) -> list[Outcome]:
    """All workers, side by side; by number."""
    threads = Threads()
    for _ in range(served.options.workers):
        threads.begin(lambda: train(served.worker(), hypers, iterations))
    return sorted(threads.join(), key=lambda outcome: outcome.number)


class Twin:
    """What the reference makes of the same gradients, chunk by chunk."""

    def __init__(self, manifest: Manifest, options: ServiceOptions) -> None:
        self._options = options
        self._chunks = manifest.chunks(options.chunk_bytes)
        self.values = first_values(manifest.items)
        count = len(STATES[options.optimizer])
        self.state = [np.zeros(manifest.items, np.float32) for _ in range(count)]
        self.steps = 0
        self.norm = 0.0

    def step(self, gradients: Sequence[Floats], hypers: Sequence[Hyper]) -> None:
        """One iteration of these workers' gradients, in the order of their numbers."""
        self.step_of(reference.mean(reference.aggregate(gradients), len(gradients)), hypers)

    def step_of(self, mean: Floats, hypers: Sequence[Hyper]) -> None:
        """One iteration whose mean gradient is known."""
        scale = 1.0
        places = list(zip(self._chunks.offsets_items, self._chunks.items, strict=True))
        if self._options.commit == "step":
            squares = 0.0
            for offset, items in places:
                squares += reference.squared_norm(mean[offset : offset + items])
            self.norm = float(np.sqrt(squares))
            if self._options.skip_nonfinite and not np.isfinite(squares):
                return
            scale = float(reference.clip_scale(self.norm, self._options.clip_norm))
        self.steps += 1
        for chunk, (offset, items) in enumerate(places):
            part = slice(offset, offset + items)
            reference.apply(
                self._options.optimizer,
                hypers[self._chunks.groups[chunk]],
                self.steps,
                gradient=mean[part],
                values=self.values[part],
                state=[array[part] for array in self.state],
                scale=scale,
            )
