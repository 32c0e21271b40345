"""Parser of NCCL logs (NCCL_DEBUG=INFO): hosts of ranks, rings and trees.

The lines are those of NCCL's sources (`src/init.cc`, `src/graph/rings.cc`), which differ a little
from version to version; those since 2.4 are read, and AMD's RCCL, which is made from NCCL and logs
as it does. Everything else in a log is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from plink.base.log_prefixes import strip_prefixes

# Before this stand the machine's name, the process, the thread and the device: `n1:71:84 [0]`.
_INFO = " NCCL INFO "
_PLACE = re.compile(r"([\w.-]{1,255}):(\d{1,10}):(\d{1,10}) \[\d{1,4}\]")
_MOST_PLACE = 400
_ADDRESS = re.compile(r"(?:^|[\s\]])[\w.-]{1,64}:([0-9A-Fa-f.:]{2,45})(?:%[\w.-]{1,64})?<\d{1,5}>")
_USING = re.compile(r"(?:Bootstrap|NET/Socket) ?: Using ")
_VERSION = re.compile(r"\b([NR]CCL) version (?:: )?(\d[\w.+-]*)")
_RANK = re.compile(r"\brank (\d{1,7}) nranks (\d{1,7})\b", re.IGNORECASE)
_RING = re.compile(r"Channel (\d{1,4})(?:/\d+)? :((?:\s+\d{1,7})+)\s*")
# RCCL's lines go on.
_NEIGHBOURS = re.compile(r"Ring (\d{1,4}) : \d{1,7} -> (\d{1,7}) -> (\d{1,7})(?: comm .*)?\s*")
_TREE = re.compile(r"\[(\d{1,4})\] (-?[\d/-]+)->(\d{1,7})->(-?[\d/-]+)")
_NETWORK = re.compile(r"\bvia (NET/[A-Za-z][\w ]*)")
# A longer line is no line of NCCL's that matters here.
_MOST_CHARACTERS = 1 << 16
# A rank and how many there are, before a line has said it.
_UNKNOWN = (-1, -1)
# How a set-up ends, well or not.
_COMPLETE, _ABORT = "Init COMPLETE", "Abort COMPLETE"


@dataclass
class NcclJob:
    """Job as its NCCL logs show it: hosts of ranks, rings and trees by channel, and networks.

    Args:
        ranks: how many there are.
        version: version of the library, or None.
        library: NCCL or RCCL, as it calls itself beside its version.
        host_of_rank: the machine's own name, up to the first dot, by rank.
        rings: by channel, the ranks from rank 0 on; the first 20 to 28 alone where NCCL cuts the
            line off and no rank logged its neighbours.
        parents: by channel and rank, the rank's parent in the channel's tree; -1 for none.
        networks: what ranks of different hosts exchange by: `NET/Socket`, `NET/IB`.
        addresses: by machine, those that NCCL uses there.
        completed: ranks that came to the end of their set-up.
        aborted: ranks that gave it up.
    """

    ranks: int
    version: str | None = None
    library: str = "NCCL"
    host_of_rank: dict[int, str] = field(default_factory=dict)
    rings: dict[int, list[int]] = field(default_factory=dict)
    parents: dict[int, dict[int, int]] = field(default_factory=dict)
    networks: set[str] = field(default_factory=set)
    addresses: dict[str, set[str]] = field(default_factory=dict)
    completed: set[int] = field(default_factory=set)
    aborted: set[int] = field(default_factory=set)

    @property
    def missing(self) -> list[int]:
        """Ranks of the job that no log line mentions."""
        return [rank for rank in range(self.ranks) if rank not in self.host_of_rank]


@dataclass
class _Setup:
    """Set-up of a communicator by one thread, from its log lines: rank, rings, trees and end."""

    rings: dict[int, list[int]] = field(default_factory=dict)
    next_of: list[tuple[int, int, int]] = field(default_factory=list)
    parents: list[tuple[int, int, int]] = field(default_factory=list)
    rank: tuple[int, int] = _UNKNOWN
    end: str | None = None


def parse_nccl_log(text: str, ranks: int) -> NcclJob:
    """Parse NCCL logs of all ranks, concatenated or mixed, into the job of `ranks` ranks.

    Communicators of fewer ranks are passed over; where several have all ranks, the first counts.

    Args:
        text: text of the logs.
        ranks: ranks of the job.
    """
    job = NcclJob(ranks)
    next_of: dict[int, dict[int, int]] = {}
    for host, setup in _setups(text, job):
        rank, size = setup.rank
        if size != ranks or rank >= ranks or rank in job.host_of_rank:
            continue
        if setup.end is not None:
            (job.completed if setup.end == _COMPLETE else job.aborted).add(rank)
        job.host_of_rank[rank] = host.partition(".")[0]
        for channel, ring in setup.rings.items():
            # A line that is cut off may end within a number.
            job.rings.setdefault(channel, ring if len(ring) == ranks else ring[:-1])
        for channel, of, after in setup.next_of:
            next_of.setdefault(channel, {})[of] = after
        for channel, of, parent in setup.parents:
            job.parents.setdefault(channel, {})[of] = parent
    for channel, known in next_of.items():
        followed = _follow_ring(known, ranks)
        if followed is not None and len(job.rings.get(channel, ())) < ranks:
            job.rings[channel] = followed
    return job


def _setups(text: str, job: NcclJob) -> Iterator[tuple[str, _Setup]]:
    """Yield (host name, set-up) for each communicator that a process set up in the logs."""
    under_way: dict[tuple[str, str, str], _Setup] = {}
    for line in strip_prefixes(text).split("\n"):
        if len(line) > _MOST_CHARACTERS:
            continue
        if job.version is None and (version := _VERSION.search(line)):
            job.library, job.version = version.groups()
        before, info, said = line.partition(_INFO)
        # What else stands in front has no end that matters.
        if not info or (found := _PLACE.search(before[-_MOST_PLACE:])) is None:
            continue
        place = (found[1].lstrip(".-"), found[2], found[3])
        if _USING.match(said):
            known = job.addresses.setdefault(place[0].partition(".")[0], set())
            known.update(_ADDRESS.findall(said))
        setup = under_way.setdefault(place, _Setup())
        _read_line(setup, said, job)
        setup.end = next((end for end in (_COMPLETE, _ABORT) if end in said), None)
        if setup.rank != _UNKNOWN and setup.end is not None:
            yield place[0], under_way.pop(place)
    # A log that ends early may tell enough all the same.
    yield from ((host, each) for (host, _, _), each in under_way.items() if each.rank != _UNKNOWN)


def _read_line(setup: _Setup, said: str, job: NcclJob) -> None:
    if ring := _RING.fullmatch(said):
        setup.rings.setdefault(int(ring[1]), [int(rank) for rank in ring[2].split()])
    elif near := _NEIGHBOURS.fullmatch(said):
        channel, rank, after = map(int, near.groups())
        setup.next_of.append((channel, rank, after))
    elif said.startswith("Trees "):
        setup.parents += _parents(said)
    elif rank_of := _RANK.search(said):
        setup.rank = (int(rank_of[1]), int(rank_of[2]))
    elif network := _NETWORK.search(said):
        job.networks.add(network[1].strip())


def _parents(said: str) -> Iterator[tuple[int, int, int]]:
    """Yield (channel, rank, parent) for each edge in a log line about trees."""
    for channel, left, rank, right in _TREE.findall(said):
        parent = left if "/" in right else right
        if parent.lstrip("-").isdigit():
            yield int(channel), int(rank), int(parent)


def _follow_ring(next_of: Mapping[int, int], ranks: int) -> list[int] | None:
    """Return the ranks along a ring from rank 0 on; None if a rank's neighbour is unknown."""
    ring = [0]
    while len(ring) < ranks:
        after = next_of.get(ring[-1])
        if after is None or after in ring[:1]:
            return None
        ring.append(after)
    return ring if len(set(ring)) == ranks else None
