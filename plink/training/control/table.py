"""Table of agreed collectives by position, which messages then name."""

from __future__ import annotations

from plink.training.control.digest import digest
from plink.training.control.requests import Request
from plink.training.control.wire import WireError, Writer


class Table:
    """Positions of requests, equal on all ranks after the same messages of the root.

    A message that came from below may name a position as it was some messages of the root ago: what
    stood there is known until it is forgotten.

    Args:
        remembers: whether such messages come to this rank.
    """

    def __init__(self, *, remembers: bool) -> None:
        self._remembers = remembers
        self._requests: list[Request] = []
        self._positions: dict[str, int] = {}
        self._before: dict[int, list[tuple[int, Request]]] = {}
        # How many stand there that are of several tensors.
        self.groups = 0
        self.digest = 0

    def __len__(self) -> int:
        return len(self._requests)

    def position(self, request: Request) -> int | None:
        """Return the position of exactly this request; None if absent."""
        position = self._positions.get(request.name)
        return position if position is not None and self._requests[position] == request else None

    def named(self, name: str) -> int | None:
        """Return the position of the request with this name, whatever else it says."""
        return self._positions.get(name)

    @property
    def has_changed(self) -> bool:
        """Whether a message may name a position as it was before."""
        return bool(self._before)

    def now_at(self, position: int) -> Request:
        """Return the request at a position."""
        return self._requests[position]

    def at(self, position: int, seen: int) -> Request:
        """Return the request that was at a position once `seen` messages of the root were taken.

        Raises:
            WireError: nothing did.
        """
        for until, request in self._before.get(position, ()):
            if seen < until:
                return request
        if position >= len(self._requests):
            raise WireError(f"nothing is at position {position}")
        return self._requests[position]

    def put(self, position: int, request: Request, message: int) -> None:
        """Let a request stand there from the root's message number `message` on.

        Raises:
            WireError: this position is beyond the next one, or the name has another.
        """
        if position > len(self._requests):
            raise WireError(f"position {position} comes after {len(self._requests)}")
        named = self._positions.get(request.name)
        if named is not None and named != position:
            raise WireError(f"'{request.name}' has position {named}, not {position}")
        if position == len(self._requests):
            self._requests.append(request)
        else:
            old = self._requests[position]
            if self._remembers:
                self._before.setdefault(position, []).append((message, old))
            self._positions.pop(old.name)
            self.groups -= bool(old.members)
            self.digest ^= _digest(position, old)
            self._requests[position] = request
        self._positions[request.name] = position
        self.groups += bool(request.members)
        self.digest ^= _digest(position, request)

    def forget(self, seen: int) -> None:
        """Nobody will name a position as it was before `seen` messages had been taken."""
        for position, befores in list(self._before.items()):
            left = [(until, request) for until, request in befores if until > seen]
            if left:
                self._before[position] = left
            else:
                del self._before[position]


def _digest(position: int, request: Request) -> int:
    writer = Writer()
    writer.request(request)
    return digest(writer.done(), position)
