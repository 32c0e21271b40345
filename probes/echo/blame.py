"""Telling a host that is silent to everyone from a pair that cannot talk. Pure."""

from __future__ import annotations


class Blame:
    """Collects silences between hosts.

    A host that is silent to `limit` others, one after the other and with no reading in between,
    is held to be silent to all: waiting for it in every remaining pair would cost a run minutes.
    """

    def __init__(self, limit: int = 3) -> None:
        self._limit = limit
        self._silent: dict[int, set[int]] = {}

    def reading(self, source: int, destination: int) -> None:
        """The two hosts can talk."""
        self._silent.pop(source, None)
        self._silent.pop(destination, None)

    def silence(self, source: int, destination: int) -> int | None:
        """The two hosts could not talk. Returns the host that is now held to be silent, if any."""
        for host, other in ((destination, source), (source, destination)):
            silent_to = self._silent.setdefault(host, set())
            silent_to.add(other)
            if len(silent_to) >= self._limit:
                return host
        return None
