"""PyTorch: a worker process a rank for the whole bench, one process group a launch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import ClassVar

from plink.base.errors import PlinkError
from plink.bench.clients.client import Launch, Measured
from plink.bench.clients.workers import Message, Workers, interpreter_command
from plink.deploy.remote.hosts import RemoteHost
from plink.formats.comparison import ClientRecord


class PyTorchClient(ABC):
    """A collective of `torch.distributed`, unmodified.

    Args:
        hosts: the hosts that take part, once for each rank that they may take.
        python: the remote interpreter; None takes this one's path where the host has it, else
            `python3`.
        idle_limit_s: the longest that the workers may wait for a launch.
    """

    title: ClassVar[str]
    library: ClassVar[str]

    def __init__(
        self, hosts: Sequence[RemoteHost], python: str | None, idle_limit_s: float
    ) -> None:
        self._hosts = hosts
        self._python = python
        self._idle_limit_s = idle_limit_s
        self._workers = Workers(hosts, self.title, "PyTorch", self._explain)

    def start(self) -> ClientRecord:
        """Start every worker. All must run the same versions."""
        source = (
            resources.files("plink.bench.workers").joinpath("torch_collectives.py").read_bytes()
        )
        program = f"import sys; exec(sys.stdin.buffer.read({len(source)}))"
        replies = self._workers.start(
            interpreter_command(self._python, program),
            self._idle_limit_s,
            source.decode(),
            [{"library": self.library, **told} for told in self._settings_of_ranks()],
        )
        return ClientRecord(self._versions(replies), self._switches())

    def _versions(self, replies: Mapping[int, Message]) -> dict[str, str]:
        found = {}
        for key, title in self._parts().items():
            versions = {str(reply.get(key)) for reply in replies.values()}
            if len(versions) > 1:
                named = ", ".join(sorted(versions))
                raise PlinkError(f"the hosts have different versions of {title}: {named}")
            found[key] = versions.pop()
        return found

    def _parts(self) -> dict[str, str]:
        """Components with a version, by their name in a worker's answer."""
        return {"torch": "PyTorch"}

    def _settings_of_ranks(self) -> Sequence[Message]:
        """Settings of each seat, beside the library."""
        return [{} for _ in self._hosts]

    @abstractmethod
    def _switches(self) -> dict[str, str]:
        """Settings that the library gets from its environment."""

    def _interfaces(self) -> str:
        return ",".join(sorted({host.interface for host in self._hosts}))

    def launch(self, launch: Launch) -> Measured:
        """Run a workload in a new process group."""
        ask, timeout_s, order = self._workers.ask, launch.workload.timeout_s, launch.seats
        self._workers.let_wait(launch)
        group: Message = {"world_size": len(order), "timeout_s": timeout_s}
        first = order[0]
        serving = ask({first: {"do": "serve", **group}}, timeout_s)
        group["master_address"] = self._hosts[first].address
        group["master_port"] = serving[first].get("port")
        ask(
            {seat: {"do": "join", "rank": rank, **group} for rank, seat in enumerate(order)},
            timeout_s,
        )
        measured, _ = self._workers.measure(launch)
        # Rank 0 holds the store that the others leave, so it goes last.
        leave = {"do": "leave", "timeout_s": timeout_s}
        ask(dict.fromkeys(order[1:], leave), timeout_s)
        ask({first: leave}, timeout_s)
        return measured

    def close(self) -> None:
        """End every worker."""
        self._workers.close()

    def _explain(self, reason: str) -> tuple[str, str] | None:
        """Return a better sentence, and a hint, for what a worker said of its failure."""
        if "No module named 'torch'" not in reason:
            return None
        return (
            "PyTorch is not installed for the remote interpreter",
            "install torch there, or name an interpreter that has it with --python PATH",
        )
