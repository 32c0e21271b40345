"""Time slices of ranks that spin on shared cores, and what sockets send meanwhile.

A rank that polls without giving way keeps its core until the scheduler takes it away, and its next
turn comes after all others'. What has arrived waits for that turn. The kernel goes on sending what
the rank has written to its socket, but no more is written until then.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from plink.solvers.contention.shared_links import SharedLinks

# For how long a socket's buffer feeds the host's own link, once it is full: TCP lets it grow with
# what the link carries.
KEPT_S = 0.018


@dataclass(frozen=True)
class CoreTurns:
    """Time slices of ranks on the cores that they share.

    Where ranks take turns, a message begins when its sender has its turn, whether the receiver is
    there or not: libraries are told not to ask first.

    Args:
        cycle_s: from one turn of a rank to its next; 0 where ranks have cores of their own.
        slice_s: how long a turn is.
        begins_s: (R,) of each rank's first turn.
    """

    cycle_s: float = 0.0
    slice_s: float = 0.0
    begins_s: Sequence[float] = ()


ALWAYS = CoreTurns()


def draw_turns(ranks: int, cores: int, slice_s: float, seed: int) -> CoreTurns:
    """Return time slices in random order; none if every rank has its own core.

    Args:
        ranks: how many there are.
        cores: that they share; 0 where each has its own.
        slice_s: how long a turn is; 0 where ranks give way as soon as they wait.
        seed: who shares a core with whom, in which sequence.
    """
    if not 0 < cores < ranks or slice_s <= 0.0:
        return ALWAYS
    places = random.Random(~seed).sample(range(ranks), ranks)
    begins_s = [slice_s * (place // cores) for place in places]
    return CoreTurns(slice_s * ranks / cores, slice_s, begins_s)


@dataclass(frozen=True)
class Paths:
    """Links that messages cross, including each sender's socket buffer.

    Args:
        paths: paths of each message.
        rate_bytes_s, burst_bytes: of every link, those of senders at the end.
    """

    paths: Sequence[tuple[int, ...]]
    rate_bytes_s: Sequence[float]
    burst_bytes: Sequence[float]


def socket_paths(
    paths: Sequence[tuple[int, ...]],
    senders: Sequence[int],
    links: SharedLinks,
    turns: CoreTurns,
    kept_s: float,
) -> Paths:
    """Return paths extended by each sender's socket: a link with a bucket, refilled each turn.

    Args:
        paths: paths of each message; the first link is the sender's own.
        senders: senders of each message.
        links: that are crossed.
        turns: turns of the ranks.
        kept_s: for how long a full buffer feeds the sender's own link.
    """
    share = (kept_s + turns.slice_s) / turns.cycle_s
    if share >= 1.0:
        return Paths(paths, links.rate_bytes_s, links.burst_bytes)
    rates, bursts = list(links.rate_bytes_s), list(links.burst_bytes)
    socket_of: dict[int, int] = {}
    found: list[tuple[int, ...]] = []
    for path, sender in zip(paths, senders, strict=True):
        if path and sender not in socket_of:
            socket_of[sender] = len(rates)
            own = links.rate_bytes_s[path[0]]
            rates.append(own * share)
            bursts.append(own * kept_s)
        found.append((*path, socket_of[sender]) if path else path)
    return Paths(found, rates, bursts)
