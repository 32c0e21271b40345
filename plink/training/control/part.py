"""Announcements of a rank and all ranks below it: by position if known, else by name."""

from __future__ import annotations

from collections.abc import Sequence

from plink.training.control.marks import Marks
from plink.training.control.own import Own
from plink.training.control.ranks import Ranks
from plink.training.control.readiness import Readiness
from plink.training.control.requests import Request
from plink.training.control.settings import Settings
from plink.training.control.shape import Place
from plink.training.control.table import Table
from plink.training.control.tree_messages import Version, Waiting
from plink.training.control.wire import WireError


class Part:
    """Announcements of a subtree with one rank at its top.

    What is announced as it stands in the table, a single tensor with which nothing else is at odds,
    is no more than a mark at its position. As soon as something is at odds with it, or it has
    waited long, it is told apart by who announced what, as everything else.

    Args:
        place: of its highest rank.
        table: of this rank; what it is about to change is `unmark`ed first.
        own: what this rank has announced, but for what is marked.
        settings: of all.
    """

    def __init__(self, place: Place, table: Table, own: Own, settings: Settings) -> None:
        self._rank = place.rank
        self._table = table
        self._own = own
        self._ranks = {place.rank: Ranks.of([place.rank]), **place.children}
        self._marks = Marks(self._ranks)
        warning_s, error_s = settings.stall_warning_s, settings.stall_error_s
        self._named = Readiness(place, warning_s, error_s, self.tell_apart)

    @property
    def wakes_s(self) -> float:
        """Return when something will have stalled; infinity for never."""
        return min(self._named.wakes_s, self._named.first_alarm_s(self._marks.oldest_s))

    def begin_anew(self) -> None:
        """Forget which ranks have joined."""
        self._named.begin_anew()

    def can_mark(self, position: int, request: Request) -> bool:
        """Return whether it is no more than a mark that this is announced, which stood there."""
        return (
            not request.members
            and self._table.now_at(position) is request
            and self._named.is_apart(request.name)
        )

    @property
    def can_mark_all(self) -> bool:
        """Whether that is so of whatever stands anywhere."""
        return self._named.is_empty and not self._table.groups and not self._table.has_changed

    def mark(self, source: int, positions: Sequence[int], now_s: float) -> None:
        """Record table positions announced by this rank, or by all ranks below a child.

        Args:
            source: who.
            positions: of which each `can_mark`.
            now_s: when.

        Raises:
            WireError: one of them was already.
        """
        twice = self._marks.mark(source, positions, now_s)
        if twice is not None:
            raise WireError(f"it announced '{self._table.now_at(twice).name}' twice")

    def announce(self, requests: Sequence[Request], now_s: float) -> bool:
        """Record this rank's requests if all can be marks; return whether they were, all or none.
        all, or none.
        """
        positions: list[int] = []
        for request in requests:
            position = self._table.position(request)
            if position is None or not self.can_mark(position, self._table.now_at(position)):
                return False
            positions.append(position)
        if not self._marks.has_none(self._rank, positions):
            return False
        self._marks.mark(self._rank, positions, now_s)
        return True

    def tell_apart(self, request: Request) -> None:
        """Spell out a mark that conflicts with a request by its name or by one of its tensors."""
        for name in (request.name, *request.names):
            self._unmark(name)

    def add(self, source: int, versions: tuple[Version, ...], now_s: float) -> None:
        """Record announcements by name.

        Raises:
            WireError: it was already.
        """
        self._named.add(source, versions, now_s)

    def join(self, source: int, ranks: Ranks) -> None:
        """Record ranks that have joined: they announce no more, and nothing waits for them."""
        if ranks:
            self._named.join(source, ranks)
            self._marks.look_again()

    def complete_marks(self) -> list[int]:
        """Return positions that all have announced since the last call, ascending."""
        return self._marks.complete(self._named.sources)

    def complete(self) -> list[tuple[Version, ...]]:
        """Return the versions of other requests that are complete since the last call."""
        return self._named.complete()

    def announced(self, name: str) -> Ranks:
        """Return the ranks that announced a request."""
        position = self._table.named(name)
        if position is None or position not in self._marks:
            return self._named.announced(name)
        ranks = Ranks()
        for source in self._marks.sources(position):
            ranks |= self._ranks[source]
        return ranks

    def stalled(self, now_s: float) -> list[Waiting]:
        """Return requests that wait long for ranks of this subtree; others are seen higher up."""
        while self._named.first_alarm_s(self._marks.oldest_s) <= now_s:
            self.unmark(next(iter(self._marks)))
        return self._named.stalled(now_s)

    def backdate(self, name: str, since_s: float, now_s: float) -> None:
        """A request waits for longer than was known here."""
        self._unmark(name)
        self._named.backdate(name, since_s, now_s)

    def release(self, positions: Sequence[int], requests: Sequence[Request]) -> None:
        """Forget released positions and requests."""
        # First, since what is said again would tell them apart.
        self._marks.forget(set(positions))
        if not self._named.is_empty:
            self._named.forget([request.name for request in requests])

    def refuse(self, names: Sequence[str]) -> None:
        """Forget refused names."""
        for name in names:
            self._unmark(name)
        self._named.forget(names)

    def unmark(self, position: int) -> None:
        """Spell out the mark at a position that is in conflict or will be evicted."""
        if position not in self._marks:
            return
        request = self._table.now_at(position)
        said = [
            (source, (Version(request, self._ranks[source]),))
            for source in self._marks.sources(position)
        ]
        since_s = self._marks.since_s(position)
        if self._marks.is_said(self._rank, position):
            self._own.keep(request)
        is_passed_on = self._marks.is_passed_on(position)
        self._marks.forget({position})
        self._named.adopt(said, since_s, is_passed_on=is_passed_on)

    def clear(self) -> None:
        """Forget all requests that ranks of the subtree have announced."""
        self._marks.clear()
        self._named.clear()

    def _unmark(self, name: str) -> None:
        position = self._table.named(name)
        if position is not None:
            self.unmark(position)
