"""Compact text encoding of a forest for messages and key-value stores.

Base 64 of `<II?` (routes R, ranks P, whether the broadcast trees are the reduction trees), followed
by zlib data: R weights as float64, then the parents of the trees as int32, all little-endian. A
plan of 1,000 ranks has millions of parents, which JSON's own numbers would take seconds for.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from plink.base.expanding import expand
from plink.plans.check import check
from plink.plans.forest import Forest, make_forest

# Parents of one kind of trees: 4,096 ranks with a route each.
MAX_PARENTS = 1 << 24

_HEAD = struct.Struct("<II?")


def encode_forest(forest: Forest) -> str:
    """Encode a forest as text (Base64 of compressed arrays) for messages and key-value stores."""
    reduce, broadcast = forest.reduce_parents, forest.broadcast_parents
    is_alike = np.array_equal(reduce, broadcast)
    parts = [np.asarray(forest.weights, dtype="<f8"), np.asarray(reduce, dtype="<i4")]
    if not is_alike:
        parts.append(np.asarray(broadcast, dtype="<i4"))
    packed = zlib.compress(b"".join(part.tobytes() for part in parts), 1)
    head = _HEAD.pack(forest.routes, forest.ranks, is_alike)
    return base64.b64encode(head + packed).decode()


def decode_forest(text: str, ranks: int, max_parents: int = MAX_PARENTS) -> Forest:
    """Decode and check a forest that `encode_forest` encoded; the text may be hostile.

    Args:
        text: untrusted text.
        ranks: number of ranks that it has to have.
        max_parents: largest number of routes times ranks.

    Raises:
        ValueError: it is not a valid forest over these ranks, or too large.
    """
    content = base64.b64decode(text, validate=True)
    if len(content) < _HEAD.size:
        raise ValueError("an encoded forest is cut short")
    routes, found, is_alike = _HEAD.unpack_from(content)
    if found != ranks or not 0 < routes * ranks <= max_parents:
        raise ValueError(
            f"an encoded forest has {routes} routes of {found} ranks, expected 1 to "
            f"{max_parents // ranks} routes of {ranks} ranks"
        )
    size_bytes = 8 * routes + (4 if is_alike else 8) * routes * ranks
    plain = expand(content[_HEAD.size :], size_bytes)
    if len(plain) != size_bytes:
        raise ValueError(f"an encoded forest has {len(plain)} bytes, expected {size_bytes}")
    parents = np.frombuffer(plain, "<i4", offset=8 * routes).reshape(-1, routes, ranks)
    forest = make_forest(np.frombuffer(plain, "<f8", routes), parents[0], parents[-1])
    check(forest)
    return forest
