"""Copies of a service's state at one server: taken at the end of iterations, or changed."""

from __future__ import annotations

import asyncio

from plink.hub.serving.errors import PastIterationError, ServiceError
from plink.hub.serving.lanes import Lanes
from plink.hub.serving.recalled import Copies
from plink.hub.session.messages import Load
from plink.hub.snapshot import Piece

# A snapshot is of an iteration that no lane has ended yet; they go on while they are told.
_MOST_AHEAD = 64


def no_values(name: str) -> tuple[str, str]:
    """Return the error and the hint for a service that has no values yet."""
    return f"service {name} has no values yet", "its first worker brings them"


class Keeping:
    """Copies of a service's state at one server, for snapshots and for workers that read it.

    Args:
        name: of the service.
        lanes: of this server.
    """

    def __init__(self, name: str, lanes: Lanes) -> None:
        self._name = name
        self._lanes = lanes
        self._loaded: tuple[int, str] | None = None
        self._saving: asyncio.Future[None] | None = None

    async def pieces(self, iteration: int | None) -> tuple[int, bytes, list[Piece]]:
        """Copy this server's state at the end of an iteration; return it as `Lanes.take_pieces`.

        Args:
            iteration: None for the earliest that is possible.

        Raises:
            PastIterationError: the service is past that iteration.
            ServiceError: it has no values, is being saved already, or has failed meanwhile.
        """
        if not self._lanes.has_values:
            raise ServiceError(*no_values(self._name))
        if self._saving is not None:
            raise ServiceError(f"service {self._name} is being saved already")
        saving = self._saving = asyncio.get_running_loop().create_future()
        try:
            self._copy(iteration)
            await saving
            return self._lanes.take_pieces()
        finally:
            self._saving = None

    def _copy(self, iteration: int | None) -> None:
        if iteration is not None:
            if not self._lanes.copy_at(iteration):
                raise PastIterationError(f"service {self._name} is past iteration {iteration}")
            return
        for ahead in range(_MOST_AHEAD):
            if self._lanes.copy_at(self._lanes.iteration + ahead):
                return
        raise ServiceError(f"service {self._name} cannot be saved: it is too fast")

    def copied(self, lane: int, iteration: int) -> None:
        """Record that a lane has its copies, which ends the wait of `pieces` after the last."""
        is_over = self._lanes.is_copied(lane, iteration)
        if is_over and self._saving is not None and not self._saving.done():
            self._saving.set_result(None)

    def fail(self, why: str) -> None:
        """End the wait of `pieces` with an error, as the service has failed."""
        if self._saving is not None and not self._saving.done():
            self._saving.set_exception(ServiceError(f"service {self._name} has failed: {why}"))

    def recall(self, iteration: int) -> Copies:
        """Return a copy of the state after an iteration, if all chunks are at its end.

        Raises:
            ServiceError: the service is elsewhere.
        """
        copies = self._lanes.copies(iteration)
        if copies is None:
            raise ServiceError(
                f"service {self._name} has gone on from iteration {iteration}",
                "only in mode sync does it wait for the worker that asks",
            )
        return copies

    def load(self, copies: Copies, load: Load) -> None:
        """Load the state that a worker gives; all give the same one, between the same iterations.

        Raises:
            ServiceError: another worker gave another, or the next iteration is under way.
        """
        if self._loaded == (copies.iteration, load.digest):
            return
        wrong = ServiceError(
            f"service {self._name} goes on with another state",
            "all workers load the same one, before the next step",
        )
        if self._loaded and self._loaded[0] == copies.iteration:
            raise wrong
        try:
            self._lanes.load_copies(copies, load.steps)
        except ValueError:
            raise wrong from None
        self._loaded = (copies.iteration, load.digest)
