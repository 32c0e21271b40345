"""Bytes of the machines' messages: numbers of seven bits a byte, texts with their length."""

from __future__ import annotations

import struct

from plink.training.control.ranks import Ranks
from plink.training.control.requests import (
    ITEM_BYTES,
    MOST_DIMENSIONS,
    MOST_NAME_BYTES,
    MOST_TENSOR_BYTES,
    MOST_TENSORS,
    Request,
    Tensor,
)

MOST_MESSAGE_BYTES = 64 << 20
_MOST_NUMBER = 2**63 - 1
_MOST_TEXT_BYTES = 65_536
_MOST_SPANS = 65_536
_DTYPES = tuple(ITEM_BYTES)


class WireError(ValueError):
    """The bytes are not a message that a rank sends."""


class Writer:
    """Puts one message together."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def number(self, value: int) -> None:
        """Not negative, at most 63 bits."""
        while value >= 0x80:
            self._bytes.append(value & 0x7F | 0x80)
            value >>= 7
        self._bytes.append(value)

    def text(self, value: str) -> None:
        """Write a text of at most 64 KB of UTF-8."""
        encoded = value.encode()
        self.number(len(encoded))
        self._bytes += encoded

    def real(self, value: float) -> None:
        """A number of 64 bits, as it is in memory."""
        self._bytes += struct.pack("<d", value)

    def ranks(self, value: Ranks) -> None:
        """Encode ranks as spans, each by the gap before it and its length."""
        self.number(len(value.spans))
        end = 0
        for first, last in value.spans:
            self.number(first - end)
            self.number(last - first)
            end = last + 1

    def request(self, value: Request) -> None:
        """All of it."""
        self.text(value.name)
        self.number(len(value.tensors))
        for tensor in value.tensors:
            self.number(_DTYPES.index(tensor.dtype))
            self.number(len(tensor.shape))
            for size in tensor.shape:
                self.number(size)
        self.number(len(value.members))
        for name in value.members:
            self.text(name)
        for text in (value.kind, value.op, value.device):
            self.text(text)
        self.real(value.prescale)
        self.real(value.postscale)
        self.number(value.root + 1)

    def done(self) -> bytes:
        """Return the message."""
        return bytes(self._bytes)


class Reader:
    """Reader of one message; raises `WireError` for whatever no `Writer` has written."""

    def __init__(self, message: bytes) -> None:
        if len(message) > MOST_MESSAGE_BYTES:
            raise WireError("a message is too long")
        self._bytes = message
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        """Whether all is read."""
        return self._at == len(self._bytes)

    def rest(self) -> bytes:
        """Return all that is not read yet."""
        return self._take(len(self._bytes) - self._at)

    def number(self, most: int = _MOST_NUMBER) -> int:
        """Return at most `most`."""
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 56:
                raise WireError("a number is too long")
        if value > most:
            raise WireError(f"a number is {value}, at most {most} can be")
        if byte == 0 and shift:
            raise WireError("a number is longer than it has to be")
        return value

    def text(self, most_bytes: int = _MOST_TEXT_BYTES) -> str:
        """UTF-8."""
        try:
            return self._take(self.number(most_bytes)).decode()
        except UnicodeDecodeError:
            raise WireError("a text is not UTF-8") from None

    def real(self) -> float:
        """Neither infinite nor no number."""
        value: float = struct.unpack("<d", self._take(8))[0]
        if value - value != 0.0:
            raise WireError("a factor is no finite number")
        return value

    def ranks(self, ranks: int) -> Ranks:
        """Below `ranks`."""
        spans: list[tuple[int, int]] = []
        end = 0
        for i in range(self.number(_MOST_SPANS)):
            gap = self.number(ranks)
            if i and not gap:
                raise WireError("two spans of ranks are one")
            first = end + gap
            last = first + self.number(ranks)
            if last >= ranks:
                raise WireError(f"there is no rank {last} among {ranks}")
            spans.append((first, last))
            end = last + 1
        return Ranks(tuple(spans))

    def request(self) -> Request:
        """Return all of it."""
        name = self.text(MOST_NAME_BYTES)
        tensors = tuple(self._tensor() for _ in range(self.number(MOST_TENSORS)))
        members = tuple(self.text(MOST_NAME_BYTES) for _ in range(self.number(MOST_TENSORS)))
        if not tensors or (members and len(members) != len(tensors)):
            raise WireError("a request's tensors and names differ in number")
        kind, op, device = self.text(), self.text(), self.text()
        prescale, postscale = self.real(), self.real()
        root = self.number(2**31) - 1
        return Request(name, tensors, members, kind, op, device, prescale, postscale, root)

    def _tensor(self) -> Tensor:
        dtype = _DTYPES[self.number(len(_DTYPES) - 1)]
        shape = tuple(self.number() for _ in range(self.number(MOST_DIMENSIONS)))
        tensor = Tensor(dtype, shape)
        if tensor.size_bytes > MOST_TENSOR_BYTES:
            raise WireError("a tensor has more bytes than can be")
        return tensor

    def _take(self, size: int) -> bytes:
        if self._at + size > len(self._bytes):
            raise WireError("a message ends too soon")
        taken = self._bytes[self._at : self._at + size]
        self._at += size
        return taken
