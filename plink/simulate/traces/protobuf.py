"""The few shapes of protocol buffers that execution traces are made of.

A message is fields, each a key (number times 8 plus wire type) and a value: a varint (0), 8 bytes
(1), a length and so many bytes (2), or 4 bytes (5). In a trace every message has its length, a
varint, before it.
"""

from __future__ import annotations

from collections.abc import Iterator

VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5

_MOST_VARINT = 10


class MalformedError(ValueError):
    """Bytes that are no message."""


def varint(number: int) -> bytes:
    """Return a whole number; negative ones as 64 bits, in two's complement."""
    rest = number & 0xFFFF_FFFF_FFFF_FFFF
    found = bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    found.append(rest)
    return bytes(found)


def field(number: int, value: int | bytes | str) -> bytes:
    """Return a field with a whole number, or with text, bytes or another message."""
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(content)) + content


def pack_numbers(number: int, values: list[int]) -> bytes:
    """Return a repeated field of whole numbers."""
    return field(number, b"".join(map(varint, values))) if values else b""


def add_length(message: bytes) -> bytes:
    """Return a message with its length before it."""
    return varint(len(message)) + message


def read_varint(content: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, and where it ends.

    Raises:
        MalformedError: it does not end.
    """
    number = 0
    for place in range(_MOST_VARINT):
        if at + place >= len(content):
            raise MalformedError("ends within a number")
        byte = content[at + place]
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return number & 0xFFFF_FFFF_FFFF_FFFF, at + place + 1
    raise MalformedError("a number of more than 64 bits")


def fields_of(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: number and value, in sequence.

    Raises:
        MalformedError: it is none.
    """
    at = 0
    while at < len(content):
        key, at = read_varint(content, at)
        number, wire = key >> 3, key & 7
        if not number:
            raise MalformedError("a field without a number")
        if wire == VARINT:
            value, at = read_varint(content, at)
            yield number, value
            continue
        if wire == BYTES:
            length, at = read_varint(content, at)
        elif wire in (EIGHT, FOUR):
            length = 8 if wire == EIGHT else 4
        else:
            raise MalformedError(f"a field of wire type {wire}")
        if at + length > len(content):
            raise MalformedError("ends within a field")
        yield number, content[at : at + length]
        at += length


def messages_of(content: bytes) -> Iterator[bytes]:
    """Yield the messages of a file, each with its length before it.

    Raises:
        MalformedError: it ends within one.
    """
    at = 0
    while at < len(content):
        length, at = read_varint(content, at)
        if at + length > len(content):
            raise MalformedError("ends within a message")
        yield content[at : at + length]
        at += length


def unpack_numbers(value: int | bytes) -> list[int]:
    """Return a repeated whole number's values in one field: one of them, or all.

    Raises:
        MalformedError: they do not end.
    """
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = read_varint(value, at)
        found.append(number)
    return found


def to_signed(value: int, bits: int = 64) -> int:
    """Return an int32 or int64 as it was written."""
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low
