"""One DPDK agent and one peer on two sides of a router."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator

import pytest

from labkit.fleeting import Namespace
from support import echo_packet
from support.dpdk_agent import DpdkPeer
from support.frames import (
    ETH_IPV4,
    ETH_IPV6,
    ETH_P_ALL,
    ICMP,
    ICMPV6,
    UDP,
    captured,
    protocol_of,
    read_udp,
)
from support.local_hosts import SECRET
from support.netns import RoutedPair, routed_pair
from support.require import require_dpdk

pytestmark = pytest.mark.lab

ADDRESSES = {"ipv4": ("10.77.1.2", "10.77.2.2"), "ipv6": ("fd77:1::2", "fd77:2::2")}
OWN_ADDRESS = "10.77.1.9"
# A NIC that is DPDK's alone: an interface without an address, of which the kernel makes nothing.
OWN_NIC = ("net_af_packet0,iface=own0", "24", "10.77.1.1")


@pytest.fixture(scope="module")
def pair() -> Iterator[RoutedPair]:
    require_dpdk()
    with routed_pair() as pair:
        yield pair


@pytest.fixture(params=["ipv4", "ipv6", "own nic"])
def peer(pair: RoutedPair, request: pytest.FixtureRequest) -> Iterator[DpdkPeer]:
    if request.param == "own nic":
        peer = DpdkPeer(pair.second, "10.77.2.2", pair.first, OWN_ADDRESS, OWN_NIC)
    else:
        there, here = ADDRESSES[request.param]
        peer = DpdkPeer(pair.second, here, pair.first, there)
    yield peer
    peer.close()


def test_a_virtual_device_of_its_own(pair: RoutedPair) -> None:
    """By DPDK's tap driver, the kernel's end of the tap being the gateway to the other host."""
    here = pair.second

    def join() -> None:
        here.run("ip address add 10.77.5.1/24 dev tap0")
        here.compute_checksums("tap0")

    device = ("net_tap0,iface=tap0", "24", "10.77.5.1")
    peer = DpdkPeer(here, "10.77.2.2", here, "10.77.5.9", device, on_open=join)
    try:
        for sequence in range(10):
            peer.exchange(echo_packet.PROBE, echo_packet.ECHO, sequence)
    finally:
        peer.close()


def sniffer_on(where: Namespace, interface: str) -> socket.socket:
    sniffer = where.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sniffer.bind((interface, ETH_P_ALL))
    return sniffer


def test_its_packets_are_whole_and_cross_the_router(pair: RoutedPair, peer: DpdkPeer) -> None:
    with sniffer_on(pair.second, "eth0") as sniffer:
        peer.exchange(echo_packet.PROBE, echo_packet.ECHO, 7)
        frames = captured(sniffer)
    udp = [read_udp(frame) for frame in frames if protocol_of(frame)[1] == UDP]
    answers = [frame for frame in udp if frame.payload]
    header_bytes = 40 if peer.family == socket.AF_INET6 else 20
    assert answers
    for answer in answers:
        assert (answer.source, answer.destination) == (peer.agent_address, peer.address)
        assert answer.ports == (peer.port, peer.socket.getsockname()[1])
        assert answer.ttl == 63, "64, less the router"
        assert answer.total_bytes == header_bytes + 8 + 32
        assert answer.udp_bytes == 8 + 32
        assert answer.ip_checksum == 0xFFFF
        assert answer.udp_checksum == 0xFFFF
        assert answer.padding == b""
        assert echo_packet.fields(answer.payload)[2:4] == (1, 0)


def test_the_kernel_refuses_nothing(pair: RoutedPair, peer: DpdkPeer) -> None:
    with sniffer_on(pair.second, "eth0") as sniffer:
        for sequence in range(20):
            peer.exchange(echo_packet.PROBE, echo_packet.ECHO, sequence)
        # Destination unreachable: ICMP 3, ICMPv6 1.
        refusals = [
            frame
            for frame in captured(sniffer)
            if (protocol_of(frame) == (ETH_IPV4, ICMP) and frame[34] == 3)
            or (protocol_of(frame) == (ETH_IPV6, ICMPV6) and frame[54] == 1)
        ]
    assert not refusals


def test_a_whole_meeting(peer: DpdkPeer) -> None:
    peer.say("go 5 0\n")
    peer.exchange(echo_packet.HELLO, echo_packet.READY)
    peer.exchange(echo_packet.PROBE, echo_packet.ECHO, 3)
    peer.send(echo_packet.TURN)
    answered = 0
    while answered < 20:
        try:
            message, *_, sequence = echo_packet.fields(peer.socket.recv(2048))
        except TimeoutError:
            continue
        if message == echo_packet.PROBE:
            assert sequence == answered
            peer.send(echo_packet.ECHO, sequence)
            answered += 1
    peer.exchange(echo_packet.BYE, echo_packet.OVER)
    verb, number, partner, sent, received, p10_ns = peer.hear().split()
    assert (verb, number, partner, sent) == ("rtt", "5", "0", "20")
    # An echo that a busy processor delays for several round trips counts as lost.
    assert 10 <= int(received) <= 20
    assert 1_000 < int(p10_ns) < 1_000_000_000
    assert peer.hear().startswith("over 5 0 ")


def test_a_silent_partner_is_given_up(peer: DpdkPeer) -> None:
    peer.say("go 5 0\n")
    assert peer.hear() == "lost 5 0 silent"
    assert peer.hear().startswith("over 5 0 ")


def test_frames_that_are_not_as_they_should_be_get_no_answer(
    pair: RoutedPair, peer: DpdkPeer
) -> None:
    inner = "own0" if peer.agent_address == OWN_ADDRESS else "eth0"
    with (
        sniffer_on(pair.router, f"{inner}-1") as wire,
        sniffer_on(pair.second, "eth0") as sniffer,
    ):
        peer.exchange(echo_packet.PROBE, echo_packet.ECHO, 2)
        good = _frame_to_agent(pair, peer, inner)
        # The agent answers in turn: what it says to the good frame is here, too, after this.
        peer.exchange(echo_packet.PROBE, echo_packet.ECHO, 4)
        captured(sniffer)
        choose = random.Random(1)
        for _ in range(500):
            wire.send(_spoilt(good, choose))
        wire.send(good[: choose.randrange(14, len(good))])
        peer.exchange(echo_packet.PROBE, echo_packet.ECHO, 4)
        answers = [
            read_udp(frame)
            for frame in captured(sniffer)
            if protocol_of(frame)[1] == UDP and len(frame) > 60
        ]
    sequences = {echo_packet.fields(answer.payload)[4] for answer in answers}
    assert sequences == {4}


def _frame_to_agent(pair: RoutedPair, peer: DpdkPeer, interface: str) -> bytes:
    """A frame with a probe of sequence number 9 for the agent, as the router would send it."""
    packet = echo_packet.seal(SECRET, echo_packet.PROBE, 5, (0, 1), 9)
    with sniffer_on(pair.first, interface) as there:
        peer.socket.sendto(packet, (peer.agent_address, peer.port))
        for _ in range(1000):
            for frame in captured(there):
                if packet in frame:
                    return frame
    raise AssertionError("the router passes nothing on")


def _spoilt(frame: bytes, choose: random.Random) -> bytes:
    """With one byte of the IP or UDP header or the payload changed, to what cannot be right."""
    at = choose.randrange(14, len(frame))
    is_v4 = protocol_of(frame)[0] == ETH_IPV4
    # IPv6 has no checksum of its own: its traffic class, flow label and hop limit are free.
    while not is_v4 and at in (14, 15, 16, 17, 21):
        at = choose.randrange(18, len(frame))
    return frame[:at] + bytes([frame[at] ^ (1 << choose.randrange(8))]) + frame[at + 1 :]
