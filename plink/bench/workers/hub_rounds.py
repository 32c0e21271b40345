"""One worker or server of a bench of the hub. It needs plink on the host, of the same version."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from plink import __version__
from plink.bench.workers.engine_collectives import RelayedStore, star, star_options
from plink.bench.workers.torch_collectives import (
    PART_ELEMENTS,
    VALUE_PERIOD,
    Channel,
    Watchdog,
    parts,
    serve,
)
from plink.engine import Engine
from plink.hub.admin import create_service, create_service_of_racks
from plink.hub.hyper import Hyper
from plink.hub.manifest import Key, Manifest
from plink.hub.service import ServiceOptions
from plink.hub.serving import Server, ServerOptions
from plink.hub.worker import Worker

_NAME = "bench"


def main() -> None:
    """Answer commands until standard input ends."""
    serve(Seat)


class Seat:
    """Seat in one service after another; its methods are the commands."""

    def __init__(self, command: dict[str, Any], watchdog: Watchdog, channel: Channel) -> None:
        self.address = command["address"]
        self.watchdog = watchdog
        self.channel = channel
        self.server: Server | None = None
        self.worker: Worker | None = None
        self.barriers: Engine | None = None

    def start(self, command: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Say what runs here."""
        return {"event": "started", "plink": __version__, "numpy": np.__version__}

    def wait(self, command: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Sit out a launch; the next command is due later."""
        return {"event": "waiting"}

    def serve(self, command: dict[str, Any]) -> dict[str, Any]:
        """Run a server, in threads, until told to end."""
        secret = bytes.fromhex(command["secret"])
        options = ServerOptions(
            command["listen"], secret, cores=command["cores"], weights=command["weights"]
        )
        self.server = Server(options)
        self.server.start()
        return {"event": "serving", "address": self.server.addresses[0]}

    def create(self, command: dict[str, Any]) -> dict[str, Any]:
        """Make the service."""
        self.watchdog.begin("making the service", command["timeout_s"])
        servers, workers = command["servers"], command["workers"]
        secret = bytes.fromhex(command["secret"])
        options = ServiceOptions(_NAME, workers[0], optimizer="none")
        if command["is_by_rack"]:
            made = create_service_of_racks(servers, secret, options, workers=workers)
        else:
            made = create_service(servers, secret, options)
        return {"event": "created", "secret": made.hex()}

    def join(self, command: dict[str, Any]) -> dict[str, Any]:
        """Take part, and connect with the other workers for barriers."""
        timeout_s = command["timeout_s"]
        self.watchdog.begin("connecting", timeout_s)
        store = RelayedStore(self.channel)
        limits = {"addresses": (self.address,), "setup_timeout_s": timeout_s}
        ranks = command["world_size"]
        self.barriers = Engine(command["rank"], ranks, store, star(ranks), star_options(limits))
        manifest = Manifest((Key("buffer", (command["elements"],)),))
        secret = bytes.fromhex(command["secret"])
        self.worker = Worker(command["servers"], _NAME, secret, manifest)
        self.worker.initialise(np.zeros(command["elements"], np.float32))
        return {"event": "joined"}

    def measure(self, command: dict[str, Any]) -> dict[str, Any]:
        """Time iterations; count the elements that are not as they should be."""
        worker, barriers = self.worker, self.barriers
        if worker is None or barriers is None:
            raise RuntimeError("measure comes after join")
        timeout_s: float = command["timeout_s"]
        pattern = (np.arange(PART_ELEMENTS + VALUE_PERIOD) % VALUE_PERIOD).astype(np.float32)
        ranks = np.float32(barriers.ranks)
        seconds, cpu_s, wrong = [], [], 0
        for repetition in range(command["warmups"] + command["repetitions"]):
            self.watchdog.begin("one iteration", timeout_s)
            worker.values[:] = 0.0
            for part, values in parts(worker.gradients, command["before"], pattern):
                part[:] = values
            barriers.allreduce(np.zeros(1, dtype=np.float32)).wait(timeout_s)
            cpu_begin = time.process_time()
            begin = time.perf_counter()
            worker.push_pull([Hyper()])
            end = time.perf_counter()
            cpu_end = time.process_time()
            for part, values in parts(worker.values, command["after"], pattern):
                # Whole numbers are added exactly; the hub divides the sum by the workers.
                wrong += int(np.count_nonzero(part != np.asarray(values, np.float32) / ranks))
            if repetition >= command["warmups"]:
                seconds.append(end - begin)
                cpu_s.append(cpu_end - cpu_begin)
        return {"event": "measured", "seconds": seconds, "cpu_s": cpu_s, "wrong_elements": wrong}

    def leave(self, command: dict[str, Any]) -> dict[str, Any]:
        """End this worker."""
        self.watchdog.begin("leaving", command["timeout_s"])
        if self.worker is not None:
            self.worker.close()
        if self.barriers is not None:
            self.barriers.close()
        self.worker = self.barriers = None
        return {"event": "left"}

    def end(self, command: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """End the server."""
        if self.server is not None:
            self.server.close()
        self.server = None
        return {"event": "ended-serving"}
