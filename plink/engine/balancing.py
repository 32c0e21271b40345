"""Agreement of the ranks on the share of every buffer that each worker carries.

As with plans: there is a point, at the same collective on every rank. There each rank gives what
its workers cost it to a tiny all-reduce by maximum for which nobody waits. At the next point the
result is read, the same on all ranks, and so is what follows from it: shares that count from the
very next collective on. No message can be late, and nothing waits for what comes after it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from plink.base.errors import PlinkError
from plink.engine._native import Work
from plink.engine.shares import Floats, Shares, costs
from plink.engine.statistics import Statistics

_SETTLE_S = 2.0


class Balancing:
    """Balancing of buffers between the workers of one rank, in agreement with all ranks.

    Args:
        native: the engine's native part.
        workers: how many it has.
        statistics: its figures now.
        maximum: begins an all-reduce by maximum.
    """

    def __init__(
        self,
        native: Any,
        workers: int,
        statistics: Callable[[], Statistics],
        maximum: Callable[[Floats], Work],
    ) -> None:
        self._native = native
        self._statistics, self._maximum = statistics, maximum
        self.shares = Shares(workers)
        self._workers = workers
        self._began = statistics()
        self._voting: Work | None = None
        self._vote = np.zeros(workers)

    @property
    def is_ready(self) -> bool:
        """Whether `balance` would return without waiting for other ranks."""
        return self._voting is None or self._voting.done()

    def settle(self) -> None:
        """Wait for the pending vote before the engine closes, as other ranks may wait for it.

        Not for long, for all ranks begin it at the same place.
        """
        if self._voting is not None:
            with contextlib.suppress(PlinkError, TimeoutError):
                self._voting.wait(_SETTLE_S)

    def balance(self) -> None:
        """Apply the shares that the last vote led to, and begin the next vote on costs.

        Raises:
            EngineError: the engine has failed.
        """
        has_changed = False
        if self._voting is not None:
            self._voting.wait()
            has_changed = self.shares.follow(self._vote.tolist())
            if has_changed:
                weights = [] if self.shares.are_equal else self.shares.weights
                self._native.weigh_workers(weights, self._native.posted)
        now = self._statistics()
        found = costs(self._began, now, self._workers)
        if has_changed:
            # Of other shares.
            found[:] = 0.0
        if has_changed or found.any():
            self._began = now
        self._vote = found
        self._voting = self._maximum(self._vote)
