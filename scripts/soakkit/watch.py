"""Watches the ranks: their results must be equal, and their resources must not grow."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

from soakkit.ranks import END

# A verdict on memory needs this many engines; the first tenth is the baseline.
_LEAST_ENGINES = 20
_MORE_MEMORY = 1.25
_MORE_MEMORY_KB = 32 << 10
# PyTorch keeps 1.4 KB of every group that it ever had, and 4 KB with Gloo.
_MORE_ALLOCATED_KB = 1 << 10
_MORE_ALLOCATED_KB_PER_ENGINE = 16
# A rank that fails reports it, and exits with 1.
_GOOD_OR_TOLD = (0, 1)


@dataclass
class Watch:
    """The state of a run.

    Args:
        ranks: how many there are.
        problems: what is wrong, a sentence each.
    """

    ranks: int
    problems: list[str] = field(default_factory=list)
    collectives: int = 0
    engines: int = 0
    sent_bytes: int = 0
    plans: int = 0

    def __post_init__(self) -> None:
        self._open: dict[int, list[str]] = {}
        self._heard: dict[int, int] = {}
        self._closed: list[list[dict[str, Any]]] = [[] for _ in range(self.ranks)]

    def hear(self, rank: int, said: dict[str, Any]) -> None:
        """Take in a message of a rank."""
        if said["event"] == "round":
            self._hear_round(rank, said)
        elif said["event"] == "closed":
            self._hear_closed(rank, said)
        elif said["event"] == "failed":
            self.problems.append(f"rank {rank}: {said['what']}")
        elif said["event"] == END and said["code"] not in _GOOD_OR_TOLD:
            self.problems.append(f"rank {rank}: its process exited with {said['code']}")

    def _hear_round(self, rank: int, said: dict[str, Any]) -> None:
        first, digests = said["first"], said["digests"]
        known = self._open.setdefault(first, digests)
        for place, (one, other) in enumerate(zip(known, digests, strict=True)):
            if one != other:
                self.problems.append(
                    f"rank {rank}: the result of collective {first + place} differs from others"
                )
        self._heard[first] = self._heard.get(first, 0) + 1
        if self._heard[first] == self.ranks:
            del self._open[first], self._heard[first]
            self.collectives += len(digests)
            self.sent_bytes, self.plans = said["bytes"], said["plans"]

    def _hear_closed(self, rank: int, said: dict[str, Any]) -> None:
        closed = self._closed[rank]
        closed.append(said)
        self.engines = min(map(len, self._closed))
        for what in ("descriptors", "threads"):
            if said[what] != closed[0][what]:
                self.problems.append(
                    f"rank {rank}: {said[what]} {what} after engine {len(closed)}, "
                    f"{closed[0][what]} after the first"
                )

    def judge_memory(self) -> None:
        """At the end: whether a rank's memory has grown."""
        for rank, closed in enumerate(self._closed):
            used = [said["rss_kb"] for said in closed]
            if len(used) < _LEAST_ENGINES:
                continue
            first = max(5, len(used) // 10)
            self._judge_allocated(rank, [said.get("allocated_kb") for said in closed], first)
            begin_kb = max(used[:first])
            end_kb = statistics.median(used[-5:])
            if end_kb > _MORE_MEMORY * begin_kb + _MORE_MEMORY_KB:
                self.problems.append(
                    f"rank {rank}: its memory grew from {begin_kb:.0f} to {end_kb:.0f} KB"
                )

    def _judge_allocated(self, rank: int, used: list[int | None], first: int) -> None:
        """What is not given back is seen here long before the resident size shows it."""
        known = [kb for kb in used if kb is not None]
        if len(known) < len(used):
            return
        grown_kb = statistics.median(known[-5:]) - max(known[:first])
        engines = len(known) - first
        if grown_kb > _MORE_ALLOCATED_KB + _MORE_ALLOCATED_KB_PER_ENGINE * engines:
            self.problems.append(
                f"rank {rank}: {engines} engines left {grown_kb:.0f} KB that were not freed"
            )

    def summary(self) -> dict[str, Any]:
        """For programs."""
        return {
            "collectives": self.collectives,
            "bytes": self.sent_bytes,
            "plans": self.plans,
            "engines": self.engines,
            "rss_kb": [
                {"first": closed[0]["rss_kb"], "last": closed[-1]["rss_kb"]} if closed else None
                for closed in self._closed
            ],
            "allocated_kb": [
                {"first": closed[0].get("allocated_kb"), "last": closed[-1].get("allocated_kb")}
                if closed
                else None
                for closed in self._closed
            ],
            "descriptors": [
                closed[-1]["descriptors"] if closed else None for closed in self._closed
            ],
            "problems": self.problems,
        }
