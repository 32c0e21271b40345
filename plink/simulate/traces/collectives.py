"""Messages of a collective of which a trace gives only the name and size.

Rings, a binomial tree and pairs: what moves the fewest bytes, whatever the library does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """Concurrent messages of a rank.

    Args:
        number: of the step, the same on all ranks.
        messages: whether it sends, to or from whom, and how many bytes.
    """

    number: int
    messages: list[tuple[bool, int, int]]


def collective_steps(collective: str, rank: int, ranks: int, size_bytes: int) -> Iterator[Step]:
    """Yield the steps of one rank.

    Args:
        collective: its name, as `plink.plans.names` has it.
        rank: whose.
        ranks: how many take part.
        size_bytes: of the whole buffer; of an all-gather and a reduce-scatter too.
    """
    if ranks == 1:
        return
    share = size_bytes // ranks
    if collective in ("all-reduce", "all-gather", "reduce-scatter"):
        turns = (2 if collective == "all-reduce" else 1) * (ranks - 1)
        after, before = (rank + 1) % ranks, (rank - 1) % ranks
        for turn in range(turns):
            yield Step(turn, [(True, after, share), (False, before, share)])
    elif collective == "all-to-all":
        others = [other for other in range(ranks) if other != rank]
        sends = [(True, other, share) for other in others]
        yield Step(0, [*sends, *((False, other, share) for other in others)])
    elif collective in ("gather", "scatter"):
        is_gather = collective == "gather"
        if rank:
            yield Step(0, [(is_gather, 0, share)])
        else:
            yield Step(0, [(not is_gather, other, share) for other in range(1, ranks)])
    elif collective in ("broadcast", "reduce", "barrier"):
        yield from _trees(collective, rank, ranks, 1 if collective == "barrier" else size_bytes)


def _trees(collective: str, rank: int, ranks: int, size_bytes: int) -> Iterator[Step]:
    """Yield a binomial tree of rank 0, down, up, or up and down."""
    parent = rank - (1 << (rank.bit_length() - 1)) if rank else -1
    children = [
        rank + (1 << level)
        for level in range(rank.bit_length(), ranks.bit_length())
        if rank + (1 << level) < ranks
    ]
    if collective in ("reduce", "barrier"):
        if children:
            yield Step(0, [(False, child, size_bytes) for child in children])
        if rank:
            yield Step(0, [(True, parent, size_bytes)])
    if collective in ("broadcast", "barrier"):
        if rank:
            yield Step(1, [(False, parent, size_bytes)])
        if children:
            yield Step(1, [(True, child, size_bytes) for child in children])
