"""Which connections ask queues on the way to send what is on them first."""

from __future__ import annotations

import socket
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from engine.forests import stars
from engine.group import group

# AF22 (RFC 4594), which includes the older "low delay" (IPTOS_LOWDELAY, 0x10); and
# TC_PRIO_INTERACTIVE.
LOW_DELAY = (0x50, 6)
NOTHING = (0, 0)


def asked_by_descriptor() -> dict[int, tuple[int, int]]:
    """The type of service and the priority of this process's connections of TCP."""
    found = {}
    for entry in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        try:
            one = socket.socket(fileno=entry)
        except OSError:
            continue
        with suppress(OSError):
            one.getpeername()
            if one.family == socket.AF_INET:
                service = one.getsockopt(socket.IPPROTO_IP, socket.IP_TOS)
                found[entry] = service, priority_of(one)
            elif one.family == socket.AF_INET6:
                service = one.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS)
                found[entry] = service, priority_of(one)
        # It is another's.
        one.detach()
    return found


def priority_of(one: socket.socket) -> int:
    return one.getsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_control_connections_ask_for_low_delay_and_those_of_data_do_not(address: str) -> None:
    before = asked_by_descriptor()
    with group(stars(2), addresses=(address,), shared_memory=False, workers=2) as ranks:
        data = sum(ranks.on_all(lambda engine: len(engine.statistics().connections)))
        asked = Counter(how for fd, how in asked_by_descriptor().items() if fd not in before)
    assert data == 4
    assert asked == {LOW_DELAY: 2, NOTHING: data}
