"""Agents that meet as torchrun's do, without workers: real rendezvous, real kills.

Each is a process of its own, forked from one that has imported PyTorch.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

_PRELOADED = [
    "torch.distributed.elastic.rendezvous.registry",
    "plink.torchrun.handler",
    "plink.renumber.measuring",
    "plink.optimize.orders.ordering",
]
_PORT_S = 60.0
_POLL_S = 0.05
_ASKED_EVERY_S = 0.5

AGAIN, STOP = "again", "stop"


@dataclass(frozen=True)
class Met:
    """What an agent got of a round.

    Args:
        host: its host's name.
        rank, agents: its rank, of how many.
        master: address and port of the workers' store; no two rounds have the same.
        at: when, by `time.monotonic`.
    """

    host: str
    rank: int
    agents: int
    master: str
    at: float


@dataclass
class Agent:
    """A running agent."""

    host: str
    process: Any
    pipe: Connection
    met: list[Met] = field(default_factory=list)
    error: str = ""

    def tell(self, word: str) -> None:
        """Let it meet again, or end."""
        with suppress(OSError):
            self.pipe.send(word)

    def kill(self) -> None:
        """As the kernel does: no word to anybody."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Agents:
    """Agents of one job, and the store at which they meet.

    Args:
        backend: `plink` or `c10d`.
        least, most: agents of a round.
        config: of `--rdzv-conf`, for all.
    """

    def __init__(self, backend: str, least: int, most: int, config: Mapping[str, str]) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOADED)
        # The store ends with this end of it.
        self._pipe, there = self._context.Pipe()
        self._store = self._context.Process(target=_hold_store, args=(there,), daemon=True)
        self._store.start()
        if not self._pipe.poll(_PORT_S):
            raise SystemExit("the agents' store did not start")
        self._params = {
            "backend": backend,
            "endpoint": f"127.0.0.1:{self._pipe.recv()}",
            "run_id": "job",
            "min_nodes": least,
            "max_nodes": most,
            "local_addr": "127.0.0.1",
            "is_host": "0",
            **config,
        }
        self.living: list[Agent] = []

    def start(self, host: str, config: Mapping[str, str] | None = None) -> Agent:
        """One more, on a host of that name."""
        here, there = self._context.Pipe()
        of_host = {"host": host} if self._params["backend"] == "plink" else {}
        params = {**self._params, **of_host, **(config or {})}
        process = self._context.Process(target=_attend, args=(there, params, host), daemon=True)
        process.start()
        there.close()
        agent = Agent(host, process, here)
        self.living.append(agent)
        return agent

    def again(self) -> None:
        """Let all meet again, as where a worker has failed."""
        self.forget()
        for agent in self.living:
            agent.tell(AGAIN)

    def forget(self) -> None:
        """What they have met in so far: only rounds from now on count."""
        self._hear()
        for agent in self.living:
            agent.met.clear()

    def kill(self, agent: Agent) -> None:
        """End one at once."""
        self.living.remove(agent)
        agent.kill()

    def round_of(self, hosts: Sequence[str], within_s: float) -> list[Met]:
        """The agents in order of their ranks, once all that live have met in one round.

        Args:
            hosts: of those that are to be there, in any order.

        Raises:
            TimeoutError: they did not.
        """
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            self._hear()
            last = [agent.met[-1] for agent in self.living if agent.met]
            if (
                len(last) == len(self.living) == len(hosts)
                and len({met.master for met in last}) == 1
                and sorted(met.host for met in last) == sorted(hosts)
            ):
                return sorted(last, key=lambda met: met.rank)
        self._show_stacks()
        last_words = [(agent.host, agent.met[-1:], agent.error) for agent in self.living]
        raise TimeoutError(f"no round of {sorted(hosts)} within {within_s:g} s: {last_words}")

    def _show_stacks(self) -> None:
        """Where each agent is, on standard error."""
        for agent in self.living:
            if agent.process.is_alive():
                os.kill(agent.process.pid, signal.SIGUSR1)
                time.sleep(_POLL_S)

    def close(self) -> None:
        """Kill all."""
        for agent in list(self.living):
            self.kill(agent)
        self._store.kill()
        self._store.join()

    def _hear(self) -> None:
        pipes = {agent.pipe: agent for agent in self.living if not agent.error}
        for pipe in wait(list(pipes), _POLL_S):
            agent = pipes[pipe]  # type: ignore[index]
            try:
                said = agent.pipe.recv()
            except (EOFError, OSError):
                agent.error = agent.error or "it ended"
                continue
            if isinstance(said, Met):
                agent.met.append(said)
            else:
                agent.error = said


@contextmanager
def agents(backend: str, least: int, most: int, config: Mapping[str, str]) -> Iterator[Agents]:
    """Agents that are killed at the end."""
    crowd = Agents(backend, least, most, config)
    try:
        yield crowd
    finally:
        crowd.close()


def _hold_store(pipe: Connection) -> None:
    from torch._C._distributed_c10d import TCPStore  # noqa: PLC0415  imported by the fork server

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, multi_tenant=True)
    pipe.send(store.port)
    with suppress(EOFError):
        pipe.recv()


def _no_name(_depth: int = 2) -> str:
    return "no_method_name"


def _attend(pipe: Connection, params: Mapping[str, Any], host: str) -> None:
    from torch.distributed.elastic.rendezvous import (  # noqa: PLC0415
        RendezvousParameters,
        dynamic_rendezvous,
        rendezvous_handler_registry,
    )
    from torch.distributed.elastic.rendezvous.registry import (  # noqa: PLC0415
        _register_default_handlers,
    )

    from plink.torchrun.entry import creator  # noqa: PLC0415

    faulthandler.register(signal.SIGUSR1)
    # PyTorch looks through all loaded modules to name the method of each record. Where sixteen
    # agents share two cores that starves them until they give each other up.
    dynamic_rendezvous.get_method_name = _no_name
    _register_default_handlers()
    rendezvous_handler_registry.register("plink", creator())
    try:
        handler = rendezvous_handler_registry.create_handler(RendezvousParameters(**params))
        while True:
            info = handler.next_rendezvous()
            master: Any = info.bootstrap_store_info
            place = f"{master.master_addr}:{master.master_port}"
            pipe.send(Met(host, info.rank, info.world_size, place, time.monotonic()))
            while not pipe.poll(_ASKED_EVERY_S):
                if handler.num_nodes_waiting():
                    break
            else:
                if pipe.recv() == STOP:
                    return
    except BaseException as error:
        with suppress(OSError):
            pipe.send(f"{type(error).__name__}: {error}")
        raise
