"""Requests that wait on a rank while a graph decides, and since when."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from plink.training.control.actions import Batch
from plink.training.control.requests import Request
from plink.training.control.settings import Settings

# Of batches that the graph released.
OF_GRAPH = -1


class Waits:
    """Waiting requests of one rank.

    Args:
        settings: of all.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # In the order of announcements, each with its time.
        self._pending: dict[str, tuple[Request, float]] = {}
        # Of each batch that has not ended: its time, and who released it.
        self._under_way: deque[tuple[float, int]] = deque()
        self._asked_s = -math.inf

    @property
    def pending(self) -> list[tuple[Request, float]]:
        """Requests that are announced and not released, and since when."""
        return list(self._pending.values())

    def announce(self, requests: Sequence[Request], now_s: float) -> None:
        """Record requests that wait from now on."""
        for request in requests:
            self._pending[request.name] = (request, now_s)

    def request(self, name: str) -> Request:
        """Return the announced request of this name."""
        return self._pending[name][0]

    def refuse(self, name: str) -> None:
        """Forget a request that does not begin."""
        del self._pending[name]

    def release(self, batch: Batch, number: int) -> None:
        """Release a batch, as the `tree` machine of this number says, or the graph (`OF_GRAPH`)."""
        waits = [self._pending.pop(request.name, (request, math.inf)) for request in batch.requests]
        since_s = min(at_s for _, at_s in waits)
        self._under_way.append((since_s if number == OF_GRAPH else math.inf, number))

    def end(self) -> int | None:
        """A batch has ended. Returns who released it; None for nobody."""
        return self._under_way.popleft()[1] if self._under_way else None

    def since_s(self, *, has_graph: bool) -> float:
        """Return since when the oldest request of the graph's waits; infinity for never.

        Args:
            has_graph: it decides about what is pending.
        """
        since_s = self._under_way[0][0] if self._under_way else math.inf
        if has_graph and self._pending:
            since_s = min(since_s, next(iter(self._pending.values()))[1])
        return since_s

    def asked(self, now_s: float) -> None:
        """All ranks are asked now."""
        self._asked_s = now_s

    def due_s(self, since_s: float) -> float:
        """Return when all ranks are asked about something that waits since then."""
        due_s = max(since_s, self._asked_s) + self._settings.stall_warning_s
        error_s = self._settings.stall_error_s
        if error_s is not None and self._asked_s < since_s + error_s < due_s:
            return since_s + error_s
        return due_s
