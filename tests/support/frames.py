"""Ethernet frames read in Python, written from the RFCs and not from the agent's code."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

ETH_P_ALL = 3
ETH_IPV4, ETH_ARP, ETH_IPV6 = 0x0800, 0x0806, 0x86DD
UDP, ICMP, ICMPV6 = 17, 1, 58


@dataclass(frozen=True)
class UdpFrame:
    """A frame with a UDP datagram, its checksums summed over as received: 0xffff is right."""

    source: str
    destination: str
    ttl: int
    total_bytes: int  # of the IP packet, as its header says
    ip_checksum: int
    ports: tuple[int, int]
    udp_bytes: int
    udp_checksum: int
    payload: bytes
    padding: bytes


def ones_complement_sum(data: bytes) -> int:
    """RFC 1071, without the final inversion."""
    padded = data + bytes(len(data) % 2)
    total = sum(word for (word,) in struct.iter_unpack("!H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def protocol_of(frame: bytes) -> tuple[int, int]:
    """(Ethernet type, IP protocol or 0)."""
    (kind,) = struct.unpack("!H", frame[12:14])
    return kind, {ETH_IPV4: frame[23], ETH_IPV6: frame[20]}.get(kind, 0)


def read_udp(frame: bytes) -> UdpFrame:
    """The datagram of a frame that has one, without IP options."""
    kind, protocol = protocol_of(frame)
    assert protocol == UDP
    ip = frame[14:]
    if kind == ETH_IPV4:
        header, family, addresses, ttl = 20, socket.AF_INET, ip[12:20], ip[8]
        assert ip[0] == 0x45
        (total,) = struct.unpack("!H", ip[2:4])
        ip_checksum = ones_complement_sum(ip[:20])
    else:
        header, family, addresses, ttl = 40, socket.AF_INET6, ip[8:40], ip[7]
        assert ip[0] >> 4 == 6
        total = 40 + struct.unpack("!H", ip[4:6])[0]
        ip_checksum = 0xFFFF
    udp = ip[header:total]
    half = len(addresses) // 2
    pseudo = addresses + struct.pack("!II", len(udp), UDP)
    source_port, port, udp_bytes, _ = struct.unpack("!HHHH", udp[:8])
    return UdpFrame(
        source=socket.inet_ntop(family, addresses[:half]),
        destination=socket.inet_ntop(family, addresses[half:]),
        ttl=ttl,
        total_bytes=total,
        ip_checksum=ip_checksum,
        ports=(source_port, port),
        udp_bytes=udp_bytes,
        udp_checksum=ones_complement_sum(pseudo + udp),
        payload=udp[8:],
        padding=ip[total:],
    )


def captured(sniffer: socket.socket) -> list[bytes]:
    """The frames that arrived at a packet socket from elsewhere."""
    frames = []
    sniffer.setblocking(False)
    while True:
        try:
            frame, (_, _, kind, *_) = sniffer.recvfrom(2048)
        except BlockingIOError:
            return frames
        if kind != socket.PACKET_OUTGOING:
            frames.append(frame)
