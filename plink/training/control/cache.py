"""Response cache: requests that all ranks have released, by position (Romero et al., 3.1.1)."""

from __future__ import annotations

from collections import OrderedDict

from plink.training.control.digest import digest, mix_bits
from plink.training.control.requests import Request
from plink.training.control.wire import WireError, Writer


class Cache:
    """Cache of requests, equal on all ranks after the same responses; evicts the oldest use.

    Args:
        bound: positions that there are.
    """

    def __init__(self, bound: int) -> None:
        self.bound = bound
        self._requests: list[Request] = []
        self._sums: list[int] = []
        self._positions: dict[str, int] = {}
        # Of each tensor, the request that it belongs to.
        self._owners: dict[str, str] = {}
        # Least recently used first.
        self._ages: OrderedDict[str, None] = OrderedDict()
        # Counts changes after which a position may mean something else.
        self.changes = 0

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def digest(self) -> int:
        """Digest of the entries and of the order in which they are evicted."""
        value = self.bound
        for name in self._ages:
            position = self._positions[name]
            value = mix_bits(value ^ self._sums[position] ^ position)
        return value

    def position(self, request: Request) -> int | None:
        """Return the position of exactly this request; None if absent. Does not count as a use."""
        position = self._positions.get(request.name)
        return position if position is not None and self._requests[position] == request else None

    def contradicted(self, request: Request) -> list[int]:
        """Positions of what cannot be while this request is: of its name, or with its tensors."""
        if self.position(request) is not None:
            return []
        names = {self._owners[tensor] for tensor in request.names if tensor in self._owners}
        if request.name in self._positions:
            names.add(request.name)
        return sorted(self._positions[name] for name in names)

    def at(self, position: int) -> Request:
        """Return the request at a position. Does not count as a use.

        Raises:
            WireError: nothing does.
        """
        if position >= len(self._requests):
            raise WireError(f"nothing is at position {position}")
        return self._requests[position]

    def put(self, request: Request) -> str | None:
        """Record a released request, which counts as a use; return the name it evicted, if any."""
        if self.position(request) is not None:
            self._ages.move_to_end(request.name)
            return None
        evicted = None
        self.changes += 1
        position = self._positions.get(request.name, len(self._requests))
        if position >= self.bound:
            evicted = next(iter(self._ages))
            position = self._positions[evicted]
        if position == len(self._requests):
            self._requests.append(request)
            self._sums.append(_sum(request))
        else:
            self._forget(self._requests[position])
            self._requests[position] = request
            self._sums[position] = _sum(request)
        self._positions[request.name] = position
        self._owners.update(dict.fromkeys(request.names, request.name))
        self._ages[request.name] = None
        return evicted

    def erase(self, positions: list[int]) -> None:
        """Erase the entries at these positions; later entries move up.

        Raises:
            WireError: nothing stands there.
        """
        if not positions:
            return
        self.at(positions[-1])
        self.changes += 1
        for position in positions:
            self._forget(self._requests[position])
        gone = set(positions)
        kept = [i for i in range(len(self._requests)) if i not in gone]
        self._requests = [self._requests[i] for i in kept]
        self._sums = [self._sums[i] for i in kept]
        self._positions = {request.name: i for i, request in enumerate(self._requests)}

    def _forget(self, request: Request) -> None:
        del self._positions[request.name]
        del self._ages[request.name]
        for tensor in request.names:
            if self._owners.get(tensor) == request.name:
                del self._owners[tensor]


def _sum(request: Request) -> int:
    writer = Writer()
    writer.request(request)
    return digest(writer.done(), 0)
