"""Ranks that are processes, to be killed and stopped."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.netns import Namespace

PROGRAM = Path(__file__).with_name("rank_program.py")
END_TIMEOUT_S = 30


class Rank:
    """One process."""

    def __init__(self, task: dict[str, Any], host: Namespace | None = None) -> None:
        argv = [sys.executable, str(PROGRAM)]
        self.process = subprocess.Popen(
            host.command(argv) if host else argv,
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
        assert line, "the rank ended without a word"
        heard: dict[str, Any] = json.loads(line)
        return heard

    def end(self) -> None:
        """Whatever its state."""
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.communicate(timeout=END_TIMEOUT_S)


@contextlib.contextmanager
def running_ranks(kind: str, ranks: int, store: Path, **options: Any) -> Iterator[list[Rank]]:
    """Ranks that reduce over and over; they are ended in any case."""
    task = {
        "ranks": ranks,
        "store": str(store),
        "kind": kind,
        "items": 100_000,
        "options": {"addresses": ["127.0.0.1"], "silence_timeout_s": 20.0, **options},
    }
    with contextlib.ExitStack() as stack:
        them = []
        for rank in range(ranks):
            them.append(Rank({**task, "rank": rank}))
            stack.callback(them[-1].end)
        for rank_process in them:
            assert rank_process.hear() == {"event": "running"}
        yield them
