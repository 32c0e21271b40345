"""Timelines of ranks whose truth is known: who announced what when, by clocks that differ."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plink.training.control.requests import Request, Tensor
from plink.training.timeline.lines import Head
from plink.training.timeline.rows import Buffer, Rows
from plink.training.timeline.trace_file import TraceFile

LATENCY_NS = 50_000
REDUCING_NS = 300_000


@dataclass(frozen=True)
class Truth:
    """What happened.

    Args:
        announced_ns: by collective, of each rank, by a clock that nobody has; None of a rank that
            had joined.
        names: of the collectives.
        hosts: of the ranks.
        ahead_ns: of the clock of each host.
        together: collectives that share a buffer, one after the other.
        latency_ns: from the last announcement to when a rank knows, of each rank.
        mode: of control; ranks of `graph` know of themselves alone, and end when all have begun.
    """

    announced_ns: Sequence[Sequence[int | None]]
    names: Sequence[str]
    hosts: Sequence[int]
    ahead_ns: Sequence[int]
    together: int = 1
    latency_ns: Sequence[int] = field(default_factory=list)
    mode: str = "tree"

    @property
    def ranks(self) -> int:
        """How many there are."""
        return len(self.hosts)

    def last(self, collective: int) -> tuple[int, float]:
        """The rank that announced it last, and how long after all others, in µs."""
        at_ns = [
            (when, rank)
            for rank, when in enumerate(self.announced_ns[collective])
            if when is not None
        ]
        (before, _), (when, rank) = sorted(at_ns)[-2:]
        return rank, (when - before) * 1e-3

    def released_ns(self, rank: int, buffer: int) -> int:
        """When a rank knew that a buffer was ready."""
        members = range(buffer * self.together, min((buffer + 1) * self.together, len(self.names)))
        last = max(when for each in members for when in self.announced_ns[each] if when is not None)
        return last + (self.latency_ns[rank] if self.latency_ns else LATENCY_NS)


def drawn(truth: Truth, rank: int, max_bytes: int, path: Path) -> None:
    """Write what a rank would have written, in one go."""
    ahead_ns = truth.ahead_ns[truth.hosts[rank]]
    clock = f"host {truth.hosts[rank]}"
    head = Head(rank, truth.ranks, "a group", clock, -ahead_ns * 1e-3, mode=truth.mode)
    events = _events(truth, rank)
    rows, file = Rows(head), TraceFile(path, max_bytes)
    for at_ns, what, of in events:
        getattr(rows, what)(at_ns + ahead_ns, of)
        if file.write(rows.take()):
            file.go_on()
            rows.go_on()
    file.write(rows.take())
    file.close()


def written(folder: Path, truth: Truth, max_bytes: int = 1 << 30) -> list[Path]:
    """The files of all ranks."""
    for rank in range(truth.ranks):
        drawn(truth, rank, max_bytes, folder / f"rank{rank}.json")
    return sorted(folder.glob("rank*.json"))


def contents_of(paths: Sequence[Path]) -> list[tuple[str, bytes]]:
    """As they are read."""
    return [(str(path), path.read_bytes()) for path in paths]


def write_timelines(folder: Path, ranks: int) -> list[Path]:
    """Of a few iterations, in which rank 0 is the last."""
    rng = random.Random(4)
    announced_ns, names = [], []
    for iteration in range(3):
        for layer in range(4):
            begin_ns = 10**9 + iteration * 10_000_000 + layer * 1_000_000
            names.append(f"layer{layer}.weight")
            announced_ns.append(
                [
                    begin_ns + (700_000 if rank == 0 else rng.randrange(90_000))
                    for rank in range(ranks)
                ]
            )
    return written(folder, Truth(announced_ns, names, [0] * ranks, [0], together=2))


def _events(truth: Truth, rank: int) -> list[tuple[int, str, object]]:
    requests = [
        Request(name, (Tensor("float32", (25 + i,)),)) for i, name in enumerate(truth.names)
    ]
    events: list[tuple[int, str, object]] = [
        (when, "announce", (requests[i],))
        for i, of_ranks in enumerate(truth.announced_ns)
        if (when := of_ranks[rank]) is not None
    ]
    free_ns = 0
    for number in range(-(-len(requests) // truth.together)):
        members = tuple(requests[number * truth.together : (number + 1) * truth.together])
        at_ns = truth.released_ns(rank, number)
        agreed_ns = at_ns
        if truth.mode == "graph":
            own = truth.announced_ns[number * truth.together : (number + 1) * truth.together]
            agreed_ns = max(of_ranks[rank] or 0 for of_ranks in own) + 1
        events.append((agreed_ns, "agree", Buffer(number, members)))
        free_ns = max(at_ns + 1_000, free_ns)
        events.append((free_ns, "begin", number))
        free_ns += REDUCING_NS
        events.append((free_ns, "end", number))
    return sorted(events, key=lambda event: event[0])
