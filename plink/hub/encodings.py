"""Encodings of numbers on the wire: float32 or fewer bits, in numpy as in the native code.

bfloat16 and float16 are rounded to nearest, ties to even; too large for float16 becomes infinite.
int8 has a float32 scale before a chunk's numbers, the largest magnitude over 127: a number x
travels as the whole number nearest to x / scale, at most 127 either way. A chunk with an infinity
or NaN has NaN for a scale, so that whoever looks for such numbers still finds them.
"""

from __future__ import annotations

import numpy as np

from plink.base.errors import WrongUseError
from plink.hub.reference import Floats
from plink.hub.service import WIRES

_ITEM_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int8": 1}
_SCALE_BYTES = 4
_MOST = 127.0
# Times 127 it is still finite; the greatest float32 over 127, rounded, is not.
_MOST_SCALE = np.float32(2.6793884e36)


def encoded_bytes(wire: str, items: int) -> int:
    """Return the size of a chunk of `items` numbers on the wire, in bytes, without its header."""
    return items * _ITEM_BYTES[wire] + _SCALE_BYTES * (wire == "int8")


def encode(wire: str, values: Floats) -> bytes:
    """Encode a chunk's numbers for the wire, little-endian.

    Args:
        wire: one of `plink.hub.service.WIRES`.
        values: of shape (items,).
    """
    if wire == "float32":
        return values.astype("<f4").tobytes()
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        if wire == "bfloat16":
            return _to_bfloat16(values).astype("<u2").tobytes()
        if wire == "float16":
            return values.astype("<f2").tobytes()
        scale = np.float32(np.abs(values).max(initial=np.float32(0.0)) / np.float32(_MOST))
        whole = np.zeros(len(values), np.int8)
        if not np.isfinite(scale):
            scale = np.float32(np.nan)
        elif scale > 0.0:
            scale = min(scale, _MOST_SCALE)
            whole = np.clip(np.rint(values / scale), -_MOST, _MOST).astype(np.int8)
        return np.array(scale, "<f4").tobytes() + whole.tobytes()


def decode(wire: str, data: bytes, items: int) -> Floats:
    """Decode the output of `encode`; numbers are as exact as the wire's type.

    Raises:
        WrongUseError: there are not as many bytes as such a chunk has.
    """
    if wire not in WIRES or len(data) != encoded_bytes(wire, items):
        raise WrongUseError(f"{len(data)} bytes are not {items} numbers of type {wire[:20]}")
    if wire == "float32":
        return np.frombuffer(data, "<f4").astype(np.float32)
    if wire == "bfloat16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    if wire == "float16":
        return np.frombuffer(data, "<f2").astype(np.float32)
    scale = np.frombuffer(data, "<f4", 1).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return np.frombuffer(data, np.int8, items, _SCALE_BYTES).astype(np.float32) * scale


def _to_bfloat16(values: Floats) -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
    bits = values.view(np.uint32)
    rounded = (bits + (((bits >> 16) & 1) + np.uint32(0x7FFF))) >> 16
    # Rounding up could carry a NaN into another number.
    quiet = ((bits >> 16) & 0x8000) | 0x7FC0
    return np.where(np.isnan(values), quiet, rounded).astype(np.uint16)
