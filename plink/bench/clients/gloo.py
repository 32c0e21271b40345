"""PyTorch with Gloo: a worker process a rank for the whole bench, one process group a launch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from plink.base.errors import PlinkError
from plink.bench.clients.client import Launch, Measured
from plink.bench.clients.workers import Message, Workers, interpreter_command
from plink.deploy.remote.hosts import RemoteHost
from plink.files.comparison import ClientRecord


class GlooClient:
    """Gloo's allreduce through `torch.distributed`, unmodified: it is always the ring.

    Args:
        hosts: the hosts that take part, once for each rank that they may take.
        python: the remote interpreter; None takes this one's path where the host has it, else
            `python3`.
        idle_limit_s: the longest that the workers may wait for a launch.
    """

    def __init__(
        self, hosts: Sequence[RemoteHost], python: str | None, idle_limit_s: float
    ) -> None:
        self._hosts = hosts
        self._python = python
        self._idle_limit_s = idle_limit_s
        self._workers = Workers(hosts, "Gloo", "PyTorch", _explain)

    def start(self) -> ClientRecord:
        """Start every worker. All must run the same version of torch."""
        source = resources.files("plink.bench.workers").joinpath("gloo_allreduce.py").read_bytes()
        program = f"import sys; exec(sys.stdin.buffer.read({len(source)}))"
        replies = self._workers.start(
            interpreter_command(self._python, program), self._idle_limit_s, source.decode()
        )
        versions = {str(reply.get("torch")) for reply in replies.values()}
        if len(versions) > 1:
            raise PlinkError(
                f"the hosts have different versions of PyTorch: {', '.join(sorted(versions))}"
            )
        interfaces = {host.interface for host in self._hosts}
        return ClientRecord(
            {"torch": versions.pop()}, {"GLOO_SOCKET_IFNAME": ",".join(sorted(interfaces))}
        )

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


def _explain(reason: str) -> tuple[str, str] | None:
    if "No module named 'torch'" not in reason:
        return None
    return (
        "PyTorch is not installed for the remote interpreter",
        "install torch there, or name an interpreter that has it with python=PATH",
    )
