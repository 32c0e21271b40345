"""PyTorch with Gloo: a worker process a rank for the whole bench, one process group a launch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from plink.base.errors import PlinkError
from plink.bench.clients.base import ClientFacts, Measured, Workload
from plink.bench.clients.workers import (
    START_LIMIT_S,
    Message,
    Workers,
    checked_times,
    interpreter_command,
    measure_command,
)
from plink.bench.statistics import mean_rank, slowest_rank
from plink.deploy.remote.hosts import RemoteHost
from probes.errors import HostError


class GlooClient:
    """Gloo's ring allreduce through `torch.distributed`, unmodified.

    Args:
        hosts: the hosts that take part, once for each rank that they may take.
        workload: what to run; Gloo has no switch for the algorithm, its allreduce is a ring.
        python: the remote interpreter; None takes this one's path where the host has it, else
            `python3`.
        idle_limit_s: the longest that the workers may wait for a launch; None for a bench of
            nothing else.
    """

    def __init__(
        self,
        hosts: Sequence[RemoteHost],
        workload: Workload,
        python: str | None = None,
        idle_limit_s: float | None = None,
    ) -> None:
        self._hosts = hosts
        self._workload = workload
        self._python = python
        self._idle_limit_s = idle_limit_s or workload.launch_limit_s + START_LIMIT_S
        self._workers = Workers(hosts, "Gloo", "PyTorch", _explain)

    def start(self) -> ClientFacts:
        """Start every worker. All must run the same version of torch."""
        source = resources.files("plink.bench.workers").joinpath("gloo_allreduce.py").read_bytes()
        program = f"import sys; exec(sys.stdin.buffer.read({len(source)}))"
        self._workers.start(interpreter_command(self._python, program), source.decode())
        idle_limit_s = self._idle_limit_s
        replies = self._workers.ask(
            {
                seat: {"do": "start", "address": host.address, "idle_limit_s": idle_limit_s}
                for seat, host in enumerate(self._hosts)
            },
            START_LIMIT_S,
        )
        versions = {str(reply.get("torch")) for reply in replies.values()}
        if len(versions) > 1:
            raise PlinkError(
                f"the hosts have different versions of PyTorch: {', '.join(sorted(versions))}"
            )
        interfaces = {host.interface for host in self._hosts}
        return ClientFacts(
            {"torch": versions.pop()}, {"GLOO_SOCKET_IFNAME": ",".join(sorted(interfaces))}
        )

    def measure(self, order: Sequence[int]) -> list[float]:
        """Run the workload in a fresh process group with rank r on seat `order[r]`."""
        return list(self.launch(order, self._workload).seconds)

    def launch(self, order: Sequence[int], workload: Workload) -> Measured:
        """Run any workload in a fresh process group with rank r on seat `order[r]`."""
        ask, timeout_s = self._workers.ask, workload.timeout_s
        taken = set(order)
        idle = [seat for seat in range(len(self._hosts)) if seat not in taken]
        ask({seat: {"do": "wait"} for seat in idle}, timeout_s)
        group: Message = {"world_size": len(order), "timeout_s": timeout_s}
        first = order[0]
        serving = ask({first: {"do": "serve", **group}}, timeout_s)
        group["master_address"] = self._hosts[first].address
        group["master_port"] = serving[first].get("port")
        ask(
            {seat: {"do": "join", "rank": rank, **group} for rank, seat in enumerate(order)},
            timeout_s,
        )
        replies = ask(dict.fromkeys(order, measure_command(workload)), workload.launch_limit_s)
        seconds, cpu_s = [], []
        for seat in order:
            name, reply = self._hosts[seat].name, replies[seat]
            seconds.append(checked_times(name, reply, "seconds", workload.repetitions))
            cpu_s.append(
                checked_times(name, reply, "cpu_s", workload.repetitions, may_be_none=True)
            )
            if reply.get("wrong_elements") != 0:
                raise HostError(
                    name, f"{reply.get('wrong_elements')} elements of the sum are wrong"
                )
        # Rank 0 holds the store that the others leave, so it goes last.
        leave = {"do": "leave", "timeout_s": timeout_s}
        ask(dict.fromkeys(order[1:], leave), timeout_s)
        ask({first: leave}, timeout_s)
        return Measured(slowest_rank(seconds), mean_rank(cpu_s))

    def close(self) -> None:
        """End every worker."""
        self._workers.close()


def _explain(reason: str) -> tuple[str, str] | None:
    if "No module named 'torch'" not in reason:
        return None
    return (
        "PyTorch is not installed for the remote interpreter",
        "install torch there, or name an interpreter that has it with --python",
    )
