"""The echo packet in Python, written from the agent's description and not from its code."""

from __future__ import annotations

import struct

HELLO, READY, KNOCK, WAIT, PAST, PROBE, ECHO, TURN, OVER, BYE = range(1, 11)
_MASK = (1 << 64) - 1


def siphash(key: bytes, data: bytes) -> int:
    """SipHash-2-4 of `data` under a 16-byte key."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D]
    v += [k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rotate(x: int, bits: int) -> int:
        return ((x << bits) | (x >> (64 - bits))) & _MASK

    def mix(rounds: int) -> None:
        for _ in range(rounds):
            v[0] = (v[0] + v[1]) & _MASK
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & _MASK
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & _MASK
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & _MASK
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        mix(2)
        v[0] ^= word
    v[2] ^= 0xFF
    mix(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def seal(secret_hex: str, message: int, number: int, ends: tuple[int, int], sequence: int) -> bytes:
    """A packet from one end to the other, with its proof.

    `secret_hex` is 32 hexadecimal digits, high half first.
    """
    head = struct.pack("<IBBxxIIII", 0x706C6E6B, 1, message, number, *ends, sequence)
    key = int(secret_hex, 16).to_bytes(16, "little")
    return head + struct.pack("<Q", siphash(key, head))


def fields(packet: bytes) -> tuple[int, int, int, int, int]:
    """(message, round, source, destination, sequence) of a packet."""
    _, _, message, number, source, to, sequence = struct.unpack("<IBBxxIIII", packet[:24])
    return message, number, source, to, sequence
