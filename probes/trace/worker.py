"""Trace worker: the program that plink runs on a host to trace routes with scapy.

It is alone on the host: nothing but scapy and the standard library, Python 3.8 or later. Words in,
words out, a line each (`plink.probes.trace.protocol`); it ends with its input.

The probes of a trace are one flow (Paris traceroute: Augustin et al., IMC 2006): ports and
checksums are the same for every time to live, so that equal-cost routing sends all of them the same
way. What tells them apart is the identification in the IP header, which routers quote.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

if __name__ == "__main__":
    # scapy would leave a cache in the user's home.
    os.environ["XDG_CACHE_HOME"] = os.environ["XDG_CONFIG_HOME"] = "/dev/null/none"
logging.getLogger("scapy").setLevel(logging.CRITICAL)

UDP_PROBE = "u"
ECHO_PROBE = "e"
# ICMP types (RFC 792).
ECHO_REPLY = 0
UNREACHABLE = 3
ECHO_REQUEST = 8
TIME_EXCEEDED = 11
# How long a router may take once the destination, which is farther, has answered.
LEAST_GRACE_S = 0.2
GRACE_FACTOR = 4


@dataclass(frozen=True)
class Options:
    """Arguments of the trace worker: the host's address, the UDP port to probe, the limits."""

    address: str
    port: int
    max_hops: int
    wait_s: float
    interval_s: float


class Tracer:
    """Tracer of routes from one host's address, with raw sockets for probes and answers."""

    def __init__(self, options: Options) -> None:
        """Open raw sockets; raise PermissionError unless this is root."""
        self.options = options
        self.echo_id = int.from_bytes(os.urandom(2), "big")
        self.sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.receiver = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        for raw in (self.sender, self.receiver):
            raw.bind((options.address, 0))
        self.receiver.setblocking(False)

    def trace(self, destination: str, tries: int) -> list[str]:
        """Return the answers to UDP probes, and to ICMP echo if UDP did not reach the host."""
        words: list[str] = []
        for kind in (UDP_PROBE, ECHO_PROBE):
            sweep = Sweep(self, destination, kind)
            for _ in range(tries):
                sweep.run()
                # Who answers no echo at first is not asked again: UDP had as many tries as wanted.
                is_hopeless = sweep.is_refused or (kind == ECHO_PROBE and not sweep.hops)
                if is_hopeless or sweep.is_complete():
                    break
            words += sweep.words()
            if sweep.hops:
                break
        return words


class Sweep:
    """Probes of one kind (UDP or ICMP echo) to one destination, one per time to live (TTL)."""

    def __init__(self, tracer: Tracer, destination: str, kind: str) -> None:
        self.tracer = tracer
        self.destination = destination
        self.kind = kind
        # Time to live to (address, ICMP type, ICMP code) of who answered.
        self.answers: dict[int, tuple[str, int, int]] = {}
        # The least time to live that the destination itself answered; 0 before it did.
        self.hops = 0
        # Whether somebody on the way says that there is no way.
        self.is_refused = False
        self._ttl_of_id: dict[int, int] = {}
        self._sent_s: dict[int, float] = {}
        self._rtt_s = 0.0
        self._id = int.from_bytes(os.urandom(2), "big")

    def is_complete(self) -> bool:
        """Return whether the destination and every router before it have answered."""
        return self.hops > 0 and not self._missing()

    def run(self) -> None:
        """Send a probe for each TTL without an answer, nearest first, and wait for answers."""
        known_hops = self.hops
        for ttl in self._missing():
            if self.is_refused or 0 < self.hops < ttl:
                break
            self._send(ttl)
            self._listen(self.tracer.options.interval_s, lambda: self.hops != known_hops)
        wait_s = self.tracer.options.wait_s
        began = time.monotonic()
        self._listen(wait_s, lambda: self.hops > 0 or self.is_refused)
        if self.hops:
            grace_s = min(wait_s, max(LEAST_GRACE_S, GRACE_FACTOR * self._rtt_s))
            self._listen(began + grace_s - time.monotonic(), self.is_complete)

    def words(self) -> list[str]:
        """Return every answer as `PROBE TTL=ADDRESS/TYPE.CODE`, without the blank."""
        return [
            f"{self.kind}{ttl}={address}/{icmp_type}.{code}"
            for ttl, (address, icmp_type, code) in sorted(self.answers.items())
        ]

    def _missing(self) -> list[int]:
        last = self.hops - 1 if self.hops else self.tracer.options.max_hops
        return [ttl for ttl in range(1, last + 1) if ttl not in self.answers]

    def _send(self, ttl: int) -> None:
        # Zero would be replaced by the kernel.
        self._id = self._id % 0xFFFF + 1
        options = self.tracer.options
        packet = IP(src=options.address, dst=self.destination, ttl=ttl, id=self._id)
        if self.kind == UDP_PROBE:
            packet = packet / UDP(sport=options.port, dport=options.port) / Raw(b"plink")
        else:
            # The payload balances the sequence number in the checksum.
            balance = (0xFFFF - ttl).to_bytes(2, "big")
            echo = ICMP(type=ECHO_REQUEST, id=self.tracer.echo_id, seq=ttl)
            packet = packet / echo / Raw(balance)
        self._ttl_of_id[self._id] = ttl
        self._sent_s[ttl] = time.monotonic()
        # Where there is no way, or no room in a queue, it stays unanswered.
        with contextlib.suppress(OSError):
            self.tracer.sender.sendto(bytes(packet), (self.destination, 0))

    def _listen(self, wait_s: float, is_enough: Callable[[], bool]) -> None:
        end_s = time.monotonic() + wait_s
        while not is_enough():
            left_s = max(0.0, end_s - time.monotonic())
            if not select.select([self.tracer.receiver], [], [], left_s)[0]:
                return
            try:
                self._take(IP(self.tracer.receiver.recv(4096)))
            except OSError:
                continue

    def _take(self, packet: Packet) -> None:
        """Record an ICMP message if it answers one of this sweep's probes (it may be forged)."""
        icmp = packet.getlayer(ICMP)
        ttl = None if icmp is None else self._ttl_answered(packet.src, icmp)
        if icmp is None or ttl is None or ttl in self.answers:
            return
        self._rtt_s = max(self._rtt_s, time.monotonic() - self._sent_s[ttl])
        self.answers[ttl] = (packet.src, icmp.type, icmp.code)
        if icmp.type == TIME_EXCEEDED:
            return
        if packet.src == self.destination:
            self.hops = min(ttl, self.hops or ttl)
        else:
            self.is_refused = True

    def _ttl_answered(self, sender: str, icmp: Packet) -> int | None:
        """Return the time to live of the probe that an ICMP message answers; None for others."""
        if icmp.type == ECHO_REPLY:
            is_ours = sender == self.destination and icmp.id == self.tracer.echo_id
            sent = self._sent_s if self.kind == ECHO_PROBE else {}
            return icmp.seq if is_ours and icmp.seq in sent else None
        quoted = icmp.getlayer(IPerror)
        if icmp.type not in (UNREACHABLE, TIME_EXCEEDED) or quoted is None:
            return None
        protocol = socket.IPPROTO_UDP if self.kind == UDP_PROBE else socket.IPPROTO_ICMP
        is_ours = quoted.dst == self.destination and quoted.proto == protocol
        return self._ttl_of_id.get(quoted.id) if is_ours else None


def read_input(lines: queue.SimpleQueue[str]) -> None:
    """Put the lines of standard input into a queue; exit the process when it is closed."""
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)


def say(*words: str) -> None:
    """Print a line for the coordinator; exit the process if nobody reads it."""
    try:
        sys.stdout.write(" ".join(words) + "\n")
        sys.stdout.flush()
    except OSError:
        os._exit(0)


def main() -> None:
    """Read the options, then trace one requested destination after the other."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=read_input, args=(lines,), daemon=True).start()
    _, address, port, max_hops, *seconds = lines.get().split()
    try:
        tracer = Tracer(Options(address, int(port), int(max_hops), *map(float, seconds)))
    except PermissionError:
        say("lacks", "privilege")
        return
    except OSError as error:
        say("failed", str(error))
        return
    say("ready")
    while True:
        _, destination, tries = lines.get().split()
        say("traced", destination, *tracer.trace(destination, int(tries)))


try:
    from scapy.layers.inet import ICMP, IP, UDP, IPerror
    from scapy.packet import Packet, Raw
except ImportError:
    say("lacks", "scapy")
else:
    if __name__ == "__main__":
        main()
