"""The workers of the benchmark, as who asks them sees them; and servers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchkit.processes import Process, answer, program, start_processes, tell
from labkit.fleeting import Namespace

# From telling workers when to begin until then: long enough for all of them to hear it.
_LEAD_S = 0.03
# The first times, in which kernels and congestion control learn the way.
WARM_UPS = 2


@dataclass
class Times:
    """One way, in all rounds: seconds until the last worker had its result.

    Args:
        seconds: of each round.
        cpu_s: of the processor, all workers together.
    """

    seconds: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    @property
    def median_s(self) -> float:
        """Of all rounds."""
        return statistics.median(self.seconds)

    @property
    def text(self) -> str:
        """Least, median and most, in seconds."""
        return f"{min(self.seconds):.3f} / {self.median_s:.3f} / {max(self.seconds):.3f}"


class Crowd:
    """Workers, each a process in a network of its own.

    Args:
        processes: `benchkit.programs.hub_rank`, one for each.
    """

    def __init__(self, processes: Sequence[Process]) -> None:
        self._processes = processes

    @property
    def workers(self) -> int:
        """How many there are."""
        return len(self._processes)

    def first(self, workers: int) -> Crowd:
        """So many of them."""
        return Crowd(self._processes[:workers])

    def only(self, worker: int, workers: int = 1) -> Crowd:
        """One of them, or so many from it on."""
        return Crowd(self._processes[worker : worker + workers])

    def kill(self) -> None:
        """Be gone, in the middle of whatever they do."""
        for process in self._processes:
            process.kill()
            process.wait()

    def tell(self, **message: Any) -> None:
        """Say to all what to do."""
        for process in self._processes:
            tell(process, message)

    def answers(self) -> list[dict[str, Any]]:
        """What each answers next."""
        return [answer(process) for process in self._processes]

    def open(self, name: str, way: str, specs: Iterable[Mapping[str, Any]]) -> None:
        """Let all meet in one way; each has a `spec` of its own beside its rank."""
        ranks = len(self._processes)
        for rank, (process, spec) in enumerate(zip(self._processes, specs, strict=True)):
            message = {"do": "open", "name": name, "way": way, "rank": rank, "ranks": ranks}
            tell(process, {**message, **spec})
        self.answers()

    def close(self, name: str) -> None:
        """Let all leave a way."""
        self.tell(do="close", name=name)
        self.answers()

    def turn(self, name: str) -> tuple[float, float]:
        """Seconds until the last worker had its result, and of the processor of all."""
        at_s = time.monotonic() + _LEAD_S + 0.002 * self.workers
        self.tell(do="run", name=name, at_s=at_s)
        answers = self.answers()
        seconds = max(one["ended_s"] for one in answers) - at_s
        return seconds, sum(one["cpu_s"] for one in answers)

    def rounds(self, names: Sequence[str], rounds: int) -> dict[str, Times]:
        """All ways in turn, in each round in another sequence."""
        found = {name: Times() for name in names}
        for turn in range(-WARM_UPS, rounds):
            shift = turn % len(names)
            for name in [*names[shift:], *names[:shift]]:
                seconds, cpu_s = self.turn(name)
                if turn >= 0:
                    found[name].seconds.append(seconds)
                    found[name].cpu_s.append(cpu_s)
        return found


@contextmanager
def crowd_in(namespaces: Sequence[Namespace]) -> Iterator[Crowd]:
    """Start a worker in each; end them at the end."""
    command = program("hub_rank")
    with start_processes([namespace.command(command) for namespace in namespaces]) as processes:
        yield Crowd(processes)


class HubServer:
    """A server, in a network of its own.

    Args:
        process: `benchkit.programs.hub_server`.
        address: of its control connections.
    """

    def __init__(self, process: Process, address: str) -> None:
        self._process = process
        self.address = address

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """What it answers."""
        tell(self._process, {"do": do, **arguments})
        return answer(self._process)


@contextmanager
def servers_in(
    places: Sequence[tuple[Namespace, Sequence[str]]],
    cores: int,
    secret: str,
    snapshots: Path | None = None,
) -> Iterator[list[HubServer]]:
    """Start a server in each; end them at the end.

    Args:
        places: of each its network and the addresses of its ports.
        cores: event loops of each.
        secret: the administrator's.
        snapshots: a folder for them.
    """
    command = program("hub_server")
    with start_processes([namespace.command(command) for namespace, _ in places]) as processes:
        for process, (_, addresses) in zip(processes, places, strict=True):
            listen = [f"{address}:0" for address in addresses]
            task = {"listen": listen, "cores": cores, "secret": secret}
            tell(process, task | ({"snapshots": str(snapshots)} if snapshots else {}))
        yield [HubServer(process, answer(process)["addresses"][0]) for process in processes]
