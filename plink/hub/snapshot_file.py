"""File of one part of a snapshot: its format, writing and reading.

    16 bytes   "plink snapshot 1"
    8 bytes    length of the header, little-endian
    32 bytes   SHA-256 of the header
               the header, JSON
               zeros up to a multiple of 64 bytes
               arrays of float32, little-endian: all pieces of the values, then of each state

The SHA-256 of the arrays is in the header. A file is written beside its place, brought to the disk
and renamed, so that a crash leaves the earlier one.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO, Final, Literal

import msgspec
import numpy as np
from msgspec import Meta, Struct

from plink.base.errors import PlinkError, WrongUseError
from plink.base.opening import open_input
from plink.formats.atomic_write import write_atomically
from plink.formats.document import check_format
from plink.formats.document import parse as parse_object
from plink.formats.limits import constrain_to_words
from plink.formats.outputs import Sha256
from plink.formats.structs import convert
from plink.hub.hyper import STATES, Hyper
from plink.hub.manifest import ITEM_BYTES, MOST_ITEMS, Manifest
from plink.hub.placement import MOST_SERVERS
from plink.hub.service import ServiceOptions
from plink.hub.snapshot import VALUES, Floats, Part, Piece

FORMAT: Final = "plink.snapshot"
VERSION: Final = 1

MOST_ITERATION = (1 << 53) - 1
MOST_PIECES = 1 << 24

# Every array that a snapshot may hold.
_ARRAYS = sorted({VALUES, *(name for names in STATES.values() for name in names)})
_MAGIC = b"plink snapshot 1"
_LENGTH = struct.Struct("<Q")
_HASH_BYTES = 32
_ALIGNMENT = 64
_MOST_HEADER_BYTES = 256 << 20
_MOST_FILE_BYTES = 1 << 50

Iteration = Annotated[int, Meta(ge=0, le=MOST_ITERATION)]


class Pieces(Struct, frozen=True, forbid_unknown_fields=True):
    """Contiguous pieces of the flat array that this file holds, in rising order.

    Attributes:
        offsets_items: where each begins in the flat array, in numbers
        items: how many numbers each has
        steps: how many steps were made there
    """

    offsets_items: Annotated[
        tuple[Annotated[int, Meta(ge=0, le=MOST_ITEMS)], ...], Meta(max_length=MOST_PIECES)
    ]
    items: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=MOST_ITEMS)], ...], Meta(max_length=MOST_PIECES)
    ]
    steps: Annotated[tuple[Iteration, ...], Meta(max_length=MOST_PIECES)]

    def __post_init__(self) -> None:
        for name in ("items", "steps"):
            found, expected = len(getattr(self, name)), len(self.offsets_items)
            if found != expected:
                raise ValueError(f"{name} has {found} numbers, expected {expected}")
        end = 0
        for start, items in zip(self.offsets_items, self.items, strict=True):
            if start < end:
                raise ValueError("offsets_items are not those of pieces in rising order")
            end = start + items


class SnapshotHeader(Struct, frozen=True, forbid_unknown_fields=True):
    """State of one server of a service: the header of a file of `plink hub checkpoint`.

    Attributes:
        service: options of the service
        manifest: what the service holds
        server: index of the server that held it
        servers: number of servers of the service
        iteration: number of completed iterations
        groups: hyperparameters of the last step by group, or none
        arrays: names of the arrays that follow the header, in their order
        pieces: contiguous pieces of the flat array that this file holds
        data_sha256: SHA-256 of the arrays
        format: name of the format
        version: version of the format
    """

    service: ServiceOptions
    manifest: Manifest
    server: Annotated[int, Meta(ge=0, lt=MOST_SERVERS)]
    servers: Annotated[int, Meta(ge=1, le=MOST_SERVERS)]
    iteration: Iteration
    groups: tuple[Hyper, ...]
    arrays: Annotated[tuple[Annotated[str, constrain_to_words(*_ARRAYS)], ...], Meta(min_length=1)]
    pieces: Pieces
    data_sha256: Sha256
    format: Literal["plink.snapshot"] = FORMAT
    version: Literal[1] = VERSION

    def __post_init__(self) -> None:
        if self.server >= self.servers:
            raise ValueError(f"server is {self.server} of {self.servers} servers")
        if len(self.groups) not in (0, self.manifest.groups):
            raise ValueError(f"groups has {len(self.groups)}, not none or {self.manifest.groups}")
        if self.arrays != (VALUES, *STATES[self.service.optimizer]):
            raise ValueError(f"arrays is not that of optimizer {self.service.optimizer}")
        ends = zip(self.pieces.offsets_items, self.pieces.items, strict=True)
        if max((start + items for start, items in ends), default=0) > self.manifest.items:
            raise ValueError("pieces end beyond the flat array")


def write_part(path: str, part: Part) -> str:
    """Write a part's file atomically, sync it to disk, and return the SHA-256 of the file.

    Raises:
        PlinkError: it cannot be written.
    """
    found = hashlib.sha256()
    target = Path(path)

    def write_to(stream: IO[bytes]) -> None:
        for block in _blocks(part):
            found.update(block)
            stream.write(block)

    try:
        write_atomically(target, write_to, is_packed=False)
        _sync_folder(target.resolve().parent)
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PlinkError(f"{path}: cannot be written: {reason}") from None
    return found.hexdigest()


def read_part(path: str) -> Part:
    """Read a part that `write_part` wrote and verify its hashes.

    Raises:
        WrongUseError: the file cannot be read, is of another version, not whole or damaged.
    """
    try:
        with open_input(path, _MOST_FILE_BYTES) as stream:
            return _read(stream, path)
    except WrongUseError as error:
        if str(error).startswith(path):
            raise
        raise WrongUseError(f"{path}: {error}", error.hint) from None
    except OSError as error:
        raise WrongUseError(f"{path}: {error.strerror or error}") from None


def _sync_folder(folder: Path) -> None:
    # Without it a crash may undo the rename.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _arrays(part: Part) -> Iterator[memoryview]:
    for name in part.names:
        for piece in part.pieces:
            yield np.ascontiguousarray(piece.arrays[name], "<f4").data.cast("B")


def _blocks(part: Part) -> Iterator[bytes | memoryview]:
    data_hash = hashlib.sha256()
    for array in _arrays(part):
        data_hash.update(array)
    header = json.dumps(header_of(part, data_hash.hexdigest()), separators=(",", ":")).encode()
    head = _MAGIC + _LENGTH.pack(len(header)) + hashlib.sha256(header).digest() + header
    yield head + bytes(-len(head) % _ALIGNMENT)
    yield from _arrays(part)


def header_of(part: Part, data_hash: str) -> dict[str, Any]:
    """Build the header of a part's file from the part and the SHA-256 of its arrays."""
    header = SnapshotHeader(
        part.options,
        part.manifest,
        part.server,
        part.servers,
        part.iteration,
        part.groups,
        part.names,
        Pieces(
            tuple(piece.offset_items for piece in part.pieces),
            tuple(piece.items for piece in part.pieces),
            tuple(piece.steps for piece in part.pieces),
        ),
        data_hash,
    )
    encoded: dict[str, Any] = msgspec.to_builtins(header)
    return encoded


def _read(stream: BinaryIO, path: str) -> Part:
    size_bytes = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    fixed = stream.read(len(_MAGIC) + _LENGTH.size + _HASH_BYTES)
    if not fixed.startswith(_MAGIC[:-1]):
        raise WrongUseError(f"{path}: is no snapshot of a service")
    if not fixed.startswith(_MAGIC):
        raise WrongUseError(f"{path}: is a snapshot of another version of plink")
    if len(fixed) < len(_MAGIC) + _LENGTH.size + _HASH_BYTES:
        raise WrongUseError(f"{path}: is cut short")
    (length,) = _LENGTH.unpack_from(fixed, len(_MAGIC))
    if length > min(_MOST_HEADER_BYTES, size_bytes - len(fixed)):
        raise WrongUseError(f"{path}: is cut short, or its header too long")
    header = stream.read(length)
    if hashlib.sha256(header).digest() != fixed[-_HASH_BYTES:]:
        raise WrongUseError(f"{path}: its header is damaged")
    head = parse_header(parse_object(header, path), path)
    begin = len(fixed) + length
    begin += -begin % _ALIGNMENT
    expected = begin + len(head.arrays) * sum(head.pieces.items) * ITEM_BYTES
    if size_bytes != expected:
        raise WrongUseError(f"{path}: has {size_bytes} bytes, expected {expected}")
    stream.seek(begin)
    return _with_arrays(stream, head, path)


def parse_header(data: Mapping[str, Any], source: str) -> SnapshotHeader:
    """Parse a snapshot's header from a JSON object; `source` names the file in errors.

    Raises:
        WrongUseError: it is not valid.
    """
    check_format(data, source, FORMAT, VERSION)
    return convert(data, SnapshotHeader, source)


def _with_arrays(stream: BinaryIO, head: SnapshotHeader, path: str) -> Part:
    found = hashlib.sha256()
    lengths = head.pieces.items
    arrays: dict[str, Floats] = {}
    for name in head.arrays:
        data = np.empty(sum(lengths), "<f4")
        if data.nbytes and stream.readinto(data.data.cast("B")) != data.nbytes:  # type: ignore[attr-defined]
            raise WrongUseError(f"{path}: is cut short")
        found.update(data.data)
        arrays[name] = data.astype(np.float32, copy=False)
    if found.hexdigest() != head.data_sha256:
        raise WrongUseError(f"{path}: its numbers are damaged")
    pieces = []
    begin = 0
    for offset, items, steps in zip(
        head.pieces.offsets_items, lengths, head.pieces.steps, strict=True
    ):
        cut = {name: array[begin : begin + items] for name, array in arrays.items()}
        pieces.append(Piece(offset, steps, cut))
        begin += items
    return Part(
        head.service,
        head.manifest,
        head.server,
        head.servers,
        head.iteration,
        head.groups,
        tuple(pieces),
    )
