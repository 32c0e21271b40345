"""Dealing work to equal workers."""

from __future__ import annotations

from collections.abc import Sequence


def partition(work: Sequence[float], workers: int) -> list[int]:
    """The worker of each piece of work, so that the busiest has little: largest pieces first.

    Each goes to the worker that has least so far. The busiest has at most 4/3 - 1/(3 m) times what
    is best with m workers (Graham 1969, as in Luo 2020, §3.2.4 and §4.2.2).

    Raises:
        ValueError: no workers.
    """
    if workers < 1:
        raise ValueError(f"{workers} workers")
    load = [0.0] * workers
    worker_of = [0] * len(work)
    for piece in sorted(range(len(work)), key=lambda piece: (-work[piece], piece)):
        worker = min(range(workers), key=load.__getitem__)
        worker_of[piece] = worker
        load[worker] += work[piece]
    return worker_of
