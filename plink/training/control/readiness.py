"""Readiness of a subtree: what this rank and those below announced, and what all of them did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

from plink.training.control.alarms import Alarms
from plink.training.control.pending import Pending
from plink.training.control.ranks import Ranks
from plink.training.control.requests import Request
from plink.training.control.shape import Place
from plink.training.control.tree_messages import Version, Waiting
from plink.training.control.wire import WireError


class Readiness:
    """Readiness of one part of the tree.

    Args:
        place: of its highest rank.
        warning_s: what waits for so long is stalled, and again after as long.
        error_s: and after so long; None for never.
        tell_apart: called with each request before it is added, also where it is said again: what
            is announced elsewhere and at odds with it is to be adopted.
    """

    def __init__(
        self,
        place: Place,
        warning_s: float,
        error_s: float | None,
        tell_apart: Callable[[Request], None] | None = None,
    ) -> None:
        self._place = place
        self._tell_apart = tell_apart
        self._pending: dict[str, Pending] = {}
        # Of each tensor, the request that it belongs to.
        self._owners: dict[str, str] = {}
        self._alarms = Alarms(warning_s, error_s)
        self._complete: list[Pending] = []
        # By whom, what together, and when: of a name that is passed on, as others said it.
        self._aside: list[tuple[int, tuple[Version, ...], float]] = []
        self.begin_anew()

    @property
    def wakes_s(self) -> float:
        """Return when something will have stalled; infinity for never."""
        return self._alarms.next_s

    def first_alarm_s(self, since_s: float) -> float:
        """Return when something that waits since then will have stalled for the first time."""
        return self._alarms.first_s(since_s)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is announced."""
        return not self._pending and not self._aside

    @property
    def sources(self) -> Set[int]:
        """Sources that all have to announce a request: those that have not joined."""
        return self._sources

    def is_apart(self, name: str) -> bool:
        """Return whether nothing that is announced has this name, or a tensor of it."""
        return self.is_empty or not (self._aside or name in self._pending or name in self._owners)

    @property
    def has_complete(self) -> bool:
        """Whether `complete` has something to say."""
        return bool(self._complete)

    def begin_anew(self) -> None:
        """Forget which ranks have joined."""
        self._joined = {source: Ranks() for source in (self._place.rank, *self._place.children)}
        self._sources = set(self._joined)

    def add(self, source: int, versions: tuple[Version, ...], now_s: float) -> None:
        """A request is announced by this rank, or by all below a child.

        Raises:
            WireError: it was already.
        """
        pending = self._record(source, versions, now_s)
        if pending is not None:
            self._look_at(pending)

    def _record(self, source: int, versions: tuple[Version, ...], now_s: float) -> Pending | None:
        """Record an announcement; return what it is part of, None where that waits."""
        if self._tell_apart is not None:
            for version in versions:
                self._tell_apart(version.request)
        names = list(dict.fromkeys(version.request.name for version in versions))
        for name in names:
            if self._has_said(source, name):
                raise WireError(f"it announced '{name}' twice")
        if any(self._is_decided(name) for name in names):
            self._aside.append((source, versions, now_s))
            return None
        pending = self._pending_of(names, versions, now_s)
        pending.add(source, versions)
        return pending

    def adopt(
        self,
        said: Sequence[tuple[int, tuple[Version, ...]]],
        since_s: float,
        *,
        is_passed_on: bool,
    ) -> None:
        """Record a request for which `is_apart` holds.

        Args:
            said: by whom, and how.
            since_s: when the first of them announced it.
            is_passed_on: all have, and it is not to be told again.
        """
        _, versions = said[0]
        pending = self._pending_of([versions[0].request.name], versions, since_s)
        for source, versions in said:
            pending.add(source, versions)
        pending.is_passed_on = is_passed_on
        self._look_at(pending)

    def _has_said(self, source: int, name: str) -> bool:
        pending = self._pending.get(name)
        if pending is not None and (name, source) in pending.heard:
            return True
        return any(
            one.request.name == name
            for who, versions, _ in self._aside
            for one in versions
            if who == source
        )

    def join(self, source: int, ranks: Ranks) -> None:
        """Record ranks that have joined: they announce no more, and nothing waits for them."""
        if not ranks:
            return
        self._joined[source] |= ranks
        below = self._place.children.get(source)
        if below is None or len(self._joined[source]) == len(below):
            self._sources.discard(source)
            for pending in self._pending.values():
                self._look_at(pending)

    def complete(self) -> list[tuple[Version, ...]]:
        """Return the versions of requests that all have announced since the last call."""
        complete, self._complete = self._complete, []
        return [tuple(pending.versions) for pending in complete]

    def announced(self, name: str) -> Ranks:
        """Return the ranks that announced a request."""
        pending = self._pending.get(name)
        return Ranks() if pending is None else pending.announced

    def is_passed_on(self, name: str) -> bool:
        """Return whether all of this part have announced a request, or none has."""
        pending = self._pending.get(name)
        return pending is None or pending.is_passed_on

    def stalled(self, now_s: float) -> list[Waiting]:
        """Return requests that wait long for ranks of this subtree; others are seen higher up."""
        stalled: list[Waiting] = []
        for name in self._alarms.due(now_s):
            pending = self._pending[name]
            if not pending.is_passed_on:
                waited_ms = round(1000.0 * (now_s - pending.first_s))
                stalled.append(Waiting(name, waited_ms, pending.announced))
        return stalled

    def backdate(self, name: str, since_s: float, now_s: float) -> None:
        """A request waits for longer than was known here."""
        pending = self._pending.get(name)
        if pending is not None and since_s < pending.first_s:
            pending.first_s = since_s
            self._alarms.add(name, since_s, now_s)

    def forget(self, names: Iterable[str]) -> None:
        """Forget released or refused names.

        What shares a tensor with one of them waits on without it. What a child said together with
        one of them is void, and said again: the child hears of it, too.
        """
        gone: set[str] = set()
        torn: dict[int, Pending] = {}
        for name in names:
            gone.add(name)
            pending = self._pending.pop(name, None)
            if pending is None:
                continue
            self._alarms.remove(name)
            if id(pending) not in torn:
                torn[id(pending)] = pending
                self._disown(pending)
        again: list[str] = []
        for pending in torn.values():
            again += self._say_again(pending, gone)
        aside, self._aside = self._aside, []
        for source, versions, since_s in aside:
            if gone.isdisjoint(version.request.name for version in versions):
                self._record(source, versions, since_s)
                again += [version.request.name for version in versions]
        # Not before all is said: some of it may be complete without the rest, since ranks joined.
        for name in again:
            if name in self._pending:
                self._look_at(self._pending[name])

    def _disown(self, pending: Pending) -> None:
        self._complete = [one for one in self._complete if one is not pending]
        for version in pending.versions:
            for tensor in version.request.names:
                if self._owners.get(tensor) == version.request.name:
                    del self._owners[tensor]

    def _say_again(self, pending: Pending, gone: Set[str]) -> list[str]:
        """Record anew what was said of names that are left; return these."""
        left = [name for name in pending.names if self._pending.get(name) is pending]
        for name in left:
            del self._pending[name]
        for source, versions in pending.said if left else ():
            if gone.isdisjoint(version.request.name for version in versions):
                self._record(source, versions, pending.first_s)
        for name in left:
            if name not in self._pending:
                self._alarms.remove(name)
        return left

    def clear(self) -> None:
        """Forget all requests that were announced."""
        self._pending.clear()
        self._owners.clear()
        self._complete.clear()
        self._aside.clear()
        self._alarms.clear()

    def _pending_of(
        self, said: Sequence[str], versions: tuple[Version, ...], now_s: float
    ) -> Pending:
        """Return the pending entry of these names and of others that share a tensor with them."""
        names = dict.fromkeys(said)
        for version in versions:
            for tensor in version.request.names:
                owner = self._owners.get(tensor)
                if owner is None or self._is_decided(owner):
                    # Who shares a tensor with what the root decides already waits for the next.
                    self._owners[tensor] = version.request.name
                else:
                    names[owner] = None
        first, *others = names
        pending = self._get_pending(first, now_s)
        for name in others:
            other = self._get_pending(name, now_s)
            if other is not pending:
                pending.absorb(other)
                for absorbed in other.names:
                    if absorbed in self._pending:
                        self._pending[absorbed] = pending
        return pending

    def _is_decided(self, name: str) -> bool:
        pending = self._pending.get(name)
        return pending is not None and pending.is_passed_on

    def _get_pending(self, name: str, now_s: float) -> Pending:
        if name not in self._pending:
            since_s = self._alarms.since_s(name)
            if since_s is None:
                since_s = now_s
                self._alarms.add(name, now_s)
            self._pending[name] = Pending([name], since_s)
        return self._pending[name]

    def _look_at(self, pending: Pending) -> None:
        if not pending.is_passed_on and pending.is_complete(self._sources):
            pending.is_passed_on = True
            self._complete.append(pending)
