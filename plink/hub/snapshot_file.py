"""The file of one part of a snapshot.

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

import dataclasses
import hashlib
import json
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from plink.base.errors import PlinkError, WrongUseError
from plink.base.opening import open_input
from plink.files.atomic_write import write_atomically
from plink.files.document import check_format
from plink.files.document import parse as parse_object
from plink.files.fields import Fields
from plink.hub.hyper import STATES, Hyper
from plink.hub.manifest import ITEM_BYTES, manifest_from_json
from plink.hub.placement import MOST_SERVERS
from plink.hub.service import options_from_json
from plink.hub.snapshot import VALUES, Floats, Part, Piece

FORMAT = "plink.snapshot"
VERSION = 1

MOST_ITERATION = (1 << 53) - 1
MOST_PIECES = 1 << 24

_MAGIC = b"plink snapshot 1"
_LENGTH = struct.Struct("<Q")
_HASH_BYTES = 32
_ALIGNMENT = 64
_MOST_HEADER_BYTES = 256 << 20
_MOST_FILE_BYTES = 1 << 50
_LARGEST = 1.7e308
_SHA256 = re.compile("[0-9a-f]{64}")


def write_part(path: str, part: Part) -> str:
    """Write a part whole or not at all, and onto the disk; return the SHA-256 of the file.

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
    """Return a part that `write_part` wrote, compared with its hashes.

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
    """Return the header of a part's file, for its SHA-256 over the arrays."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "service": part.options.to_json(),
        "manifest": part.manifest.to_json(),
        "server": part.server,
        "servers": part.servers,
        "iteration": part.iteration,
        "groups": [dataclasses.asdict(group) for group in part.groups],
        "arrays": list(part.names),
        "pieces": {
            "offsets_items": [piece.offset_items for piece in part.pieces],
            "items": [piece.items for piece in part.pieces],
            "steps": [piece.steps for piece in part.pieces],
        },
        "data_sha256": data_hash,
    }


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
    fields = Fields(parse_object(header, path), path)
    part, lengths = parse_header(fields)
    begin = len(fixed) + length
    begin += -begin % _ALIGNMENT
    expected = begin + len(part.names) * sum(lengths) * ITEM_BYTES
    if size_bytes != expected:
        raise WrongUseError(f"{path}: has {size_bytes} bytes, expected {expected}")
    stream.seek(begin)
    return _with_arrays(stream, part, lengths, fields)


def parse_header(fields: Fields) -> tuple[Part, list[int]]:
    """Return the part without its numbers, and how many each piece has.

    Raises:
        WrongUseError: it is not valid.
    """
    check_format(fields.values, fields.place, FORMAT, VERSION)
    options = options_from_json(fields.object("service"))
    manifest = manifest_from_json(fields.object("manifest"))
    servers = fields.integer("servers", 1, MOST_SERVERS)
    server = fields.integer("server", 0, servers - 1)
    iteration = fields.integer("iteration", 0, MOST_ITERATION)
    groups = tuple(_hyper(group) for group in fields.objects("groups"))
    if len(groups) not in (0, manifest.groups):
        raise fields.error("groups", f"none, or {manifest.groups}")
    if fields.texts("arrays") != [VALUES, *STATES[options.optimizer]]:
        raise fields.error("arrays", f"those of optimizer {options.optimizer}")
    pieces = fields.object("pieces")
    offsets = pieces.values.get("offsets_items")
    count = len(offsets) if isinstance(offsets, list) else 0
    if count > MOST_PIECES:
        raise fields.error("pieces", f"at most {MOST_PIECES}")
    if not _SHA256.fullmatch(fields.text("data_sha256")):
        raise fields.error("data_sha256", "64 hexadecimal digits")
    starts = pieces.integers("offsets_items", count, 0, manifest.items)
    lengths = pieces.integers("items", count, 1, manifest.items)
    steps = pieces.integers("steps", count, 0, MOST_ITERATION)
    end = 0
    for start, items in zip(starts, lengths, strict=True):
        if start < end or start + items > manifest.items:
            raise pieces.error("offsets_items", "pieces in rising order, none over another")
        end = start + items
    empty: dict[str, Floats] = {}
    found = tuple(Piece(start, step, empty) for start, step in zip(starts, steps, strict=True))
    return Part(options, manifest, server, servers, iteration, groups, found), lengths


def _hyper(fields: Fields) -> Hyper:
    names = ("lr", "momentum", "weight_decay", "beta1", "beta2", "eps")
    values = {name: fields.number(name, 0.0, _LARGEST) for name in names}
    dampening = fields.number("dampening", -_LARGEST, _LARGEST)
    for name in ("nesterov", "maximize"):
        if name not in fields.values:
            raise fields.error(name, "true or false")
    return Hyper(
        **values,
        dampening=dampening,
        nesterov=fields.flag("nesterov"),
        maximize=fields.flag("maximize"),
    )


def _with_arrays(stream: BinaryIO, part: Part, lengths: list[int], fields: Fields) -> Part:
    found = hashlib.sha256()
    arrays: dict[str, Floats] = {}
    for name in part.names:
        data = np.empty(sum(lengths), "<f4")
        if data.nbytes and stream.readinto(data.data.cast("B")) != data.nbytes:  # type: ignore[attr-defined]
            raise WrongUseError(f"{fields.place}: is cut short")
        found.update(data.data)
        arrays[name] = data.astype(np.float32, copy=False)
    if found.hexdigest() != fields.text("data_sha256"):
        raise WrongUseError(f"{fields.place}: its numbers are damaged")
    pieces = []
    begin = 0
    for piece, items in zip(part.pieces, lengths, strict=True):
        cut = {name: array[begin : begin + items] for name, array in arrays.items()}
        pieces.append(Piece(piece.offset_items, piece.steps, cut))
        begin += items
    return dataclasses.replace(part, pieces=tuple(pieces))
