"""Groups of gradients that are sent together, as slices of pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor

from plink.base.errors import WrongUseError
from plink.torch.overlap.arrangement import Arrangement
from plink.torch.overlap.pool import Pool


@dataclass(frozen=True)
class Part:
    """Range of elements of one pool, the tail included.

    Args:
        pool: which.
        begin: first element.
        end: behind the last.
        flat: (end - begin,) the elements themselves, until the pool is laid out anew.
    """

    pool: Pool
    begin: int
    end: int
    flat: Tensor


@dataclass(frozen=True)
class Group:
    """Group of gradients that are sent together.

    Args:
        names: of them.
        parts: a slice of each pool that has some of them.
    """

    names: tuple[str, ...]
    parts: tuple[Part, ...]


def arrange_groups(
    pools: Sequence[Pool], arrangement: Arrangement, with_tails: bool
) -> list[Group]:
    """Lay pools out in the arrangement's order, and return their groups by its cuts.

    Args:
        pools: all of them; in each the gradients keep the arrangement's order.
        arrangement: of the gradients of all pools.
        with_tails: each pool's tail is sent with its last gradients.

    Raises:
        WrongUseError: the arrangement is not of these gradients.
    """
    names, cuts = arrangement.names, arrangement.cuts
    if sorted(names) != sorted(name for pool in pools for name in pool.names):
        raise WrongUseError("an arrangement has each gradient once")
    if not cuts or cuts[-1] != len(names) or any(b <= a for a, b in pairwise((0, *cuts))):
        raise WrongUseError("cuts rise, and the last is behind the last gradient")
    for pool in pools:
        own = set(pool.names)
        pool.reorder([name for name in names if name in own])
    found = []
    done = [0] * len(pools)
    for first, end in pairwise((0, *cuts)):
        members = set(names[first:end])
        parts = []
        for which, pool in enumerate(pools):
            begin = done[which]
            while done[which] < len(pool) and pool.names[done[which]] in members:
                done[which] += 1
            if done[which] > begin:
                parts.append(_part(pool, begin, done[which], with_tails))
        found.append(Group(names[first:end], tuple(parts)))
    return found


def _part(pool: Pool, first: int, last: int, with_tails: bool) -> Part:
    tail_items = len(pool) if with_tails and last == len(pool) else 0
    begin, end = pool.bounds(first)[0], pool.bounds(last - 1)[1] + tail_items
    return Part(pool, begin, end, pool.with_tail[begin:end])
