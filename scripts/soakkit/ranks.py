"""The ranks' processes, and their messages."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_SCRIPTS = Path(__file__).resolve().parents[1]

# The last message of a rank, with its exit code.
END = "end"


class Ranks:
    """One process per rank.

    Args:
        tasks: of each.
        prefixes: of each, what its command line begins with: nothing, or what takes it to a host.
        module: of `soakkit`, that each runs.
    """

    def __init__(
        self,
        tasks: Sequence[dict[str, Any]],
        prefixes: Sequence[Sequence[str]],
        module: str = "rank",
    ) -> None:
        self._said: queue.Queue[tuple[int, dict[str, Any]]] = queue.Queue()
        self._processes = []
        command = ["env", f"PYTHONPATH={_SCRIPTS}", sys.executable, "-m", f"soakkit.{module}"]
        for rank, (task, prefix) in enumerate(zip(tasks, prefixes, strict=True)):
            process = subprocess.Popen(
                [*prefix, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                # Elsewhere than in the checkout, whose packages would hide the installed ones.
                cwd="/",
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                # Ctrl-C is for the parent, which tells them to stop.
                start_new_session=True,
            )
            self._processes.append(process)
            self._tell(process, json.dumps(task))
            threading.Thread(target=self._listen, args=(rank, process), daemon=True).start()

    def hear(self, timeout_s: float) -> tuple[int, dict[str, Any]] | None:
        """The next message and its rank; None if none comes in time. `END` is each rank's last."""
        try:
            return self._said.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def stop(self) -> None:
        """Tell all to stop."""
        for process in self._processes:
            self._tell(process, "stop")

    def kill(self) -> None:
        """Kill them."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()

    def _tell(self, process: subprocess.Popen[str], line: str) -> None:
        # Its end is reported as a message.
        with contextlib.suppress(BrokenPipeError):
            print(line, file=process.stdin, flush=True)

    def _listen(self, rank: int, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            self._said.put((rank, json.loads(line)))
        self._said.put((rank, {"event": END, "code": process.wait()}))
