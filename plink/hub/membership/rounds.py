"""Iterations in which all contribute: their sets, told ahead, and changed for all chunks alike.

Sets are told one iteration ahead, so that no chunk waits for them; a chunk whose set it does not
know waits. So a worker that joins does so at the first iteration whose set nobody knows.

A set that is known changes only while no chunk of it can be complete without who goes: because it
has pushed nothing of it, or because nothing is stepped before `Commit`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from plink.hub.membership.actions import Action, Admit, Begin, Commit, PushAgain

AHEAD = 1


@dataclass
class _Set:
    revision: int
    workers: set[int]
    pushed: set[int] = field(default_factory=set)


class Rounds:
    """The iterations of a service in mode sync.

    Args:
        iteration: the first.
        by_step: whether all chunks are stepped together (`Commit`).
    """

    def __init__(self, iteration: int, *, by_step: bool) -> None:
        self.iteration = iteration
        self._by_step = by_step
        self._sets: dict[int, _Set] = {}
        self._next: set[int] = set()
        self._revision = 0

    @property
    def is_running(self) -> bool:
        """Whether there is an iteration with contributors."""
        return bool(self._sets)

    @property
    def workers(self) -> frozenset[int]:
        """Who contributes to the iteration in progress."""
        return frozenset(self._sets[self.iteration].workers if self._sets else ())

    @property
    def first_untold(self) -> int:
        """The first iteration whose set may still become larger."""
        return self.iteration + len(self._sets)

    def start(self, workers: Iterable[int]) -> list[Action]:
        """Begin with these, who have no values of their own."""
        self._next = set(workers)
        self._sets = {}
        return [*(Admit(worker, self.iteration) for worker in sorted(self._next)), *self._fill()]

    def admit(self, worker: int) -> list[Action]:
        """A worker joins as early as it can."""
        self._next.add(worker)
        return [Admit(worker, self.first_untold)]

    def pushed(self, worker: int, iteration: int, revision: int) -> list[Action]:
        """A worker's contribution is complete; one to a set that is void means nothing."""
        found = self._sets.get(iteration)
        if found is None or found.revision != revision or worker not in found.workers:
            return []
        found.pushed.add(worker)
        return self._advance()

    def has_pushed(self, worker: int, iteration: int) -> bool:
        """Whether all chunks have the worker's contribution, as far as is known."""
        found = self._sets.get(iteration)
        return iteration < self.iteration or (found is not None and worker in found.pushed)

    @property
    def told_workers(self) -> frozenset[int]:
        """All that are in a set which is told and not complete."""
        return frozenset().union(*(known.workers for known in self._sets.values()))

    def due(self, worker: int) -> int:
        """The first iteration that lacks a contribution of the worker, as far as is known."""
        lacking = [
            iteration
            for iteration, known in self._sets.items()
            if worker in known.workers - known.pushed
        ]
        return min(lacking, default=self.first_untold)

    def resume(self, worker: int, began: int | None, present: Iterable[int]) -> list[Action]:
        """A worker is back.

        Args:
            worker: which.
            began: the iteration that it had begun, if it still has its gradients. None where it
                begins anew: with commit by step what it had pushed of the iteration in progress
                counts no more, since nobody could push it again; else it does, and the rest comes
                from its new gradients.
            present: the workers that can push again, now or when they are back.
        """
        if began is not None:
            again = [] if self.has_pushed(worker, began) else [PushAgain(worker, began)]
            return [Admit(worker, began + 1), *again]
        if self._by_step and worker in self.workers:
            return [*self.repeat(worker, present), Admit(worker, self.iteration)]
        return [Admit(worker, self.due(worker))]

    def leave(self, worker: int, iteration: int) -> list[Action]:
        """A worker has pushed nothing of this and later iterations, and does not contribute."""
        return self._change({worker}, iteration, frozenset())

    def lose(self, worker: int, present: Iterable[int]) -> list[Action]:
        """A worker is gone with whatever it has pushed; only with commit by step.

        Args:
            worker: which. If its contribution to the iteration in progress is complete, it counts.
            present: the workers that can push again.
        """
        if worker not in self.workers or self.has_pushed(worker, self.iteration):
            return self._change({worker}, self.iteration + 1, frozenset())
        gone = {worker} | (self.workers - set(present))
        return self._change(gone, self.iteration, frozenset(gone))

    def repeat(self, worker: int, present: Iterable[int]) -> list[Action]:
        """A worker begins the iteration in progress anew; only with commit by step.

        Args:
            worker: which.
            present: the workers that can push again, now or when they are back.
        """
        gone = self.workers - set(present) - {worker}
        workers = set(self.workers - gone)
        return [self._revise(self.iteration, workers, frozenset({worker, *gone}))]

    def _change(self, gone: set[int], since: int, discard: frozenset[int]) -> list[Action]:
        self._next -= gone
        touched = [i for i, known in self._sets.items() if i >= since and gone & known.workers]
        actions: list[Action] = []
        for iteration in sorted(touched):
            left = self._sets[iteration].workers - gone
            if not left:
                # Nobody is left to complete it: who was to join later begins it.
                actions += self._restart(iteration, discard)
                break
            actions.append(self._revise(iteration, left, self._here(iteration, discard)))
        return [*actions, *self._advance()]

    def _restart(self, since: int, discard: frozenset[int]) -> list[Action]:
        actions: list[Action] = [Admit(worker, since) for worker in sorted(self._next)]
        for iteration in [told for told in sorted(self._sets) if told >= since]:
            if self._next:
                here = self._here(iteration, discard)
                actions.append(self._revise(iteration, set(self._next), here))
            else:
                del self._sets[iteration]
        return actions

    def _here(self, iteration: int, discard: frozenset[int]) -> frozenset[int]:
        """Nobody has pushed anything to a later iteration than the one in progress."""
        return discard if iteration == self.iteration else frozenset()

    def _advance(self) -> list[Action]:
        actions: list[Action] = []
        while self._sets:
            found = self._sets[self.iteration]
            if found.pushed != found.workers:
                break
            if self._by_step:
                actions.append(Commit(self.iteration, found.revision))
            del self._sets[self.iteration]
            self.iteration += 1
            actions += self._fill()
        return actions

    def _fill(self) -> list[Action]:
        missing = 1 + AHEAD - len(self._sets) if self._next else 0
        return [self._tell() for _ in range(missing)]

    def _tell(self) -> Begin:
        return self._revise(self.first_untold, set(self._next), frozenset())

    def _revise(self, iteration: int, workers: set[int], discard: frozenset[int]) -> Begin:
        self._revision += 1
        self._sets[iteration] = _Set(self._revision, set(workers))
        return Begin(iteration, self._revision, tuple(sorted(workers)), tuple(sorted(discard)))
