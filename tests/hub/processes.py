"""Servers and workers that are processes, to be killed and stopped."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from labkit.bound import BOUND

PROGRAM = Path(__file__).with_name("hub_program.py")
END_TIMEOUT_S = 120
ADMIN_SECRET = b"of whoever makes services"


class Process:
    """One of them, on this host or on that to which `prefix` takes a command line."""

    def __init__(self, task: dict[str, Any], prefix: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [*BOUND, *prefix, sys.executable, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
        )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next thing that it says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the process ended without a word"
        heard: dict[str, Any] = json.loads(line)
        return heard

    def end(self) -> None:
        """Whatever its state."""
        if self.process.returncode is None:
            self.process.kill()
            self.process.communicate(timeout=END_TIMEOUT_S)


@contextlib.contextmanager
def running(
    tasks: Sequence[dict[str, Any]], prefixes: Sequence[Sequence[str]] = ()
) -> Iterator[list[Process]]:
    """They are ended in any case."""
    with contextlib.ExitStack() as stack:
        them = []
        for number, task in enumerate(tasks):
            them.append(Process(task, prefixes[number] if prefixes else ()))
            stack.callback(them[-1].end)
        yield them


@contextlib.contextmanager
def serving(
    ports: Sequence[str] = ("127.0.0.1:0",), prefix: Sequence[str] = (), **options: Any
) -> Iterator[tuple[Process, list[str]]]:
    """A server, and its addresses."""
    task = {"is_server": True, "listen": list(ports), "secret": ADMIN_SECRET.decode(), **options}
    with running([task], [prefix]) as (server,):
        heard = server.hear()
        assert heard["event"] == "serving"
        yield server, heard["addresses"]
