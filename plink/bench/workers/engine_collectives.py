"""One rank of an engine bench. Unlike Gloo's, it needs plink on the host, of the same version."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from plink import __version__
from plink.bench.workers.torch_collectives import (
    PART_ELEMENTS,
    VALUE_PERIOD,
    Channel,
    Watchdog,
    parts,
    serve,
)
from plink.engine import Engine, Options, Statistics, Work
from plink.plans.forest import NO_PARENT, Forest, make_forest
from plink.plans.wire import decode_forest

# As of the engine's own options.
SILENCE_S = 30.0

Values = npt.NDArray[np.float32]


def main() -> None:
    """Answer commands until standard input ends."""
    serve(Rank)


class RelayedStore:
    """Store whose entries reach other ranks by way of the bench that drives them all."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel

    def set(self, key: str, value: bytes) -> None:
        """Tell the bench."""
        self.channel.tell({"event": "set", "key": key, "value": value.hex()})

    def get(self, key: str, timeout_s: float) -> bytes:
        """Ask the bench, which answers once the key is set."""
        self.channel.tell({"event": "get", "key": key})
        try:
            answer = self.channel.next(timeout_s)
        except queue.Empty:
            raise TimeoutError(f"nobody set {key}") from None
        return bytes.fromhex(answer["value"])


class Rank:
    """Rank in one set of engines after another; its methods are the commands."""

    def __init__(self, command: dict[str, Any], watchdog: Watchdog, channel: Channel) -> None:
        self.address = command["address"]
        self.watchdog = watchdog
        self.channel = channel
        self.engines: list[Engine] = []

    def start(self, command: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Say what runs here."""
        return {"event": "started", "plink": __version__, "numpy": np.__version__}

    def wait(self, command: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Sit out a launch; the next command is due later."""
        return {"event": "waiting"}

    def join(self, command: dict[str, Any]) -> dict[str, Any]:
        """Connect with the other ranks, twice: for what is measured, and for barriers.

        Ranks leave a barrier along a star almost together, whatever the plan.
        """
        timeout_s = command["timeout_s"]
        self.watchdog.begin("connecting", timeout_s)
        rank, ranks = command["rank"], command["world_size"]
        store = RelayedStore(self.channel)
        limits = {
            "addresses": (self.address,),
            "setup_timeout_s": timeout_s,
            "silence_timeout_s": min(SILENCE_S, timeout_s),
            "stall_timeout_s": timeout_s,
            "tls": command["tls"],
        }
        plan = decode_forest(command["forest"], ranks)
        self.engines = []
        for forest, options in ((plan, Options(**limits)), (star(ranks), star_options(limits))):
            self.engines.append(Engine(rank, ranks, store, forest, options))
        return {"event": "joined"}

    def measure(self, command: dict[str, Any]) -> dict[str, Any]:
        """Time a collective; count the elements that are not as they should be."""
        engine, _ = self.engines
        timeout_s: float = command["timeout_s"]
        # Runs of values begin anywhere in a period.
        pattern = (np.arange(PART_ELEMENTS + VALUE_PERIOD) % VALUE_PERIOD).astype(np.float32)
        source = np.zeros(command["input_elements"], dtype=np.float32)
        result = source
        if command["output_elements"] is not None:
            result = np.zeros(command["output_elements"], dtype=np.float32)
        run = OPERATIONS[command["collective"]]
        seconds, cpu_s, wrong = [], [], 0
        before = engine.statistics()
        for repetition in range(command["warmups"] + command["repetitions"]):
            self.watchdog.begin(f"one {command['collective']}", timeout_s)
            # What is not written may not look like a result of before.
            result[:] = 0.0
            for part, values in parts(source, command["before"], pattern):
                part[:] = values
            if repetition == command["warmups"]:
                # No rank begins to send before all have passed the barrier.
                before = engine.statistics()
            self.barrier(timeout_s)
            cpu_begin = time.process_time()
            begin = time.perf_counter()
            for work in run(engine, source, result):
                work.wait(timeout_s)
            end = time.perf_counter()
            cpu_end = time.process_time()
            for part, values in parts(result, command["after"], pattern):
                wrong += int(np.count_nonzero(part != values))
            if repetition >= command["warmups"]:
                seconds.append(end - begin)
                cpu_s.append(cpu_end - cpu_begin)
        return {
            "event": "measured",
            "seconds": seconds,
            "cpu_s": cpu_s,
            "wrong_elements": wrong,
            **traffic(before, engine.statistics(), engine.ranks),
        }

    def barrier(self, timeout_s: float) -> None:
        """Go on when all ranks are here."""
        self.engines[1].allreduce(np.zeros(1, dtype=np.float32)).wait(timeout_s)

    def leave(self, command: dict[str, Any]) -> dict[str, Any]:
        """End the engines."""
        self.watchdog.begin("closing the engines", command["timeout_s"])
        for engine in self.engines:
            engine.close()
        self.engines = []
        return {"event": "left"}


def of_root(engine: Any, buffer: Values) -> Values | None:
    """Return the buffer where this is rank 0."""
    return buffer if engine.rank == 0 else None


def send_receive(engine: Any, source: Values, result: Values) -> list[Work]:
    """Send to the next rank, and receive from the one before."""
    rank, ranks = engine.rank, engine.ranks
    received = engine.receive(result, (rank - 1) % ranks)
    return [received, engine.send(source, (rank + 1) % ranks)]


OPERATIONS: Mapping[str, Callable[[Any, Values, Values], list[Work]]] = {
    "all-reduce": lambda engine, source, _: [engine.allreduce(source)],
    "reduce-scatter": lambda engine, source, result: [engine.reduce_scatter(source, result)],
    "all-gather": lambda engine, source, result: [engine.all_gather(source, result)],
    "broadcast": lambda engine, source, _: [engine.broadcast(source, 0)],
    "reduce": lambda engine, source, _: [engine.reduce(source, 0)],
    "gather": lambda engine, source, result: [engine.gather(source, of_root(engine, result), 0)],
    "scatter": lambda engine, source, result: [engine.scatter(of_root(engine, source), result, 0)],
    "all-to-all": lambda engine, source, result: [engine.all_to_all(source, result)],
    "barrier": lambda engine, _source, _result: [engine.barrier()],
    "send-receive": send_receive,
}


def star(ranks: int) -> Forest:
    """Return a forest of one route, with rank 0 the parent of all others."""
    parents = np.zeros((1, ranks), dtype=np.int32)
    parents[0, 0] = NO_PARENT
    return make_forest([1.0], parents, parents)


def star_options(limits: dict[str, Any]) -> Options:
    """A barrier needs one connection a pair."""
    return Options(workers=1, cores=(), **limits)


def traffic(before: Statistics, after: Statistics, ranks: int) -> dict[str, list[int]]:
    """Return bytes to and from each rank between two moments."""
    sent, received = [0] * ranks, [0] * ranks
    for sign, statistics in ((-1, before), (1, after)):
        for peer in statistics.peers:
            sent[peer.peer] += sign * peer.bytes_sent
            received[peer.peer] += sign * peer.bytes_received
    return {"sent_bytes": sent, "received_bytes": received}
