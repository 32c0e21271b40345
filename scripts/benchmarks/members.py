"""Time from a kill to the next step of the others, on this machine.

Members of plink's engine alone; torchft's managers on plink, and on Gloo. In each round a process
of a running job is killed; the time ends when all others have done a step without it. torchft's
lighthouse waits for heartbeats, 5 s by default, before it believes that a replica is dead.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchkit.arguments import words
from benchkit.processes import Process, program, start_processes
from benchkit.report import Report

EXAMPLE = "--ranks 3 --rounds 3"
QUICK = "--ranks 3 --rounds 1 --ways members"
HEADER = ("way", "median, s", "least, s", "most, s")
WAYS = ["members", "torchft-plink", "torchft-gloo"]
# Of steps before a kill.
_WARM_UP = 5
_PATIENCE_S = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--ways", type=words, default=WAYS, help=f"of {', '.join(WAYS)}")
    parser.add_argument("--ranks", type=int, default=4, help="that begin; one is killed")
    parser.add_argument("--rounds", type=int, default=5, help="of each way, in turn")
    parser.add_argument("--items", type=int, default=250_000, help="numbers of 32 bits a step")
    parser.add_argument("--heartbeat-ms", type=int, default=5000, help="of torchft's lighthouse")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    seconds: dict[str, list[float]] = {way: [] for way in arguments.ways}
    for round_number in range(arguments.rounds):
        for way in arguments.ways:
            victim = round_number % arguments.ranks
            seconds[way].append(_round(way, arguments, victim))
    report.table(
        HEADER,
        [
            (way, f"{statistics.median(of_way):.3f}", f"{min(of_way):.3f}", f"{max(of_way):.3f}")
            for way, of_way in seconds.items()
        ],
    )
    report.measured = seconds
    if {"torchft-plink", "torchft-gloo"} <= seconds.keys():
        ratio = statistics.median(seconds["torchft-plink"]) / statistics.median(
            seconds["torchft-gloo"]
        )
        report.at_most("torchft on plink over torchft on Gloo", 1.0, ratio, "x")


def _round(way: str, arguments: argparse.Namespace, victim: int) -> float:
    with tempfile.TemporaryDirectory() as folder, _lighthouse(way, arguments) as lighthouse:
        commands = [program("members_rank")] * arguments.ranks
        with start_processes(
            commands, [{"TORCHFT_LIGHTHOUSE": lighthouse}] * len(commands)
        ) as ranks:
            for rank, process in enumerate(ranks):
                task = {"way": way, "rank": rank, "ranks": arguments.ranks, "store": folder}
                print(
                    json.dumps({**task, "items": arguments.items}), file=process.stdin, flush=True
                )
            heard = [_Heard(process) for process in ranks]
            for one in heard:
                one.wait_for(lambda step, _: step["members"] == arguments.ranks, _WARM_UP)
            killed_at = time.monotonic()
            ranks[victim].kill()
            left = [one for rank, one in enumerate(heard) if rank != victim]
            ended = [
                one.wait_for(
                    lambda step, begun: step["members"] < arguments.ranks and step["at"] > begun,
                    1,
                    killed_at,
                )
                for one in left
            ]
            for process in ranks:
                process.kill()
            return max(ended) - killed_at


class _Heard:
    """Output of a rank: a line for each step."""

    def __init__(self, process: Process) -> None:
        self._steps: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._listen, args=(process,), daemon=True).start()

    def wait_for(self, is_right: Any, count: int, begun: float = 0.0) -> float:
        """Return when the last of the first `count` steps whose result is right ended, in s."""

        def right() -> list[dict[str, Any]]:
            return [step for step in self._steps if is_right(step, begun)]

        with self._changed:
            if not self._changed.wait_for(lambda: len(right()) >= count, _PATIENCE_S):
                raise SystemExit(f"a rank did no such step within {_PATIENCE_S:g} s")
            at: float = right()[count - 1]["at"]
            return at

    def _listen(self, process: Process) -> None:
        for line in process.stdout or ():
            if line.startswith("{"):
                with self._changed:
                    self._steps.append(json.loads(line))
                    self._changed.notify_all()


@contextmanager
def _lighthouse(way: str, arguments: argparse.Namespace) -> Iterator[str]:
    """Start a lighthouse and yield its address, which is empty where none is needed."""
    if way == "members":
        yield ""
        return
    from torchft.coordination import LighthouseServer  # noqa: PLC0415

    server = LighthouseServer(
        bind="[::]:0",
        min_replicas=1,
        join_timeout_ms=60_000,
        heartbeat_timeout_ms=arguments.heartbeat_ms,
    )
    try:
        yield server.address()
    finally:
        server.shutdown()
