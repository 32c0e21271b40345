"""Limit the callers who wait at a port before they have authenticated. Knows no sockets."""

from __future__ import annotations

import ipaddress
import resource
from collections.abc import Callable

# In the handshake, beside those that are expected.
_MOST_STRANGERS = 256


class Caller:
    """Caller that has connected.

    Args:
        source: where from (`source_of`).
        leave: called to close the connection.
    """

    def __init__(self, source: str, leave: Callable[[], None]) -> None:
        self.source = source
        self.leave = leave
        self.has_greeted = False
        self.is_dismissed = False


class Door:
    """Lets everybody in; where too many wait, the oldest of the most crowded address goes.

    Ranks may all share one address. Whoever is a rank says so at once, so who has waited longest
    without a word is least likely one; only where all have said something does one of them go.

    Args:
        most: callers that wait at a time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # By whether they have greeted and by source, the oldest first.
        self._waiting: dict[bool, dict[str, dict[Caller, None]]] = {False: {}, True: {}}
        self.count = 0

    def enter(self, source: str, leave: Callable[[], None]) -> Caller:
        """Admit a caller; another one may have to leave for it."""
        if self.count == self._most:
            self._dismiss_one()
        caller = Caller(source, leave)
        self._add(caller)
        return caller

    def greeted(self, caller: Caller) -> None:
        """Record that a caller sent the greeting that only honest callers and insiders know."""
        if self._remove(caller):
            caller.has_greeted = True
            self._add(caller)

    def left(self, caller: Caller) -> None:
        """Record that a caller waits no more: it has authenticated, or is gone."""
        self._remove(caller)

    def _add(self, caller: Caller) -> None:
        of_sources = self._waiting[caller.has_greeted]
        of_sources.setdefault(caller.source, {})[caller] = None
        self.count += 1

    def _remove(self, caller: Caller) -> bool:
        of_sources = self._waiting[caller.has_greeted]
        of_source = of_sources.get(caller.source, {})
        if caller not in of_source:
            return False
        del of_source[caller]
        if not of_source:
            del of_sources[caller.source]
        self.count -= 1
        return True

    def _dismiss_one(self) -> None:
        crowded = max((self._waiting[False] or self._waiting[True]).values(), key=len)
        caller = next(iter(crowded))
        self._remove(caller)
        caller.is_dismissed = True
        caller.leave()


def source_of(address: str) -> str:
    """Return the unit that limits count: an IPv4 address, or the /64 network of an IPv6 address.

    Whoever has one address of such a network has them all.
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    if parsed.is_link_local or parsed.is_loopback:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, 64), strict=False))


def most_strangers(expected: int) -> int:
    """Return how many connections may be in the handshake, so that enough descriptors are left.

    Args:
        expected: honest callers at a time.
    """
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(_MOST_STRANGERS + expected, max(1, descriptors // 4))
