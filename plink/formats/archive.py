"""Cluster files in binary form: write and read `.npz` archives of JSON and matrices.

A zip archive of stored members (`docs/files.md`): `cluster.json` is the file's JSON without its
matrices, and `rtt/rtt_us/p10.npy` is the member `p10` of `rtt_us` of `rtt`. Nothing in it is
packed, so that no file takes more memory than its own length, and matrices are read where they
lie. What is read is hostile until parsed.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from plink.base.errors import WrongUseError
from plink.formats.matrices import BLOCK_BYTES, Array, release_pages
from plink.formats.unpacking import EXTENSION, MAGIC, Content

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

_JSON_MEMBER = "cluster.json"
_SUFFIX = ".npy"
# The same file of the same content, whenever it is written.
_NO_DATE = (1980, 1, 1, 0, 0, 0)
_WHOLE = tuple(np.dtype(f"<i{size}") for size in (1, 2, 4, 8))
_NUMBERS = np.dtype("<f8")

# What NumPy writes before a matrix; nothing else is looked at, least of all evaluated.
_HEADING = re.compile(
    rb"\{'descr': '([<|][fi][1248])', 'fortran_order': False, "
    rb"'shape': \(([0-9]{1,7}), ([0-9]{1,7})\), \} *\n"
)
_HINT = "plink import FILE -o cluster.npz writes one"
_MAX_DIRECTORY = 1 << 20
_MAX_JSON = 1 << 28
_LOCAL = struct.Struct("<4s22xHH")


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
    """Return the SHA-256 (`sha256:...`) of what `write` would write, as `read` returns it."""
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
    yield _JSON_MEMBER, len(text), iter([text])
    for name in sorted(matrices):
        matrix = matrices[name]
        kind = _choose_storage_type(matrix)
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


def _choose_storage_type(matrix: Array) -> np.dtype[Any]:
    """Return the NumPy type to store a matrix in: float64, or the smallest integer that fits."""
    if matrix.dtype.kind == "f":
        return _NUMBERS
    low, high = (int(matrix.min()), int(matrix.max())) if matrix.size else (0, 0)
    return next(kind for kind in _WHOLE if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


def _without_matrices(
    data: Mapping[str, Any], place: str, matrices: dict[str, Array]
) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, np.ndarray):
            matrices[f"{place}{key}{_SUFFIX}"] = value
        elif isinstance(value, Mapping):
            kept[key] = _without_matrices(value, f"{place}{key}/", matrices)
        else:
            kept[key] = value
    return kept


def read(
    content: Content, source: str, parse: Callable[[bytes, str], dict[str, Any]]
) -> tuple[dict[str, Any], str]:
    """Return a binary file's JSON object, with an array for every matrix, and the file's hash.

    Args:
        content: content of the file.
        source: what errors call it.
        parse: makes an object of JSON text.

    Raises:
        WrongUseError: it is damaged or packed, or holds what is no matrix.
    """
    entries = {entry.filename: entry for entry in _entries(content, source)}
    found = hashlib.sha256()
    if _JSON_MEMBER not in entries or entries[_JSON_MEMBER].file_size > _MAX_JSON:
        raise WrongUseError(
            f"{source}: the archive has no member {_JSON_MEMBER} of at most {_MAX_JSON >> 20} MiB",
            f"a cluster file in NumPy's form has it; {_HINT}",
        )
    data: dict[str, Any] = {}
    for name in (_JSON_MEMBER, *sorted(set(entries) - {_JSON_MEMBER})):
        start, end = _find_member_bytes(entries[name], content, source)
        found.update(name.encode() + b"\0")
        if _hash_member(content, start, end, found) != entries[name].CRC:
            raise WrongUseError(
                f"{source}: file {name[:80]} in the archive is damaged: its checksum is wrong"
            )
        if name == _JSON_MEMBER:
            data = parse(content[start:end], f"{source}: {_JSON_MEMBER}")
        else:
            _insert_matrix(data, name, _matrix(content, start, end, f"{source}: {name}"), source)
    return data, f"sha256:{found.hexdigest()}"


class _Directory:
    """Seekable file object over an archive's bytes for `zipfile`, with reads limited in size."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._place = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        start = (0, self._place, len(self._content))[whence]
        if start + offset < 0:
            raise zipfile.BadZipFile("cut short")
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int = -1) -> bytes:
        end = len(self._content) if size < 0 else self._place + size
        if min(end, len(self._content)) - self._place > _MAX_DIRECTORY:
            raise zipfile.BadZipFile("too many members")
        piece = self._content[self._place : end]
        self._place += len(piece)
        return piece

    def close(self) -> None:
        """Do nothing: the content belongs to the caller."""


def _entries(content: Content, source: str) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(cast("IO[bytes]", _Directory(content))) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as error:
        raise WrongUseError(f"{source}: is no complete {EXTENSION} file ({error})") from None
    names = [entry.filename for entry in entries]
    if len(set(names)) < len(names):
        raise WrongUseError(f"{source}: the archive has two files of the same name")
    # Every byte of every member is read: members that lie on each other would multiply the work.
    if sum(entry.compress_size for entry in entries) > len(content):
        raise WrongUseError(f"{source}: the files in the archive overlap: they exceed its size")
    return entries


def _find_member_bytes(entry: zipfile.ZipInfo, content: Content, source: str) -> tuple[int, int]:
    """Return the start and end offsets of an archive member's bytes."""
    is_encrypted = entry.flag_bits & 1
    if entry.compress_type != zipfile.ZIP_STORED or is_encrypted:
        what = "encrypted" if is_encrypted else "compressed"
        raise WrongUseError(f"{source}: files in the archive must not be {what}", _HINT)
    before = bytes(content[entry.header_offset : entry.header_offset + _LOCAL.size])
    if entry.header_offset >= 0 and len(before) == _LOCAL.size:
        magic, name_length, extra_length = _LOCAL.unpack(before)
        start = entry.header_offset + _LOCAL.size + name_length + extra_length
        end = start + entry.file_size
        if magic == MAGIC and entry.compress_size == entry.file_size and end <= len(content):
            return start, end
    raise WrongUseError(f"{source}: is no complete {EXTENSION} file (it is damaged or cut short)")


def _hash_member(content: Content, start: int, end: int, found: Hash) -> int:
    """Add a member's bytes to the file's hash; return their CRC-32."""
    total = 0
    with memoryview(content) as view:
        for block in range(start, end, BLOCK_BYTES):
            with view[block : min(block + BLOCK_BYTES, end)] as piece:
                found.update(piece)
                total = zlib.crc32(piece, total)
            release_pages(content)
    return total


def _matrix(content: Content, start: int, end: int, place: str) -> Array:
    head = bytes(content[start : min(end, start + 10)])
    length = int.from_bytes(head[8:10], "little")
    heading = _HEADING.fullmatch(bytes(content[start + 10 : min(end, start + 10 + length)]))
    if head[:8] != b"\x93NUMPY\x01\x00" or heading is None:
        raise WrongUseError(f"{place}: is not a NumPy matrix of numbers in C order", _HINT)
    kind = np.dtype(heading[1].decode()).newbyteorder("<")
    shape = int(heading[2]), int(heading[3])
    size = math.prod(shape)
    if kind not in (*_WHOLE, _NUMBERS):
        raise WrongUseError(f"{place}: numbers are {kind.name}, expected float64 or integers")
    if start + 10 + length + size * kind.itemsize != end:
        raise WrongUseError(f"{place}: does not hold exactly {shape[0]} x {shape[1]} numbers")
    values = np.frombuffer(content, kind, size, start + 10 + length).reshape(shape)
    values.flags.writeable = False
    return values


def _insert_matrix(data: dict[str, Any], name: str, matrix: Array, source: str) -> None:
    """Insert a matrix into the JSON object, at the path that its archive member's name spells."""
    *way, last = name.removesuffix(_SUFFIX).split("/")
    inside: Any = data
    for step in way:
        inside = inside.get(step) if isinstance(inside, dict) else None
    if not isinstance(inside, dict) or last in inside or not name.endswith(_SUFFIX):
        raise WrongUseError(
            f"{source}: the archive's file {name[:80]!r} is no matrix of a cluster", _HINT
        )
    inside[last] = matrix
