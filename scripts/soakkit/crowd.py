"""Members that are killed, told to leave and joined by others at random, and what they say."""

from __future__ import annotations

import contextlib
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import Any

from soakkit import member

_END_S = 30.0
_TOGETHER = 0.15


@dataclass
class _One:
    """A member's process, and what is known of it."""

    process: ForkServerProcess
    pipe: Connection
    born: int
    number: int | None = None
    steps: int | None = None
    lost_steps: int = 0
    is_leaving: bool = False


@dataclass
class Outcome:
    """What a run came to."""

    kills: int = 0
    joins: int = 0
    leaves: int = 0
    steps: int = 0
    generations: int = 0
    lost_steps: int = 0
    recover_ms: list[float] = field(default_factory=list)
    # What members said meanwhile, and how long their threads waited for a core.
    slowest: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def recovered(self, ms: float, heard: list[str]) -> None:
        """A step was done again, so long after a kill."""
        if ms > max(self.recover_ms, default=0.0):
            self.slowest = list(heard)
        self.recover_ms.append(ms)

    def summary(self) -> dict[str, Any]:
        """For programs."""
        times = sorted(self.recover_ms)
        found = {name: value for name, value in vars(self).items() if name != "recover_ms"}
        return {
            **found,
            "recover_ms": {
                "median": round(statistics.median(times), 1) if times else None,
                "most": round(times[-1], 1) if times else None,
            },
        }


class Crowd:
    """Up to so many members, of which some come and go every moment.

    Args:
        most: members at a time; so many begin.
        seed: of what happens, to whom and when. The clock decides within which step.
        task: of each member.
        patience_s: without a step in which nothing else happens, it hangs.
    """

    def __init__(self, most: int, seed: int, task: dict[str, Any], patience_s: float) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["soakkit.member"])
        self._most = most
        self._chance = random.Random(seed)
        self._task = {**task, "seed": seed}
        self._patience_s = patience_s
        self._there: list[_One] = []
        self._digests: dict[int, str] = {}
        self._killed_at: float | None = None
        self._heard: list[str] = []
        self.outcome = Outcome()

    def run(self, seconds: float, changes: int, must_end: Callable[[], object]) -> None:
        """For so long, or until so many have been killed or have joined."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as store:
            self._task["store"] = f"{store}/meeting"
            try:
                for rank in range(self._most):
                    self._start({"rank": rank, "ranks": self._most})
                while not (
                    self.outcome.problems
                    or must_end()
                    or time.monotonic() - began > seconds
                    or self.outcome.kills + self.outcome.joins >= changes
                ):
                    self._listen(self._chance.uniform(0.0, 0.3))
                    self._change()
                self._end()
            finally:
                for one in self._there:
                    one.process.kill()
                    one.process.join()

    def _start(self, first: dict[str, int]) -> None:
        pipe, other = self._context.Pipe()
        process = self._context.Process(
            target=member.run, args=({**self._task, **first}, other), daemon=True
        )
        process.start()
        other.close()
        self._there.append(_One(process, pipe, self.outcome.kills))

    def _change(self) -> None:
        """Kill one or two, tell one to leave, or let one join; one with the state stays."""
        settled = [one for one in self._there if one.steps is not None and not one.is_leaving]
        self._chance.shuffle(settled)
        what = self._chance.choices(["kill", "leave", "join"], [5, 1, 5])[0]
        if what == "join" and len(self._there) < self._most:
            self._start({})
            self.outcome.joins += 1
        elif what == "leave" and len(settled) > 1:
            self._tell_to_leave(settled[0])
            self.outcome.leaves += 1
        elif what == "kill" and len(settled) > 1:
            victims = 2 if len(settled) > 2 and self._chance.random() < _TOGETHER else 1
            # Those that join or leave are killed, too.
            others = [one for one in self._there if one is not settled[0]]
            for one in self._chance.sample(others, victims):
                self._kill(one)

    def _tell_to_leave(self, one: _One) -> None:
        if not one.is_leaving:
            one.is_leaving = True
            with contextlib.suppress(OSError):
                one.pipe.send("leave")

    def _kill(self, one: _One) -> None:
        one.process.kill()
        self._killed_at = time.monotonic()
        self._heard.clear()
        self._drop(one)
        gone_ms = 1e3 * (time.monotonic() - self._killed_at)
        self._heard.append(f"{gone_ms:.0f} ms: member {one.number} was killed and has gone")
        self.outcome.kills += 1

    def _drop(self, one: _One) -> None:
        one.process.join()
        one.pipe.close()
        self._there.remove(one)

    def _listen(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        heard_at = time.monotonic()
        while self._there and not self.outcome.problems:
            ready = wait([one.pipe for one in self._there], max(0.0, until - time.monotonic()))
            for one in [one for one in self._there if one.pipe in ready]:
                if self._hear(one):
                    heard_at = time.monotonic()
            # After a kill nothing else happens until the others have gone on.
            is_over = time.monotonic() >= until and self._killed_at is None
            if is_over:
                return
            if time.monotonic() - heard_at > self._patience_s:
                self.outcome.problems.append(f"no step for {self._patience_s:g} s")

    def _hear(self, one: _One) -> bool:
        """Take one message; returns whether a step was done."""
        try:
            said = one.pipe.recv()
        except (EOFError, OSError):
            one.process.join()
            self.outcome.problems.append(f"member {one.number} ended: {one.process.exitcode}")
            self._drop(one)
            return False
        event: str = said["event"]
        self._note(one, said)
        if event == "in":
            one.number = said["number"]
        elif event == "step":
            self._step(one, said)
        elif event == "lost":
            one.lost_steps += 1
            self.outcome.lost_steps += 1
            if one.lost_steps > self.outcome.kills - one.born:
                self.outcome.problems.append(
                    f"member {one.number} lost {one.lost_steps} steps by "
                    f"{self.outcome.kills - one.born} kills: {said['what']}"
                )
        elif event == "left" and one.is_leaving:
            self._drop(one)
        elif event != "noticed":
            self.outcome.problems.append(f"member {one.number}: {said}")
            self._drop(one)
        return event == "step"

    def _note(self, one: _One, said: dict[str, Any]) -> None:
        """While the members recover from a kill."""
        if self._killed_at is None or "at" not in said:
            return
        what = f": {said['what']}" if "what" in said else ""
        self._heard.append(
            f"{1e3 * (said['at'] - self._killed_at):.0f} ms: member {one.number} {said['event']} "
            f"{said['steps']}, generation {said['generation']}, "
            f"{1e3 * said['starved_s']:.0f} ms without a core{what}"
        )

    def _step(self, one: _One, said: dict[str, Any]) -> None:
        steps, outcome = said["steps"], self.outcome
        if one.steps is not None and steps != one.steps + 1:
            outcome.problems.append(f"member {one.number} did step {steps} after {one.steps}")
        one.steps = steps
        if self._digests.setdefault(steps, said["digest"]) != said["digest"]:
            outcome.problems.append(f"member {one.number} has another state after step {steps}")
        outcome.steps = max(outcome.steps, steps)
        outcome.generations = max(outcome.generations, said["generation"])
        if self._killed_at is not None and said["at"] > self._killed_at:
            outcome.recovered(1e3 * (said["at"] - self._killed_at), self._heard)
            self._killed_at = None

    def _end(self) -> None:
        """Let all leave, once those that still join have."""
        deadline = time.monotonic() + _END_S
        while self._there and not self.outcome.problems:
            if all(one.steps is not None for one in self._there):
                for one in self._there:
                    self._tell_to_leave(one)
            self._listen(0.05)
            if time.monotonic() > deadline:
                self.outcome.problems.append("not all left at the end")
