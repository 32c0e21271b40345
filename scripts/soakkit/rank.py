"""One rank of scripts/soak: engines, one after the other, that reduce until they are told to stop.

A JSON object on standard input says who it is, the next line there, or its end, to stop; each line
on standard output is a JSON object.
"""

from __future__ import annotations

import gc
import hashlib
import json
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from plink.base.errors import PlinkError
from plink.engine import DirectoryStore, Engine, Options, Work
from soakkit.allocated import allocated_kb
from soakkit.numbers import Array, Inputs, WrongResult, check_result
from soakkit.steps import ROUND_STEPS, Step, depth_of, epoch_of, forest_of, step_of

_PAUSES = 5


def main() -> None:
    """Run until told to stop, or until something is wrong."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Without a buffer, so that what has not been read can be waited for.
    with open(0, "rb", buffering=0, closefd=False) as commands:
        task = json.loads(commands.readline())
    try:
        RankOfSoak(task).run()
        say(event="ended")
    except (PlinkError, WrongResult) as error:
        say(event="failed", what=str(error))
        sys.exit(1)


class RankOfSoak:
    """The work of one rank.

    Args:
        task: `rank`, `ranks`, `seed`, `most_bytes`, `pause_s`, `store` (a directory) and `options`
            of engines.
    """

    def __init__(self, task: dict[str, Any]) -> None:
        self._rank, self._ranks = task["rank"], task["ranks"]
        self._seed, self._most_bytes = task["seed"], task["most_bytes"]
        self._pause_s = task["pause_s"]
        self._options = task["options"]
        self._store = DirectoryStore(task["store"])
        self._inputs = Inputs(self._seed, self._most_bytes)
        self._own = np.random.default_rng([_PAUSES, self._seed, self._rank])
        self._number = 0
        self._bytes = 0
        self._plans = 0

    def run(self) -> None:
        """Engine after engine."""
        epoch = 0
        while self._live(epoch):
            epoch += 1

    def _live(self, epoch: int) -> bool:
        """The life of one engine; returns whether there is to be another one."""
        shape = epoch_of(self._seed, epoch, self._ranks)
        options = Options(**{**shape.options, **self._options})
        self._plans += 1
        goes_on = True
        with Engine(self._rank, self._ranks, self._store, shape.forest, options) as engine:
            for _ in range(shape.rounds):
                self._round(engine)
                goes_on = self._vote(engine)
                if not goes_on:
                    break
        del engine
        gc.collect()
        say_closed()
        return goes_on

    def _round(self, engine: Engine) -> None:
        depth = depth_of(self._seed, self._number)
        first = self._number
        digests = [""] * ROUND_STEPS
        under_way: list[tuple[Step, Array, Work]] = []

        def end_one() -> None:
            step, array, work = under_way.pop(int(self._own.integers(len(under_way))))
            work.wait()
            inputs = [self._inputs.of(step, rank) for rank in range(self._ranks)]
            check_result(step, inputs, array)
            digests[step.number - first] = hashlib.blake2b(
                array.tobytes(), digest_size=8
            ).hexdigest()

        for number in range(first, first + ROUND_STEPS):
            step = step_of(self._seed, number, self._most_bytes)
            if step.switch is not None:
                forest = forest_of(self._seed, number, self._ranks)
                engine.install(forest, engine.next_collective + step.switch)
                self._plans += 1
            self._pause()
            array = self._inputs.of(step, self._rank)
            self._bytes += array.nbytes
            under_way.append((step, array, engine.allreduce(array, step.op, step.dtype)))
            while len(under_way) >= depth:
                end_one()
        while under_way:
            end_one()
        self._number = first + ROUND_STEPS
        say(event="round", first=first, digests=digests, bytes=self._bytes, plans=self._plans)

    def _pause(self) -> None:
        """Callers are late now and then, rarely by much."""
        chance = self._own.random()
        if chance < 0.1:
            time.sleep(self._pause_s * (1.0 if chance < 0.005 else 0.05) * self._own.random())

    def _vote(self, engine: Engine) -> bool:
        """Whether no rank has been told to stop yet."""
        vote = np.array([must_stop()], dtype=np.int32)
        engine.allreduce(vote, "max").wait()
        return not vote[0]


def must_stop() -> bool:
    """Whether standard input has more to read, or has ended."""
    return bool(select.select([0], [], [], 0)[0])


def say(**what: Any) -> None:
    """To the parent."""
    print(json.dumps(what), flush=True)


def say_closed() -> None:
    """What this process holds between two engines or groups."""
    say(
        event="closed",
        rss_kb=_rss_kb(),
        allocated_kb=allocated_kb(),
        descriptors=len(list(Path("/proc/self/fd").iterdir())),
        threads=len(list(Path("/proc/self/task").iterdir())),
    )


def _rss_kb() -> int:
    with Path("/proc/self/status").open() as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
