"""Workers that do not wait for each other: how far each is, and with ssp how far it may go."""

from __future__ import annotations

from plink.hub.membership.actions import Action, Admit, Allow


class Clocks:
    """The iterations of a service in mode async or ssp.

    Args:
        iteration: at which new workers begin.
        staleness: how many iterations the fastest may be ahead of the slowest; None for async.
    """

    def __init__(self, iteration: int, staleness: int | None) -> None:
        self._begin = iteration
        self._staleness = staleness
        self._completed: dict[int, int] = {}
        self._allowed: dict[int, int] = {}

    @property
    def iteration(self) -> int:
        """How many iterations the slowest has completed."""
        if self._completed:
            self._begin = min(self._completed.values())
        return self._begin

    def completed(self, worker: int) -> int:
        """How many iterations a worker has pushed whole."""
        return self._completed[worker]

    def admit(self, worker: int) -> list[Action]:
        """A new worker begins where the slowest is, or a known one where it was."""
        self._completed.setdefault(worker, self.iteration)
        self._allowed.pop(worker, None)
        return [Admit(worker, self._completed[worker]), *self._allow()]

    def pushed(self, worker: int, iteration: int) -> list[Action]:
        """A worker has completed an iteration."""
        if self._completed.get(worker) != iteration:
            return []
        self._completed[worker] = iteration + 1
        return self._allow()

    def remove(self, worker: int) -> list[Action]:
        """A worker is gone, and nobody waits for it."""
        # Whoever comes later begins where those who stayed were.
        self._begin = self.iteration
        self._completed.pop(worker, None)
        self._allowed.pop(worker, None)
        return self._allow()

    def _allow(self) -> list[Action]:
        if self._staleness is None:
            return []
        most = self.iteration + self._staleness + 1
        late = [one for one in sorted(self._completed) if self._allowed.get(one, -1) < most]
        self._allowed.update(dict.fromkeys(late, most))
        return [Allow(worker, most) for worker in late]
