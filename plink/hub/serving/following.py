"""A server that is not its service's first: obeys that one's orders, reports lost workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from plink.hub.serving.crew import Seat
from plink.hub.serving.errors import ServiceError
from plink.hub.serving.lanes import Lanes
from plink.hub.session.messages import Join, Lost, Obeyed, Order

# The first server hears something so often, so that who waits for it can see that it is over.
_SILENCE_S = 5.0


class Following:
    """Part of a service at this server, led by the service's first server.

    Args:
        lanes: of this server.
        forget: a worker takes part no longer; whatever else is known of it means nothing.
        fail: the service has failed.
    """

    def __init__(
        self, lanes: Lanes, forget: Callable[[int], object], fail: Callable[[str], None]
    ) -> None:
        self._lanes = lanes
        self._forget = forget
        self._fail = fail
        self._seats: dict[int, int] = {}
        self._reports: asyncio.Queue[Lost] = asyncio.Queue()
        self._failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def seat(self, join: Join) -> Seat:
        """Return the seat that the first server has given to a worker.

        Raises:
            ServiceError: it has given none.
        """
        if join.worker is None or self._seats.get(join.worker) != join.incarnation:
            raise ServiceError(
                f"the first server knows no worker {join.worker} that comes now",
                "join as a new worker",
            )
        return Seat(join.worker, join.incarnation, 0)

    def lost(self, number: int, incarnation: int, why: str) -> None:
        """Report a lost worker to the first server."""
        self._reports.put_nowait(Lost(number, incarnation, why))

    def failed(self, why: str) -> None:
        """Report to the first server that the service has failed."""
        if not self._failure.done():
            self._failure.set_result(why)

    async def report(self) -> Lost | None:
        """Return the next lost worker to report; None if there is none for a while.

        Raises:
            ServiceError: the service has failed.
        """
        next_one = asyncio.ensure_future(self._reports.get())
        waited = (next_one, self._failure)
        try:
            await asyncio.wait(waited, timeout=_SILENCE_S, return_when=asyncio.FIRST_COMPLETED)
            if next_one.done():
                return next_one.result()
        finally:
            next_one.cancel()
        if self._failure.done():
            raise ServiceError(self._failure.result())
        return None

    def obey(self, order: Order) -> Obeyed:
        """Carry out an order of the first server and return the answer to it."""
        return Obeyed(self._execute(order), *self._lanes.iterations)

    def _execute(self, order: Order) -> bool:
        lanes, worker, iteration = self._lanes, order.worker, order.iteration
        if order.order == "seat":
            self._seats[worker] = order.incarnation
        elif order.order in ("cut", "retire"):
            self._seats.pop(worker, None)
            self._forget(worker)
            if order.order == "cut":
                lanes.cut(worker)
            else:
                lanes.retire(worker, order.sentence)
        elif order.order == "holds":
            return lanes.has_all_of(worker, iteration)
        elif order.order == "admit":
            return lanes.admit(worker, iteration)
        elif order.order == "drop":
            lanes.drop(worker, iteration, order.revision)
        elif order.order == "pass-over":
            return lanes.pass_over(iteration)
        elif order.order == "gather":
            lanes.gather()
        elif order.order == "fail":
            self._fail(order.sentence)
        return True
