"""A worker that tries verbs, and is replaced when a case ends it or keeps it too long."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from labkit.bound import BOUND

_TESTS = Path(__file__).parent.parent
_ENVIRONMENT = {
    "PYTHONPATH": f"{_TESTS}:{_TESTS.parent / 'scripts'}",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "COLUMNS": "100",
    "TERM": "xterm",
}
# Longer than a worker's own alarm: what does not even hear that is native code.
_MOST_SECONDS = 120.0


class Session:
    """Tries verbs one after the other.

    Args:
        shares, seed: `hostile.cases.cases`.
    """

    def __init__(self, shares: int, seed: int) -> None:
        self._shares, self._seed = shares, seed
        self._worker: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="plink-hostile-")
        self._rest = b""

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._end()
        self._folder.cleanup()

    def tried(self, verb: str) -> Iterator[tuple[str, list[str]]]:
        """Every case of a verb and its faults."""
        self._ask(verb, 0)
        while True:
            told = self._hear()
            if told is None:
                raise RuntimeError(f"the worker ended before the cases of {verb}")
            if "done" in told:
                return
            ended = self._hear()
            if ended is None:
                yield told["name"], ["ended the process, or kept it for two minutes"]
                self._ask(verb, told["number"] + 1)
            else:
                yield told["name"], ended["faults"]

    def _ask(self, verb: str, first: int) -> None:
        if self._worker is None:
            root = tempfile.mkdtemp(dir=self._folder.name)
            self._worker = subprocess.Popen(
                [*BOUND, sys.executable, "-m", "hostile.worker", root],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **_ENVIRONMENT},
            )
            self._rest = b""
        assert self._worker.stdin is not None
        request = {"verb": verb, "first": first, "shares": self._shares, "seed": self._seed}
        self._worker.stdin.write(json.dumps(request).encode() + b"\n")
        self._worker.stdin.flush()

    def _hear(self) -> dict[str, Any] | None:
        """What the worker says next; None where it says no more."""
        assert self._worker is not None
        assert self._worker.stdout is not None
        descriptor = self._worker.stdout.fileno()
        while b"\n" not in self._rest:
            is_there = select.select([descriptor], [], [], _MOST_SECONDS)[0]
            piece = os.read(descriptor, 1 << 16) if is_there else b""
            if not piece:
                self._end()
                return None
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        said: dict[str, Any] = json.loads(line)
        return said

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker.communicate()
            self._worker = None
