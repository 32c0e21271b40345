"""Workers: a process on every seat for the whole bench, driven by one JSON object a line."""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from plink.bench.clients.base import Workload
from plink.bench.clients.relay import Relay
from plink.deploy.remote.hosts import RemoteHost
from probes.errors import HostError
from probes.ssh.session import RemoteProcess, posix_command

# Imports take seconds of CPU, and many hosts may share a machine.
START_LIMIT_S = 180.0
# Peers report the loss of a rank before its own SSH channel does.
GRACE_S = 3.0
MARGIN_S = 15.0
EXIT_LIMIT_S = 2.0

# A shell's exit status for a command that is not there.
NOT_FOUND = 127

Message = dict[str, Any]

# From what a worker said of its failure to the sentence and the hint for the user, or None.
Explain = Callable[[str], tuple[str, str] | None]


def measure_command(workload: Workload) -> Message:
    """What asks a worker in a group for the times of a launch."""
    return {
        "do": "measure",
        "elements": workload.elements,
        "warmups": workload.warmups,
        "repetitions": workload.repetitions,
        "timeout_s": workload.timeout_s,
    }


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

    def start(self, command: str, source: str = "") -> None:
        """Run a command on every seat; `source` is the first of its standard input."""
        for seat, host in enumerate(self._hosts):
            process = host.session.start(command)
            self._processes.append(process)
            threading.Thread(target=self._read, args=(seat, process), daemon=True).start()
            self._send(seat, source)

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
            self._send(seat, as_line(command))
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
                    self._send(waiting, as_line(value))
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
        """The host to blame.

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
        # A worker that takes nothing has ended, and its reader tells why.
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
        status = process.wait_for_exit(EXIT_LIMIT_S)
        if status == NOT_FOUND:
            hint = f"name the interpreter that has {self._wanted} with --python"
            return {"reason": tail or "no such interpreter", "hint": hint}
        if status is None or status == -1:
            return {"reason": tail or "killed, or the connection was lost"}
        return {"reason": tail or f"exit status {status}"}


def as_line(message: Message) -> str:
    """A message as it travels."""
    return json.dumps(message) + "\n"


def checked_times(
    host: str, reply: Message, name: str, count: int, *, may_be_none: bool = False
) -> list[float]:
    """So many times of a worker's reply, in seconds.

    Args:
        host: its name.
        reply: of the worker there.
        name: of the times in it.
        count: how many there must be.
        may_be_none: whether a time of 0 is one.

    Raises:
        HostError: they are not there, or are no times.
    """
    values = reply.get(name)
    is_valid = isinstance(values, list) and all(
        isinstance(value, float) and (0.0 < value < 1e9 or (may_be_none and value == 0.0))
        for value in values
    )
    if not is_valid or not isinstance(values, list):
        raise HostError(host, "sent no times")
    if len(values) != count:
        raise HostError(host, f"sent {len(values)} times")
    return values


def interpreter_command(python: str | None, program: str) -> str:
    """The shell command that runs a Python program.

    Args:
        python: the interpreter; None for this one's path where the host has it, else `python3`.
        program: its text.
    """
    if python is not None:
        return posix_command('exec "$1" -u -c "$2"', python, program)
    script = 'if [ -x "$1" ]; then exec "$1" -u -c "$2"; else exec python3 -u -c "$2"; fi'
    return posix_command(script, sys.executable, program)


def _brief(reason: object) -> str:
    return " ".join(str(reason).split())[:300]
