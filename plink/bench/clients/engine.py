"""plink's engine: a worker process a rank for the whole bench, new engines for every launch."""

from __future__ import annotations

from collections.abc import Sequence

from plink import __version__
from plink.bench.clients.base import ClientFacts, Measured, Traffic, Workload
from plink.bench.clients.relay import Relay
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
from plink.plans.forest import Forest
from probes.errors import HostError

# An interpreter looks for modules in its folder first, and a home may hold a checkout of plink.
_PROGRAM = (
    "import sys; sys.path[:] = [path for path in sys.path if path]; "
    "from plink.bench.workers.engine_allreduce import main; main()"
)
_HINT = "install the same plink on every host, or name an interpreter that has it with --python"


class EngineClient:
    """The engine's allreduce along plans; the hosts need plink itself.

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
        self._workers = Workers(hosts, "engine", "plink", explain)

    def start(self) -> ClientFacts:
        """Start every worker. All must have the version of plink that runs here."""
        self._workers.start(interpreter_command(self._python, _PROGRAM))
        limit_s = self._idle_limit_s
        replies = self._workers.ask(
            {
                seat: {"do": "start", "address": host.address, "idle_limit_s": limit_s}
                for seat, host in enumerate(self._hosts)
            },
            START_LIMIT_S,
        )
        for seat, reply in replies.items():
            if reply.get("plink") != __version__:
                found = str(reply.get("plink"))[:40]
                raise HostError(
                    self._hosts[seat].name, f"has plink {found}, and this is {__version__}", _HINT
                )
        versions = {str(reply.get("numpy"))[:40] for reply in replies.values()}
        return ClientFacts({"plink": __version__, "numpy": ", ".join(sorted(versions))}, {})

    def launch(self, order: Sequence[int], forest: Forest, workload: Workload) -> Measured:
        """Run a workload along a plan, in new engines, with rank r on seat `order[r]`."""
        ask, timeout_s = self._workers.ask, workload.timeout_s
        taken = set(order)
        idle = [seat for seat in range(len(self._hosts)) if seat not in taken]
        ask({seat: {"do": "wait"} for seat in idle}, timeout_s)
        group: Message = {
            "do": "join",
            "world_size": len(order),
            "timeout_s": timeout_s,
            "weights": forest.weights.tolist(),
            "reduce": forest.reduce_parents.tolist(),
            "broadcast": forest.broadcast_parents.tolist(),
        }
        joining = {seat: {**group, "rank": rank} for rank, seat in enumerate(order)}
        ask(joining, timeout_s, order=order, relay=Relay())
        replies = ask(
            dict.fromkeys(order, measure_command(workload)), workload.launch_limit_s, order=order
        )
        measured = self._measured(order, replies, workload.repetitions)
        leave = {"do": "leave", "timeout_s": timeout_s}
        ask(dict.fromkeys(order, leave), timeout_s, order=order)
        return measured

    def close(self) -> None:
        """End every worker."""
        self._workers.close()

    def _measured(
        self, order: Sequence[int], replies: dict[int, Message], repetitions: int
    ) -> Measured:
        seconds, cpu_s, sent, received = [], [], [], []
        for seat in order:
            name, reply = self._hosts[seat].name, replies[seat]
            seconds.append(checked_times(name, reply, "seconds", repetitions))
            cpu_s.append(checked_times(name, reply, "cpu_s", repetitions, may_be_none=True))
            if reply.get("wrong_elements") != 0:
                raise HostError(
                    name, f"{reply.get('wrong_elements')} elements of the sum are wrong"
                )
            sent.append(_counts(name, reply, "sent_bytes", len(order)))
            received.append(_counts(name, reply, "received_bytes", len(order)))
        return Measured(slowest_rank(seconds), mean_rank(cpu_s), Traffic(sent, received))


def explain(reason: str) -> tuple[str, str] | None:
    """A better sentence, and a hint, for a worker that did not start."""
    if "No module named 'plink.bench" in reason:
        return f"the plink there is not plink {__version__}: it has no engine to bench", _HINT
    if "No module named 'plink.engine" in reason or "plink.engine._native" in reason:
        return "has a plink without its native engine", _HINT
    for name, title in (("plink", "plink"), ("numpy", "NumPy")):
        if f"No module named '{name}'" in reason:
            return f"{title} is not installed for the remote interpreter", _HINT
    return None


def _counts(host: str, reply: Message, name: str, ranks: int) -> list[int]:
    values = reply.get(name)
    if not isinstance(values, list) or len(values) != ranks:
        raise HostError(host, "sent no counts of bytes")
    if not all(type(value) is int and 0 <= value < 1 << 63 for value in values):
        raise HostError(host, "sent no counts of bytes")
    return values
