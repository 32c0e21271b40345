"""Protocol of the trace workers, and the route that a worker's answers show. Pure.

The messages are hostile until parsed. To a worker: its own program, then lines

    begin ADDRESS PORT MAX_HOPS WAIT_S INTERVAL_S    who it is, and the limits of a trace
    trace ADDRESS TRIES                              asks for the route to one destination

From a worker, lines

    ready                                            it can trace
    lacks scapy | lacks privilege                    it cannot, and ends
    failed TEXT                                      it cannot, and ends
    traced ADDRESS [ANSWER]...                       every answer to probes for that destination

An answer is `PROBE TTL = ADDRESS / TYPE . CODE` without the blanks: the probe (`u` for UDP, `e` for
ICMP echo) and its time to live, who answered, and the ICMP type and code of the answer.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plink.probes.errors import ProtocolError, clean

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
    """Answer to one probe of a route: the probe's kind and TTL, who answered, ICMP type and code.

    Args:
        is_echo: the probe was an ICMP echo request, and not UDP.
    """

    is_echo: bool
    ttl: int
    address: str
    icmp_type: int
    icmp_code: int


@dataclass(frozen=True)
class Route:
    """Route to a host: the number of hops, and its routers, None where one did not answer."""

    hops: int
    routers: tuple[str | None, ...]


@dataclass(frozen=True)
class NoRoute:
    """Reason why a route is not known; `is_silent` if nobody reported an error."""

    reason: str
    is_silent: bool


def find_route(answers: Sequence[ProbeAnswer], destination: str, name: str) -> Route | NoRoute:
    """Return the route that a trace's answers show to a host's address, or why there is none.

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
    """Return the first router that occurs twice in a route, so that it has a loop; or None."""
    counts = Counter(router for router in routers if router is not None)
    return next((router for router, count in counts.items() if count > 1), None)


def _routers(answers: Iterable[ProbeAnswer]) -> dict[int, str]:
    return {answer.ttl: answer.address for answer in answers if answer.icmp_type == TIME_EXCEEDED}


def _explain(answers: Sequence[ProbeAnswer], name: str) -> NoRoute:
    for answer in answers:
        if answer.icmp_type == UNREACHABLE:
            meaning = _UNREACHABLE.get(answer.icmp_code, f"unreachable (code {answer.icmp_code})")
            return NoRoute(f"{answer.address}, hop {answer.ttl}, says: {meaning}", is_silent=False)
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


MAX_HOPS = 255
# Reads the program from its input, so that nothing is left on the host; the rest is the worker's.
_BOOTSTRAP = "import sys; exec(sys.stdin.read(int(sys.stdin.readline())))"
_ANSWER = re.compile(r"([ue])(\d{1,3})=([0-9.]{7,15})/(\d{1,3})\.(\d{1,3})", re.ASCII)


@dataclass(frozen=True)
class Ready:
    """Message of a trace worker: it is ready to trace."""


@dataclass(frozen=True)
class Unable:
    """Message of a trace worker: it cannot trace, and why; it exits."""

    reason: str


@dataclass(frozen=True)
class Traced:
    """Message of a trace worker: the answers to all probes of one destination."""

    destination: str
    answers: tuple[ProbeAnswer, ...]


WorkerMessage = Ready | Unable | Traced


def start_command(python: str) -> str:
    """Return the shell command that starts a trace worker with a host's Python."""
    return f"exec {shlex.quote(python)} -c {shlex.quote(_BOOTSTRAP)}"


@dataclass(frozen=True)
class TraceLimits:
    """Limits of one trace: UDP port, number of hops, seconds to wait, and between probes.

    Args:
        port: the UDP port of the probes, at both ends.
        interval_s: seconds between a host's probes: routers limit how many errors they send.
    """

    port: int
    max_hops: int
    wait_s: float
    interval_s: float = 0.002

    def longest_s(self, tries: int) -> float:
        """Return how many seconds a trace may take: `tries` times by UDP, once by ICMP."""
        return (tries + 1) * (self.max_hops * self.interval_s + self.wait_s)


def opening(program: str, address: str, limits: TraceLimits) -> str:
    """Return the first text for a trace worker: its program, the host's address and limits."""
    words = f"{limits.port} {limits.max_hops} {limits.wait_s:.3f} {limits.interval_s:.3f}"
    return f"{len(program)}\n{program}begin {address} {words}\n"


def request(address: str, tries: int) -> str:
    """Return the line that asks a worker for a route, probing silent hops `tries` times."""
    return f"trace {address} {tries}\n"


def parse_message(line: str, python: str) -> WorkerMessage:
    """Parse one line of a trace worker's output into a message.

    Raises:
        ProtocolError: not a line of a worker.
    """
    word, _, rest = line.partition(" ")
    if word == "ready" and not rest:
        return Ready()
    if word == "failed" and rest:
        return Unable(clean(f"cannot trace from its address: {rest}"))
    if word == "lacks" and rest in _LACKING:
        return Unable(_LACKING[rest].format(python=python))
    if word == "traced" and rest:
        destination, *answers = rest.split(" ")
        return Traced(_address(destination), tuple(map(_parse_answer, answers)))
    raise ProtocolError(clean(f"its trace worker said {line!r}"))


_LACKING = {
    "scapy": "its {python} has no scapy: pip install scapy there, or name another remote Python",
    "privilege": "tracing takes raw sockets: log in there as root, or give its {python} the "
    "capability CAP_NET_RAW",
}


def _parse_answer(word: str) -> ProbeAnswer:
    match = _ANSWER.fullmatch(word)
    if match is None:
        raise ProtocolError(clean(f"its trace worker reports {word!r}"))
    ttl, icmp_type, code = (int(match[place]) for place in (2, 4, 5))
    if not (1 <= ttl <= MAX_HOPS and icmp_type <= 255 and code <= 255):
        raise ProtocolError(clean(f"its trace worker reports {word!r}"))
    return ProbeAnswer(match[1] == "e", ttl, _address(match[3]), icmp_type, code)


def _address(text: str) -> str:
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise ProtocolError(clean(f"its trace worker reports {text!r}")) from None
