"""Workers: a process on every seat for the whole bench, driven by one JSON object a line."""

from __future__ import annotations

import json
import queue
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from plink.bench.clients.buffers import buffers_of
from plink.bench.clients.client import Launch, Measured, Workload
from plink.deploy.remote.hosts import RemoteHost
from plink.probes.errors import HostError
from plink.probes.remote.session import RemoteProcess, posix_command

# Imports take seconds of CPU, and many hosts may share a machine.
START_LIMIT_S = 180.0
# Peers report the loss of a rank before its own SSH channel does, on a busy machine long before.
GRACE_S = 10.0
MARGIN_S = 15.0
EXIT_LIMIT_S = 2.0

# A shell's exit status for a command that is not there.
NOT_FOUND = 127

# What ranks of an engine set is an address or a table of them.
_MOST_VALUE_BYTES = 1 << 24

Message = dict[str, Any]

# From what a worker said of its failure to the sentence and the hint for the user, or None.
Explain = Callable[[str], tuple[str, str] | None]


class Relay:
    """The store in which an engine's ranks meet: reached over their standard streams, kept here.

    A `get` of a key that nobody has set waits for it.
    """

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._waiting: dict[str, list[int]] = {}

    def takes(self, message: Mapping[str, Any]) -> bool:
        """Return whether a worker's message is for the store."""
        return message["event"] in ("set", "get") and isinstance(message.get("key"), str)

    def handle(self, seat: int, message: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """Take a message; the answers that are due now, and the seats that they go to."""
        key = str(message["key"])
        if message["event"] == "set":
            value = str(message.get("value"))
            if len(value) <= _MOST_VALUE_BYTES:
                self._values[key] = value
        else:
            self._waiting.setdefault(key, []).append(seat)
        if key not in self._values:
            return []
        answer = {"do": "value", "key": key, "value": self._values[key]}
        return [(waiting, answer) for waiting in self._waiting.pop(key, [])]


class Workers:
    """The workers of one client.

    Args:
        hosts: the seats.
        title: the client's name, for errors.
        wanted: what the interpreter must have, for a hint.
        explain: knows failures that have a better sentence.
    """

    def __init__(
        self, hosts: Sequence[RemoteHost], title: str, wanted: str, explain: Explain
    ) -> None:
        self._hosts = hosts
        self._title = title
        self._wanted = wanted
        self._explain = explain
        self._processes: list[RemoteProcess] = []
        self._inbox: queue.Queue[tuple[int, Message]] = queue.Queue()

    def start(
        self,
        command: str,
        idle_limit_s: float,
        source: str = "",
        told: Sequence[Message] | None = None,
    ) -> dict[int, Message]:
        """Run a command on every seat; what each worker says of itself.

        Args:
            command: of the shell.
            idle_limit_s: the longest that a worker may wait for a launch.
            source: the first of its standard input.
            told: what else each seat is told; None for nothing.
        """
        for seat, host in enumerate(self._hosts):
            process = host.session.start(command)
            self._processes.append(process)
            threading.Thread(target=self._read, args=(seat, process), daemon=True).start()
            self._send(seat, source)
        commands = {
            seat: {
                "do": "start",
                "address": host.address,
                "idle_limit_s": idle_limit_s,
                **({} if told is None else told[seat]),
            }
            for seat, host in enumerate(self._hosts)
        }
        return self.ask(commands, START_LIMIT_S)

    def let_wait(self, launch: Launch) -> None:
        """Tell the workers that a launch leaves out to wait for the next one."""
        taken = set(launch.seats)
        idle = [seat for seat in range(len(self._hosts)) if seat not in taken]
        self.ask({seat: {"do": "wait"} for seat in idle}, launch.workload.timeout_s)

    def measure(self, launch: Launch) -> tuple[Measured, dict[int, Message]]:
        """Run a launch's workload on its workers, which have joined.

        Returns:
            the times, and all that each worker answered, by seat.
        """
        order, workload = launch.seats, launch.workload
        commands = {
            seat: measure_command(workload, rank, len(order)) for rank, seat in enumerate(order)
        }
        replies = self.ask(commands, workload.launch_limit_s, order=order)
        seconds, cpu_s = [], []
        for seat in order:
            name, reply = self._hosts[seat].name, replies[seat]
            seconds.append(_times(name, reply, "seconds", workload.repetitions))
            cpu_s.append(_times(name, reply, "cpu_s", workload.repetitions, may_be_zero=True))
            if reply.get("wrong_elements") != 0:
                raise HostError(
                    name, f"{reply.get('wrong_elements')} elements of the result are wrong"
                )
        slowest_s = [max(times) for times in zip(*seconds, strict=True)]
        means_s = [statistics.fmean(times) for times in zip(*cpu_s, strict=True)]
        return Measured(slowest_s, means_s), replies

    def ask(
        self,
        commands: Mapping[int, Message],
        limit_s: float,
        *,
        order: Sequence[int] = (),
        relay: Relay | None = None,
    ) -> dict[int, Message]:
        """Send each seat its command and wait for all answers.

        Args:
            commands: by seat.
            limit_s: for all of them.
            order: the seat of every rank, where a failure may name a rank.
            relay: where the workers meet meanwhile.

        Raises:
            HostError: a host failed, died or stayed silent; the one that caused it, where several.
        """
        for seat, command in commands.items():
            self._send(seat, _as_line(command))
        answers: dict[int, Message] = {}
        failures: dict[int, Message] = {}
        deadline = time.monotonic() + limit_s + MARGIN_S
        while len(answers) + len(failures) < len(commands):
            try:
                wait_s = max(0.0, deadline - time.monotonic())
                seat, message = self._inbox.get(timeout=wait_s)
            except queue.Empty:
                break
            if relay is not None and relay.takes(message):
                for waiting, value in relay.handle(seat, message):
                    self._send(waiting, _as_line(value))
            elif message["event"] in ("failed", "ended"):
                if not failures:
                    deadline = min(deadline, time.monotonic() + GRACE_S)
                # A worker that says why it fails may end afterwards: the reason counts.
                if failures.setdefault(seat, message)["event"] == "ended":
                    break
            elif seat in commands:
                answers[seat] = message
        missing = [seat for seat in commands if seat not in answers and seat not in failures]
        if failures or missing:
            raise self._culprit(failures, missing, order)
        return answers

    def close(self) -> None:
        """End every worker: each ends with its standard input."""
        for process in self._processes:
            process.close()

    def _culprit(
        self, failures: Mapping[int, Message], missing: Sequence[int], order: Sequence[int]
    ) -> HostError:
        """Return the host to blame.

        A dead one before one that its peers name, before a silent one, before one that failed.
        """
        ended = [seat for seat, message in failures.items() if message["event"] == "ended"]
        if ended:
            message = failures[ended[0]]
            found = self._explain(str(message["reason"]))
            reason, hint = found or (
                f"the {self._title} worker ended ({message['reason']})",
                message.get("hint"),
            )
            return HostError(self._hosts[ended[0]].name, reason, hint)
        for message in failures.values():
            rank = message.get("rank")
            if isinstance(rank, int) and 0 <= rank < len(order):
                reason = _brief(message.get("reason")).removeprefix("EngineError: ")
                return HostError(self._hosts[order[rank]].name, reason)
        if missing:
            return HostError(
                self._hosts[missing[0]].name, f"the {self._title} worker stopped answering"
            )
        seat, message = next(iter(failures.items()))
        reason = _brief(message.get("reason"))
        return HostError(self._hosts[seat].name, *(self._explain(reason) or (reason, None)))

    def _send(self, seat: int, text: str) -> None:
        # A worker that accepts nothing has ended, and its reader says why.
        with suppress(HostError):
            self._processes[seat].write(text)

    def _read(self, seat: int, process: RemoteProcess) -> None:
        try:
            for line in process.lines():
                message = json.loads(line)
                if not isinstance(message, dict) or not isinstance(message.get("event"), str):
                    raise ValueError
                self._inbox.put((seat, message))
            ended = self._reason_of_end(process)
        except HostError as error:
            ended = {"reason": str(error)}
        except (ValueError, RecursionError):
            ended = {"reason": "it sent something that is not an answer"}
        except OSError:
            ended = {"reason": "the connection was lost"}
        self._inbox.put((seat, {"event": "ended", **ended}))

    def _reason_of_end(self, process: RemoteProcess) -> Message:
        tail = process.stderr_tail()
        try:
            status = process.wait_for_exit(EXIT_LIMIT_S)
        except HostError as error:
            return {"reason": tail or str(error)}
        if status == NOT_FOUND:
            hint = f"name the interpreter that has {self._wanted} with --python PATH"
            return {"reason": tail or "no such interpreter", "hint": hint}
        if status is None or status == -1:
            return {"reason": tail or "killed, or the connection was lost"}
        return {"reason": tail or f"exit status {status}"}


def measure_command(workload: Workload, rank: int, ranks: int) -> Message:
    """Return the command with which a worker that has joined measures."""
    buffers = buffers_of(workload.collective, workload.elements, rank, ranks)
    return {
        "do": "measure",
        "collective": workload.collective,
        "warmups": workload.warmups,
        "repetitions": workload.repetitions,
        "timeout_s": workload.timeout_s,
        **buffers.to_json(),
    }


def interpreter_command(python: str | None, program: str) -> str:
    """Return the shell command that runs a Python program.

    Args:
        python: the interpreter; None for this one's path where the host has it, else `python3`.
        program: its text.
    """
    if python is not None:
        return posix_command('exec "$1" -u -c "$2"', python, program)
    script = 'if [ -x "$1" ]; then exec "$1" -u -c "$2"; else exec python3 -u -c "$2"; fi'
    return posix_command(script, sys.executable, program)


def _as_line(message: Message) -> str:
    return json.dumps(message) + "\n"


def _times(
    host: str, reply: Message, name: str, count: int, *, may_be_zero: bool = False
) -> list[float]:
    """`count` times in seconds from a worker's reply, checked."""
    values = reply.get(name)
    is_valid = isinstance(values, list) and all(
        isinstance(value, float) and (0.0 < value < 1e9 or (may_be_zero and value == 0.0))
        for value in values
    )
    if not is_valid or not isinstance(values, list):
        raise HostError(host, "sent no times")
    if len(values) != count:
        raise HostError(host, f"sent {len(values)} times")
    return values


def _brief(reason: object) -> str:
    return " ".join(str(reason).split())[:300]
