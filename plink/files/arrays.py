"""Writer of the binary file form: a `.npz` archive with JSON beside its matrices (`docs/files.md`).

A zip archive of stored members: `cluster.json` is the file's JSON without its matrices, and
`rtt/rtt_us/p10.npy` is the member `p10` of `rtt_us` of `rtt`. Nothing in it is packed, so that no
file takes more memory than its own length, and matrices are read where they lie
(`plink.files.archive`).
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import numpy as np

from plink.files.matrices import BLOCK_BYTES, Array

JSON_MEMBER = "cluster.json"
SUFFIX = ".npy"
# The same file of the same content, whenever it is written.
_NO_DATE = (1980, 1, 1, 0, 0, 0)
WHOLE = tuple(np.dtype(f"<i{size}") for size in (1, 2, 4, 8))
NUMBERS = np.dtype("<f8")


def write(stream: IO[bytes], data: Mapping[str, Any], dump: Callable[[Any], bytes]) -> None:
    """Write a JSON object whose matrices are arrays as a `.npz` archive.

    Args:
        stream: to write to.
        data: the object; (N, N) arrays stand in objects of it, at any depth.
        dump: makes JSON text of what is left of it.
    """
    with zipfile.ZipFile(stream, "w") as archive:
        for name, size, chunks in _members(data, dump):
            entry = zipfile.ZipInfo(name, _NO_DATE)
            entry.file_size = size
            entry.external_attr = 0o644 << 16
            with archive.open(entry, "w") as member:
                for chunk in chunks:
                    member.write(chunk)


def digest(data: Mapping[str, Any], dump: Callable[[Any], bytes]) -> str:
    """Return the SHA-256 of the file that `write` would make, equal to the one `read` returns."""
    found = hashlib.sha256()
    for name, _, chunks in _members(data, dump):
        found.update(name.encode() + b"\0")
        for chunk in chunks:
            found.update(chunk)
    return f"sha256:{found.hexdigest()}"


def _members(
    data: Mapping[str, Any], dump: Callable[[Any], bytes]
) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    """Yield name, length in bytes and content of every archive member, the JSON first."""
    matrices: dict[str, Array] = {}
    text = dump(_without_matrices(data, "", matrices))
    yield JSON_MEMBER, len(text), iter([text])
    for name in sorted(matrices):
        matrix = matrices[name]
        kind = _kind(matrix)
        heading = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            heading, {"descr": kind.str, "fortran_order": False, "shape": matrix.shape}
        )
        first = heading.getvalue()
        yield name, len(first) + matrix.size * kind.itemsize, _chunks(first, matrix, kind)


def _chunks(first: bytes, matrix: Array, kind: np.dtype[Any]) -> Iterator[bytes]:
    yield first
    rows = max(1, BLOCK_BYTES // max(1, matrix[:1].size * kind.itemsize))
    for start in range(0, len(matrix), rows):
        yield matrix[start : start + rows].astype(kind).tobytes()


def _kind(matrix: Array) -> np.dtype[Any]:
    """Return the NumPy type to store numbers in: the smallest integer type that holds them all."""
    if matrix.dtype.kind == "f":
        return NUMBERS
    low, high = (int(matrix.min()), int(matrix.max())) if matrix.size else (0, 0)
    return next(kind for kind in WHOLE if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


def _without_matrices(
    data: Mapping[str, Any], place: str, matrices: dict[str, Array]
) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, np.ndarray):
            matrices[f"{place}{key}{SUFFIX}"] = value
        elif isinstance(value, Mapping):
            kept[key] = _without_matrices(value, f"{place}{key}/", matrices)
        else:
            kept[key] = value
    return kept
