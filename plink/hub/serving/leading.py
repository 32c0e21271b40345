"""Lanes on all servers of a service, which its first server leads.

Each call is done at all of them when it returns; where one of them is lost, the service fails.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence

from plink.base.errors import PlinkError
from plink.hub.manifest import Manifest
from plink.hub.serving.errors import ServiceError
from plink.hub.serving.followers import Follower
from plink.hub.serving.lanes import Lanes
from plink.hub.session.messages import Lost, Obeyed, Order


class Everywhere:
    """Lanes of a service on all of its servers, as led by the first server.

    Args:
        lanes: of this server, the first.
        followers: the others, not called yet.
        hear: told whom another server has lost.
        fail: told why the service has failed.
    """

    def __init__(
        self,
        lanes: Lanes,
        followers: Sequence[Follower],
        hear: Callable[[Lost], None],
        fail: Callable[[str], None],
    ) -> None:
        self._lanes = lanes
        self._followers = followers
        self._hear = hear
        self._fail = fail
        self._are_called = not followers
        self._is_over = False
        # One order after the other.
        self._turn = asyncio.Lock()

    async def call(self, manifest: Manifest) -> None:
        """Connect to the other servers, unless they are connected already.

        Raises:
            ServiceError: one of them cannot be reached, or does not have the service.
        """
        async with self._turn:
            self._check()
            if self._are_called:
                return
            loop = asyncio.get_running_loop()
            for follower in self._followers:
                try:
                    await asyncio.to_thread(follower.call, manifest)
                except PlinkError as error:
                    raise ServiceError(
                        f"the service's first server cannot lead another: {error}", error.hint
                    ) from None
            for follower in self._followers:
                _listen(follower, loop, self._hear, self._fail)
            self._are_called = True

    async def seat(self, worker: int, incarnation: int) -> None:
        """Tell the other servers that a worker may join."""
        await self._tell(Order("seat", worker, incarnation))

    async def cut(self, worker: int) -> None:
        """Close a worker's data connections on all servers, so that nothing more of it is taken."""
        self._lanes.cut(worker)
        await self._tell(Order("cut", worker))

    async def iteration(self) -> int:
        """Return the latest iteration that any lane has begun."""
        iteration, _ = await self.ended()
        return iteration

    async def ended(self) -> tuple[int, bool]:
        """Return the latest iteration, and whether all lanes are in the same one.

        In mode sync, where none is under way, all have ended it then.
        """
        found = [self._lanes.iterations]
        found += [(answer.first, answer.last) for answer in await self._tell(Order("look"))]
        begun = [its for pair in found for its in pair if its is not None]
        return max(begun, default=0), len(set(begun)) < 2

    async def has_all_of(self, worker: int, iteration: int) -> bool:
        """Return whether all chunks have a worker's contribution to an iteration or are past it."""
        is_here = self._lanes.has_all_of(worker, iteration)
        return _all(await self._tell(Order("holds", worker, iteration=iteration))) and is_here

    async def admit(self, worker: int, since: int) -> bool:
        """Admit a worker from an iteration on; False where a lane has begun that already."""
        is_here = self._lanes.admit(worker, since)
        return _all(await self._tell(Order("admit", worker, iteration=since))) and is_here

    async def drop(self, worker: int, since: int, revision: int) -> None:
        """Drop a worker from an iteration on at all servers, as `Lanes.drop` does."""
        self._lanes.drop(worker, since, revision)
        await self._tell(Order("drop", worker, iteration=since, revision=revision))

    async def pass_over(self, iteration: int) -> bool:
        """Skip iterations without contributors up to this one; False if one cannot be ended."""
        is_here = self._lanes.pass_over(iteration)
        return _all(await self._tell(Order("pass-over", iteration=iteration))) and is_here

    async def gather(self) -> None:
        """Expect the service's initial number of workers again, on all servers."""
        self._lanes.gather()
        await self._tell(Order("gather"))

    async def retire(self, worker: int, why: str) -> None:
        """Record on all servers that a worker has left, as `Lanes.retire` does."""
        self._lanes.retire(worker, why)
        await self._tell(Order("retire", worker, sentence=why))

    async def fail(self, why: str) -> None:
        """Tell the other servers that the service has failed."""
        with contextlib.suppress(ServiceError):
            await self._tell(Order("fail", sentence=why))

    async def end(self) -> None:
        """Close the connections once pending orders are sent; later orders are refused."""
        try:
            async with self._turn:
                self._is_over = True
        finally:
            self.close()

    def close(self) -> None:
        """Close the connections to the other servers."""
        for follower in self._followers:
            follower.close()

    def _check(self) -> None:
        if self._is_over:
            raise ServiceError("the service has ended")

    async def _tell(self, order: Order) -> list[Obeyed]:
        if not self._are_called:
            return []
        async with self._turn:
            self._check()
            asked = [asyncio.to_thread(follower.ask, order) for follower in self._followers]
            answers = await asyncio.gather(*asked, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, PlinkError):
                self._fail(str(answer))
                raise ServiceError(str(answer), answer.hint)
            if isinstance(answer, BaseException):
                raise answer
        return [answer for answer in answers if isinstance(answer, Obeyed)]


def _all(answers: Sequence[Obeyed]) -> bool:
    return all(answer.is_done for answer in answers)


def _listen(
    follower: Follower,
    loop: asyncio.AbstractEventLoop,
    hear: Callable[[Lost], None],
    fail: Callable[[str], None],
) -> None:
    """Start a thread that passes on the lost workers and the failure that a follower reports."""

    def listen() -> None:
        # The loop may have ended before.
        with contextlib.suppress(RuntimeError):
            try:
                while True:
                    lost = follower.hear()
                    if lost is not None:
                        loop.call_soon_threadsafe(hear, lost)
            except PlinkError as error:
                loop.call_soon_threadsafe(fail, str(error))

    threading.Thread(target=listen, name="plink-hub-listen", daemon=True).start()
