"""Messages on a connection to a server, each length-prefixed and proven.

A frame is 4 bytes of length, 16 of proof (HMAC-SHA256, cut) and the payload: a JSON object,
compressed, and behind it, where both ends know of such, bytes as they are. The proof is over
direction, number and payload, so that nobody without the secret can add, change, repeat or reorder
a message. Messages are not secret.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from plink.base.errors import PlinkError

# A plan of 1,000 ranks has 8 MB of JSON, and some 100 KB compressed.
MOST_BYTES = 8 << 20
MOST_EXPANDED_BYTES = 64 << 20
# Arrays of many numbers travel packed. A megabyte of `[],[],` would take 32 of memory as objects,
# and what unpacks to 64 MB a gigabyte and a half.
MOST_VALUES = 1 << 20

# Of a message's object: the bytes behind it.
DATA = "data"

_LENGTH = struct.Struct(">I")
_NUMBER = struct.Struct(">Q")
_PROOF_BYTES = 16
_HEAD_BYTES = _LENGTH.size + _PROOF_BYTES


class ProtocolError(PlinkError):
    """A peer sent something that no honest one sends."""


class Channel:
    """Channel: an end of an authenticated connection; it knows no socket.

    Args:
        key: of the session, which both ends have.
        is_server: which end this is.
        whose: secret the key was made from, as messages to people call it.
        takes_data: whether messages may have bytes behind them, which are their `DATA` then.
    """

    def __init__(
        self, key: bytes, *, is_server: bool, whose: str = "job", takes_data: bool = False
    ) -> None:
        self._key = key
        self._whose = whose
        self._takes_data = takes_data
        self._out, self._in = (b"d", b"c") if is_server else (b"c", b"d")
        self._sent = 0
        self._received = 0
        self._rest = bytearray()

    def pack(self, payload: bytes) -> bytes:
        """Return the frame of the next message, whose payload is that (`payload_of`)."""
        proof = self._proof(self._out, self._sent, payload)
        self._sent += 1
        return _LENGTH.pack(len(payload)) + proof + payload

    def feed(self, received: bytes) -> list[dict[str, Any]]:
        """Return the messages that are whole with these bytes.

        Raises:
            ProtocolError: a frame is too large, not proven, or not a JSON object.
        """
        self._rest += received
        messages = []
        while len(self._rest) >= _HEAD_BYTES:
            (length,) = _LENGTH.unpack_from(self._rest)
            if length > MOST_BYTES:
                raise ProtocolError(
                    f"a message of {length} bytes, at most {MOST_BYTES} are allowed"
                )
            if len(self._rest) < _HEAD_BYTES + length:
                break
            proof = bytes(self._rest[_LENGTH.size : _HEAD_BYTES])
            payload = bytes(self._rest[_HEAD_BYTES : _HEAD_BYTES + length])
            del self._rest[: _HEAD_BYTES + length]
            if not hmac.compare_digest(proof, self._proof(self._in, self._received, payload)):
                raise ProtocolError(f"a message that was not made with the {self._whose}'s secret")
            self._received += 1
            message, data = _object(payload)
            if data:
                if not self._takes_data or DATA in message:
                    raise ProtocolError("a message with more behind it than there may be")
                message[DATA] = data
            messages.append(message)
        return messages

    def _proof(self, direction: bytes, number: int, payload: bytes) -> bytes:
        signed = direction + _NUMBER.pack(number) + payload
        return hmac.digest(self._key, signed, hashlib.sha256)[:_PROOF_BYTES]


def payload_of(message: Mapping[str, Any]) -> bytes:
    """Return a message as it travels; one that goes to many ranks is made once.

    Args:
        message: as JSON, but that its `DATA` may be bytes, which are sent as they are.

    Raises:
        ProtocolError: it is too large.
    """
    data = message.get(DATA)
    if not isinstance(data, bytes):
        data = b""
    else:
        message = {name: value for name, value in message.items() if name != DATA}
    payload = zlib.compress(json.dumps(message, separators=(",", ":")).encode(), 1) + data
    if len(payload) > MOST_BYTES:
        raise ProtocolError(f"a message of {len(payload)} bytes is too large to send")
    return payload


def _object(payload: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the object, and what is behind it."""
    expander = zlib.decompressobj()
    try:
        text = expander.decompress(payload, MOST_EXPANDED_BYTES)
        if not expander.eof:
            raise ProtocolError("a message that is too large, or not a whole archive")
        if text.count(b",") + text.count(b"[") + text.count(b"{") > MOST_VALUES:
            raise ProtocolError(f"a message of more than {MOST_VALUES:,} values")
        value = json.loads(text.decode("ascii"))
    except (zlib.error, ValueError, RecursionError):
        raise ProtocolError("a message that is not JSON") from None
    if not isinstance(value, dict):
        raise ProtocolError("a message that is not a JSON object")
    return value, expander.unused_data
