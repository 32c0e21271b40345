"""Agreement in cycles that name everything (Romero et al., sections 2.2.2 and 2.2.3).

Each rank says what it has become ready for; the coordinator counts by name, and tells all what all
are ready for.

With all ranks below rank 0 this is the flat form, whose work at rank 0 grows with the ranks; with a
tree it is that of coordinators. Either repeats all names, types and shapes in every iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.training.control.cycle_messages import REQUESTS, Response
from plink.training.control.cycles import Cycles
from plink.training.control.requests import Request
from plink.training.control.tree_messages import Member
from plink.training.control.wire import WireError


class Full(Cycles):
    """The machine of one rank; see `Cycles`."""

    def _begin(self) -> None:
        for queued in self._queue.values():
            self._coordination.announce(queued.request, queued.since_s, self._now_s)
        self._queue.clear()
        self._rounds.enter(REQUESTS)

    def _member(self, request: Request) -> Member:
        return Member(0, request)

    def _requests_named(self, members: Sequence[Member]) -> list[Request]:
        requests = [member.request for member in members if member.request is not None]
        if len(requests) != len(members):
            raise WireError("a released request is not named")
        return requests

    def _respond(self, response: Response) -> Response:
        return response

    def _learn(self, requests: Sequence[Request], response: Response) -> None:
        """Remember nothing."""
