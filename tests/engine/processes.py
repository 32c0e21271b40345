"""Ranks that are processes, to be killed and stopped."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("rank_program.py")
END_TIMEOUT_S = 120
# Longer than a busy machine stops a process.
SILENCE_TIMEOUT_S = 20.0


class Rank:
    """One process, on this host or on that to which `prefix` takes a command line."""

    def __init__(self, prefix: Sequence[str] = ()) -> None:
        self.task: dict[str, Any] = {}
        self.process = subprocess.Popen(
            [*prefix, sys.executable, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
        )

    def be(self, task: dict[str, Any]) -> None:
        """Make it a rank, at first or after its engine has failed."""
        self.task = task
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
        if self.process.returncode is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.communicate(timeout=END_TIMEOUT_S)


@contextlib.contextmanager
def running_ranks(
    kind: str,
    ranks: int,
    store: Path,
    *,
    places: Sequence[tuple[str, Sequence[str]]] = (),
    **options: Any,
) -> Iterator[list[Rank]]:
    """Ranks that reduce over and over; they are ended in any case.

    `places`: by rank its address, and what takes a command line to its host.
    """
    task = {"ranks": ranks, "store": str(store), "kind": kind, "items": 100_000}
    options = {"silence_timeout_s": SILENCE_TIMEOUT_S, **options}
    with contextlib.ExitStack() as stack:
        them = []
        for rank in range(ranks):
            address, prefix = places[rank] if places else ("127.0.0.1", ())
            own = {**task, "rank": rank, "options": {"addresses": [address], **options}}
            them.append(Rank(prefix))
            stack.callback(them[-1].end)
            them[-1].be(own)
        hear_running(them)
        yield them


def hear_running(them: Sequence[Rank]) -> None:
    """All of them reduce."""
    for rank in them:
        assert rank.hear() == {"event": "running"}


def begin_again(them: Sequence[Rank], store: Path, **options: Any) -> None:
    """Those that are left make new engines among themselves, in the same processes.

    `options` are changes to what they had before, except that a short `silence_timeout_s` does not
    stay: no rank may be lost from here on unless a test asks for it again.
    """
    for index, rank in enumerate(them):
        own = {**rank.task["options"], "silence_timeout_s": SILENCE_TIMEOUT_S, **options}
        there = {"rank": index, "ranks": len(them), "store": str(store), "options": own}
        rank.be({**rank.task, **there})
    hear_running(them)
