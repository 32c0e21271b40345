"""Queues that a benchmark gives links: what asks for low delay has one of its own."""

from __future__ import annotations

import re
import socket

import pytest

from benchkit.priority_queues import queues
from labkit.fleeting import namespaces
from support.require import require_root

RATE_BITS = 50_000_000
SENT = {0x50: 3, 0x10: 2, 0: 4, 0x48: 1}


@pytest.mark.lab
def test_what_asks_for_low_delay_has_a_queue_of_its_own() -> None:
    require_root()
    with namespaces(2) as (here, there):
        here.run(f"ip link add eth0 type veth peer name eth0 netns {there.pid}")
        for number, host in ((1, here), (2, there)):
            host.run(f"ip address add 10.77.1.{number}/24 dev eth0")
            host.run("ip link set eth0 up")
        for line in queues("eth0", RATE_BITS).splitlines():
            here.run(f"tc {line}")
        with here.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for service, times in SENT.items():
                sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, service)
                for _ in range(times):
                    sender.sendto(b"word", ("10.77.1.2", 9))
        said = here.run("tc -statistics class show dev eth0")
    found = re.findall(r"htb (1:\d+) .*\n.* (\d+) pkt", said)
    packets = {place: int(sent) for place, sent in found}
    assert packets["1:10"] == SENT[0x50] + SENT[0x10]
    # Others, such as neighbours that ask for each other, have the second one, too.
    assert packets["1:20"] >= SENT[0] + SENT[0x48]
    assert re.findall(r"ceil (\S+)", said) == ["50Mbit"] * 3
