"""Encoding of types and sizes, which all ranks must call alike, as numbers to compare."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Sequence

import torch

from plink.engine.calls import DTYPES


@functools.cache
def type_code(dtype: torch.dtype) -> int:
    """Return a 16-bit code of a type, from 1 on: unique to it, and the same in every process."""
    return zlib.crc32(str(dtype).encode()) % 65_521 + 1


def layout_of(sizes: Sequence[int]) -> int:
    """Return a 64-bit hash of the sizes of tensors reduced as one buffer; 0 for one tensor."""
    if len(sizes) < 2:
        return 0
    data = repr(tuple(sizes)).encode()
    return zlib.crc32(data) << 32 | zlib.adler32(data)


def engine_type(dtype: torch.dtype) -> str | None:
    """Return the engine's name of a type; None if it has none."""
    name = str(dtype).removeprefix("torch.")
    return name if name in DTYPES else None
