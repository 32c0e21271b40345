"""Requests counted by name in rounds: up goes what parts are ready for, down what is released.

Romero et al., sections 2.2.2 (rank 0 hears all ranks itself) and 2.2.3 (a tree of coordinators).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from plink.training.control.cycle_messages import Response
from plink.training.control.ranks import Ranks
from plink.training.control.readiness import Readiness
from plink.training.control.requests import Request
from plink.training.control.root import Root
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.tree_messages import Downward, Member, Upward, Version, Waiting
from plink.training.control.wire import WireError

_SHOWN_DIGITS = 3


class Coordination:
    """Coordination on one rank: of all ranks below it, and at the root of all.

    Ranks that join are first named to all, and count as joined from the next cycle on: so all ranks
    know at the same time for whom nobody waits any more.

    Args:
        place: in the tree.
        settings: of all.
        member: how the coordinator names a request to all ranks.
    """

    def __init__(
        self, place: Place, settings: Settings, member: Callable[[Request], Member]
    ) -> None:
        self._place = place
        self._us = Ranks.of([place.rank])
        self._all = Ranks.below(place.ranks)
        self._readiness = Readiness(place, settings.stall_warning_s, settings.stall_error_s)
        # The cycle itself is the wait for more to fuse with.
        at_once = replace(settings, cycle_s=0.0)
        self._root = None if place.parent is not None else Root(place.ranks, member, at_once)
        self._joining = Ranks()
        self._waiting: list[Waiting] = []
        self._stalled: list[tuple[str, int]] = []
        # At the root: stalled names about which the last response asked all ranks.
        self._asked: list[str] = []
        self.joined = Ranks()

    @property
    def have_all_joined(self) -> bool:
        """Whether all ranks know that all have."""
        return not self._all - self.joined

    def has_news(self, now_s: float) -> bool:
        """Return whether a round is needed for what is known here."""
        if self._joining or self._waiting or self._asked or self._readiness.has_complete:
            return True
        if self.have_all_joined or self._readiness.wakes_s <= now_s:
            return True
        return self._root is not None and self._root.wakes_s <= now_s

    def announce(self, request: Request, since_s: float, now_s: float) -> None:
        """Record a request that this rank is ready for since then."""
        self._readiness.add(self._place.rank, (Version(request, self._us),), since_s)
        self._readiness.backdate(request.name, since_s, now_s)

    def wait(self, name: str, waited_s: float) -> None:
        """A request waits for long that was not counted here until now."""
        self._waiting.append(Waiting(name, round(1000.0 * waited_s), self._us))

    def tell_of(self, stalled: Sequence[tuple[str, int]], now_s: float) -> None:
        """Report who announced these names here, for which others wait, though not all have."""
        for name, waited_ms in stalled:
            self._readiness.backdate(name, now_s - waited_ms / 1000.0, now_s)
            if not self._readiness.is_passed_on(name) and (
                announced := self._readiness.announced(name)
            ):
                self._waiting.append(Waiting(name, 0, announced))

    def join(self) -> None:
        """Record that this rank announces no more."""
        self._joining |= self._us

    def settle(self, request: Request, now_s: float) -> None:
        """Record, at the root, a request on which all ranks agree already."""
        if self._root is not None:
            self._root.settle((Version(request, self._all),), now_s)

    def pass_on(self, below: Mapping[int, Upward], now_s: float) -> Upward:
        """Combine the requests of all ranks below for the parent; the root decides instead."""
        up = Upward(joined=self._joining)
        waiting, self._waiting, self._joining = self._waiting, [], Ranks()
        for child, said in below.items():
            try:
                for versions in said.versions:
                    self._readiness.add(child, versions, now_s)
            except WireError as error:
                up.failed = f"rank {child} broke the protocol of control: {error}"
            up.joined |= said.joined
            waiting += said.waiting
            up.failed = up.failed or said.failed
        for one in waiting:
            self._readiness.backdate(one.name, now_s - one.waited_ms / 1000.0, now_s)
        waiting += self._readiness.stalled(now_s)
        for one in waiting:
            announced = one.announced | self._readiness.announced(one.name)
            more = Waiting(one.name, _round_wait(one.waited_ms), announced)
            if self._root is None:
                up.waiting.append(more)
            else:
                self._root.hear_of(more, now_s)
                if one.waited_ms:
                    self._stalled.append((one.name, one.waited_ms))
        for versions in self._readiness.complete():
            if self._root is None:
                up.versions.append(versions)
            else:
                self._root.settle(versions, now_s)
        return up

    def decide(self, up: Upward, now_s: float) -> Response:
        """Return, at the root, the response to all ranks."""
        if self._root is None:
            raise ValueError("only the root decides")
        if up.failed:
            self._root.fail(up.failed)
        # All ranks take part in every round, so this one brought the answers of all.
        for name in self._asked:
            self._root.hear_of(Waiting(name, 0, Ranks(), self._all), now_s)
        said = self._root.next_message(now_s) or Downward()
        stalled, self._stalled = self._stalled, []
        self._asked = [name for name, _ in stalled]
        return Response(said, up.joined, stalled=stalled)

    def forget(self, name: str) -> None:
        """Forget a name that was released or refused."""
        self._readiness.forget([name])

    def admit(self, joining: Ranks) -> None:
        """Count these ranks as joined from now on."""
        if not joining:
            return
        self.joined |= joining
        self._readiness.join(self._place.rank, joining & self._us)
        for child, below in self._place.children.items():
            self._readiness.join(child, joining & below)
        if self._root is not None:
            self._root.join(joining)

    def begin_anew(self) -> None:
        """All have joined, and none has."""
        self.joined = Ranks()
        self._readiness.begin_anew()

    def clear(self) -> None:
        """Forget all requests that ranks have announced."""
        self._readiness.clear()


def _round_wait(waited_ms: int) -> int:
    """Round a wait for people: a cycle more or less does not matter."""
    if waited_ms <= 0:
        return 0
    digits = _SHOWN_DIGITS - 1 - math.floor(math.log10(waited_ms))
    return round(waited_ms, min(0, digits))
