"""Derivation of a route from a trace's answers, or of the reason why none is known. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# ICMP types (RFC 792).
UNREACHABLE = 3
TIME_EXCEEDED = 11

# Codes of ICMP type 3 (RFC 792, RFC 1122, RFC 1812).
_UNREACHABLE = {
    0: "network unreachable",
    1: "host unreachable",
    2: "protocol unreachable",
    3: "port unreachable",
    9: "network administratively prohibited",
    10: "host administratively prohibited",
    13: "administratively prohibited",
}


@dataclass(frozen=True)
class ProbeAnswer:
    """Answer to one probe.

    Args:
        is_echo: the probe was an ICMP echo request, and not UDP.
        ttl: the probe's time to live.
        address: the sender of the answer.
        icmp_type, icmp_code: of the answer.
    """

    is_echo: bool
    ttl: int
    address: str
    icmp_type: int
    icmp_code: int


@dataclass(frozen=True)
class Route:
    """Route of `hops` hops through `hops` - 1 routers, None for a router that did not answer."""

    hops: int
    routers: tuple[str | None, ...]


@dataclass(frozen=True)
class NoRoute:
    """Reason why no route is known; `is_silent` if no host or router refused the probes."""

    reason: str
    is_silent: bool


def find_route(answers: Sequence[ProbeAnswer], destination: str, name: str) -> Route | NoRoute:
    """Return the route in the answers of a trace to an address of the host `name`.

    UDP and ICMP echo may be routed differently, so that a route is of one of them: of UDP where it
    arrived.
    """
    for is_echo in (False, True):
        own = [answer for answer in answers if answer.is_echo is is_echo]
        arrived = [
            answer.ttl
            for answer in own
            if answer.address == destination and answer.icmp_type != TIME_EXCEEDED
        ]
        if arrived:
            hops = min(arrived)
            routers = _routers(own)
            return Route(hops, tuple(routers.get(ttl) for ttl in range(1, hops)))
    return _explain(answers, name)


def find_repeated(routers: Iterable[str | None]) -> str | None:
    """Return the first router that occurs more than once."""
    seen: set[str] = set()
    for router in routers:
        if router in seen:
            return router
        if router is not None:
            seen.add(router)
    return None


def _routers(answers: Iterable[ProbeAnswer]) -> dict[int, str]:
    return {answer.ttl: answer.address for answer in answers if answer.icmp_type == TIME_EXCEEDED}


def _explain(answers: Sequence[ProbeAnswer], name: str) -> NoRoute:
    for answer in answers:
        if answer.icmp_type == UNREACHABLE:
            said = _UNREACHABLE.get(answer.icmp_code, f"unreachable (code {answer.icmp_code})")
            return NoRoute(f"{answer.address}, hop {answer.ttl}, says: {said}", is_silent=False)
    for is_echo in (False, True):
        routers = _routers(answer for answer in answers if answer.is_echo is is_echo)
        again = find_repeated(routers[ttl] for ttl in sorted(routers))
        if again is not None:
            first, second, *_ = (ttl for ttl in sorted(routers) if routers[ttl] == again)
            return NoRoute(
                f"packets go in circles: {again} is hop {first} and hop {second}", is_silent=False
            )
    last = max(answers, key=lambda answer: answer.ttl, default=None)
    heard = "nor does a router" if last is None else f"{last.address}, hop {last.ttl}, was the last"
    return NoRoute(f"{name} answers no probe, {heard}", is_silent=True)
