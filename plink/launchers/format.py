"""What a launcher writer is: a pure function from ordered hosts to the text of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from plink.files.cluster import Host


@dataclass(frozen=True)
class Format:
    """A file that a launcher reads.

    Args:
        name: what the user calls it.
        about: the launcher and what is written for it, in a line.
        usage: one command that uses it; FILE is the file, RANKS the number of ranks.
        render: hosts in rank order to the text of the file. A host's ranks are adjacent, as
            many as it has slots. Raises `WrongUseError` where the launcher cannot take a host.
    """

    name: str
    about: str
    usage: str
    render: Callable[[Sequence[Host]], str]

    def usage_of(self, file: str, ranks: int | None) -> str:
        """The command that uses `file`, for so many ranks; None leaves RANKS to the reader."""
        return filled(self.usage, {"RANKS": "RANKS" if ranks is None else str(ranks), "FILE": file})


@dataclass(frozen=True)
class Place:
    """Where one rank runs: the host, and which of the host's ranks it is."""

    rank: int
    host: Host
    local_rank: int


def filled(usage: str, blanks: Mapping[str, str]) -> str:
    """A usage line with texts in place of its blanks, which are whole words of it.

    So SLURM_HOSTFILE stays what it is.
    """
    return re.sub(rf"\b({'|'.join(blanks)})\b", lambda match: blanks[match[0]], usage)


def places(hosts: Sequence[Host]) -> Iterator[Place]:
    """The place of every rank, in rank order."""
    rank = 0
    for host in hosts:
        for local_rank in range(host.slots):
            yield Place(rank, host, local_rank)
            rank += 1
