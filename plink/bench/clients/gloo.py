"""PyTorch with Gloo: a worker process a rank for the whole bench, one process group a launch."""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import resources
from typing import Any

from plink.bench.clients.base import ClientFacts, Workload
from plink.bench.statistics import slowest_rank
from plink.errors import PlinkError
from plink.remote.hosts import RemoteHost
from probes.errors import HostError
from probes.ssh.session import RemoteProcess
from probes.ssh.shell import posix_command

# torch takes seconds of CPU to import, and many hosts may share a machine.
START_LIMIT_S = 180.0
# Peers report the loss of a rank before its own SSH channel does.
GRACE_S = 3.0
MARGIN_S = 15.0
EXIT_LIMIT_S = 2.0

# A shell's exit status for a command that is not there.
NOT_FOUND = 127

Message = dict[str, Any]


class GlooClient:
    """Gloo's ring allreduce through `torch.distributed`, unmodified.

    Args:
        hosts: the hosts that take part, once for each rank that they may take.
        workload: what to run; Gloo has no switch for the algorithm, its allreduce is a ring.
        python: the remote interpreter; None takes this one's path where the host has it, else
            `python3`.
    """

    def __init__(
        self,
        hosts: Sequence[RemoteHost],
        workload: Workload,
        python: str | None = None,
    ) -> None:
        self._hosts = hosts
        self._workload = workload
        self._python = python
        self._workers: list[RemoteProcess] = []
        self._inbox: queue.Queue[tuple[int, Message]] = queue.Queue()

    def start(self) -> ClientFacts:
        """Start every worker. All must run the same version of torch."""
        source = resources.files("plink.bench.workers").joinpath("gloo_allreduce.py").read_bytes()
        text = source.decode()
        for index, host in enumerate(self._hosts):
            worker = host.session.start(remote_command(self._python, len(source)))
            self._workers.append(worker)
            reader = threading.Thread(target=self._read, args=(index, worker), daemon=True)
            reader.start()
            self._send(index, text)
        limit_s = self._workload.launch_limit_s + START_LIMIT_S
        replies = self._ask(
            {
                index: {"do": "start", "address": host.address, "idle_limit_s": limit_s}
                for index, host in enumerate(self._hosts)
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
        timeout_s = self._workload.timeout_s
        taken = set(order)
        idle = [seat for seat in range(len(self._hosts)) if seat not in taken]
        self._ask({seat: {"do": "wait"} for seat in idle}, timeout_s)
        group: Message = {"world_size": len(order), "timeout_s": timeout_s}
        first = order[0]
        serving = self._ask({first: {"do": "serve", **group}}, timeout_s)
        group["master_address"] = self._hosts[first].address
        group["master_port"] = serving[first].get("port")
        self._ask(
            {host: {"do": "join", "rank": rank, **group} for rank, host in enumerate(order)},
            timeout_s,
        )
        command = {
            "do": "measure",
            "elements": self._workload.elements,
            "warmups": self._workload.warmups,
            "repetitions": self._workload.repetitions,
            "timeout_s": timeout_s,
        }
        replies = self._ask(dict.fromkeys(order, command), self._workload.launch_limit_s)
        seconds = [self._checked_seconds(host, replies[host]) for host in order]
        # Rank 0 holds the store that the others leave, so it goes last.
        leave = {"do": "leave", "timeout_s": timeout_s}
        self._ask(dict.fromkeys(order[1:], leave), timeout_s)
        self._ask({first: leave}, timeout_s)
        return slowest_rank(seconds)

    def close(self) -> None:
        """End every worker: each ends with its standard input."""
        for worker in self._workers:
            worker.close()

    def _checked_seconds(self, host: int, reply: Message) -> list[float]:
        name = self._hosts[host].name
        seconds = reply.get("seconds")
        is_valid = isinstance(seconds, list) and all(
            isinstance(value, float) and 0.0 < value < 1e9 for value in seconds
        )
        if not is_valid or not isinstance(seconds, list):
            raise HostError(name, "sent no times")
        if len(seconds) != self._workload.repetitions:
            raise HostError(name, f"sent {len(seconds)} times")
        if reply.get("wrong_elements") != 0:
            raise HostError(name, f"{reply.get('wrong_elements')} elements of the sum are wrong")
        return seconds

    def _ask(self, commands: Mapping[int, Message], limit_s: float) -> dict[int, Message]:
        """Send each host its command and wait for all answers.

        Raises:
            HostError: a host failed, died or stayed silent; the one that caused it, where several.
        """
        for host, command in commands.items():
            self._send(host, json.dumps(command) + "\n")
        answers: dict[int, Message] = {}
        failures: dict[int, Message] = {}
        deadline = time.monotonic() + limit_s + MARGIN_S
        while len(answers) + len(failures) < len(commands):
            try:
                wait_s = max(0.0, deadline - time.monotonic())
                host, message = self._inbox.get(timeout=wait_s)
            except queue.Empty:
                break
            if message["event"] in ("failed", "ended"):
                if not failures:
                    deadline = min(deadline, time.monotonic() + GRACE_S)
                # A worker that says why it fails may end afterwards: the reason counts.
                if failures.setdefault(host, message)["event"] == "ended":
                    break
            elif host in commands:
                answers[host] = message
        missing = [host for host in commands if host not in answers and host not in failures]
        if failures or missing:
            raise self._culprit(failures, missing)
        return answers

    def _culprit(self, failures: Mapping[int, Message], missing: Sequence[int]) -> HostError:
        """The host to blame: a dead one before a silent one before one that lost its peer."""
        ended = [host for host, message in failures.items() if message["event"] == "ended"]
        if ended:
            return HostError(
                self._hosts[ended[0]].name,
                f"the Gloo worker ended ({failures[ended[0]]['reason']})",
                failures[ended[0]].get("hint"),
            )
        if missing:
            return HostError(
                self._hosts[missing[0]].name,
                "the Gloo worker stopped answering",
            )
        host, message = next(iter(failures.items()))
        reason = " ".join(str(message.get("reason")).split())
        hint = None
        if "No module named 'torch'" in reason:
            reason = "PyTorch is not installed for the remote interpreter"
            hint = "install torch there, or name an interpreter that has it with --python"
        return HostError(self._hosts[host].name, reason[:300], hint)

    def _send(self, host: int, text: str) -> None:
        # A worker that takes nothing has ended, and its reader tells why.
        with suppress(HostError):
            self._workers[host].write(text)

    def _read(self, host: int, worker: RemoteProcess) -> None:
        try:
            for line in worker.lines():
                message = json.loads(line)
                if not isinstance(message, dict) or not isinstance(message.get("event"), str):
                    raise ValueError
                self._inbox.put((host, message))
            ended = _reason_of_end(worker)
        except HostError as error:
            ended = {"reason": str(error)}
        except (ValueError, RecursionError):
            ended = {"reason": "it sent something that is not an answer"}
        except OSError:
            ended = {"reason": "the connection was lost"}
        self._inbox.put((host, {"event": "ended", **ended}))


def _reason_of_end(worker: RemoteProcess) -> Message:
    tail = worker.stderr_tail()
    status = worker.wait_for_exit(EXIT_LIMIT_S)
    if status == NOT_FOUND:
        hint = "name the interpreter that has PyTorch with --python"
        return {"reason": tail or "no such interpreter", "hint": hint}
    if status is None or status == -1:
        return {"reason": tail or "killed, or the connection was lost"}
    return {"reason": tail or f"exit status {status}"}


def remote_command(python: str | None, source_bytes: int) -> str:
    """The shell command that reads a program of `source_bytes` bytes from its input and runs it.

    Args:
        python: the interpreter; None for this one's path where the host has it, else `python3`.
        source_bytes: the length of the program.
    """
    program = f"import sys; exec(sys.stdin.buffer.read({source_bytes}))"
    if python is not None:
        return posix_command('exec "$1" -u -c "$2"', python, program)
    script = 'if [ -x "$1" ]; then exec "$1" -u -c "$2"; else exec python3 -u -c "$2"; fi'
    return posix_command(script, sys.executable, program)
