"""One member of `scripts/soak --members`: steps whose sums it checks, until it is told to leave."""

from __future__ import annotations

import hashlib
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.base.errors import PlinkError
from plink.engine import DirectoryStore, EngineError, Members, Options
from soakkit.forests import any_forest

Array = npt.NDArray[np.int64]

_STATE_ITEMS = 64
_SIZES = 3


class WrongSumError(Exception):
    """A sum is not what it must be."""


def run(task: dict[str, Any], pipe: Connection) -> None:
    """Be a member; each message is a dictionary.

    Args:
        task: `store` (a directory), `seed`, `most_items`, `pause_s`, `options` of engines, and for
            one of the first `rank` and `ranks`.
        pipe: to whom it says how it is going, and from whom it hears that it is to leave.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        store, options = DirectoryStore(task["store"]), Options(**task["options"])
        if "rank" in task:
            plan = any_forest(np.random.default_rng(task["seed"]), task["ranks"])
            members = Members(task["rank"], task["ranks"], store, plan, options)
        else:
            members = Members.join(store, options)
        with members:
            Soaked(members, task, pipe).run()
        pipe.send({"event": "left"})
    except (PlinkError, WrongSumError) as error:
        pipe.send({"event": "failed", "what": f"{type(error).__name__}: {error}"})


class Soaked:
    """The work of one member: a state that is the same on all after every step."""

    def __init__(self, members: Members, task: dict[str, Any], pipe: Connection) -> None:
        self._members = members
        self._seed, self._most_items = task["seed"], task["most_items"]
        self._pause_s = task["pause_s"]
        self._pipe = pipe
        self._state: Array = np.zeros(_STATE_ITEMS, dtype=np.int64)
        self._waits = Waits()
        self._own = np.random.default_rng([self._seed, members.number])

    def run(self) -> None:
        """Step after step."""
        members = self._members
        self._pipe.send({"event": "in", "number": members.number, "generation": members.generation})
        leaves = False
        while not leaves:
            before, change = members.steps, None
            try:
                self._share()
                change = self._change()
                leaves = self._pipe.poll()
                members.commit(leave=leaves)
            except EngineError as error:
                leaves = False
                self._say("noticed", what=str(error))
                members.reconfigure()
                self._say("lost", what=str(error))
            if members.steps > before:
                if change is None:
                    raise WrongSumError(f"step {before} counts, but this member did not end it")
                self._state += change
                self._say(
                    "step", digest=hashlib.blake2b(self._state.tobytes(), digest_size=8).hexdigest()
                )
            self._pause()

    def _say(self, event: str, **what: Any) -> None:
        self._pipe.send(
            {
                "event": event,
                "starved_s": self._waits.since_last_s(),
                "steps": self._members.steps,
                "generation": self._members.generation,
                "at": time.monotonic(),
                **what,
            }
        )

    def _share(self) -> None:
        """Newcomers get the state of rank 0."""
        members = self._members
        if not members.newcomers:
            return
        state = self._state.copy() if members.rank == 0 else np.zeros_like(self._state)
        members.allreduce(state).wait()
        if members.number not in members.newcomers and (state != self._state).any():
            raise WrongSumError("rank 0 has another state than this member")
        self._state = state

    def _change(self) -> Array:
        """What a step adds to the state: from sums that are checked."""
        members = self._members
        numbers, step = members.numbers, members.steps
        drawn = np.random.default_rng([self._seed, step])
        sizes = drawn.integers(1, self._most_items, size=drawn.integers(1, _SIZES + 1)).tolist()
        arrays = [_input(members.number, step, size) for size in sizes]
        for work in [members.allreduce(array) for array in arrays]:
            work.wait()
        for array, size in zip(arrays, sizes, strict=True):
            if (array != _input(sum(numbers) + len(numbers) - 1, step, size)).any():
                raise WrongSumError(f"a sum of {size} numbers in step {step} over {numbers}")
        return np.resize(arrays[0], _STATE_ITEMS)

    def _pause(self) -> None:
        if self._own.random() < 0.5:
            time.sleep(self._pause_s * self._own.random())


class Waits:
    """How long the threads of this process were ready to run without a core, together."""

    def __init__(self) -> None:
        self._of_threads_ns: dict[str, int] = {}
        self._told_ns = 0

    def since_last_s(self) -> float:
        """Since it was last asked, but for threads that have ended since."""
        for statistics in Path("/proc/self/task").glob("*/schedstat"):
            with suppress(OSError):
                waited_ns = int(statistics.read_text(encoding="ascii").split()[1])
                self._of_threads_ns[statistics.parent.name] = waited_ns
        before_ns, self._told_ns = self._told_ns, sum(self._of_threads_ns.values())
        return max(0, self._told_ns - before_ns) / 1e9


def _input(number: int, step: int, items: int) -> Array:
    return (np.arange(items, dtype=np.int64) % 97 + step) * (number + 1)
