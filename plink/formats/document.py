"""Reading and writing plink's files: format, version, hash, compression, atomic writes."""

from __future__ import annotations

import hashlib
import io
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from plink.base.errors import NotJsonError, PlinkError, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.next_command import UNNAMED_FILE
from plink.base.output import check_output, write_output
from plink.base.text import brief
from plink.formats.atomic_write import WriteTo, write_atomically
from plink.formats.unpacking import (
    EXTENSION,
    MOST_BYTES,
    Content,
    is_binary,
    read_file,
    read_standard_input,
)
from plink.probes.json_parsing import parse_json

with lazy_imports():
    from plink.formats import archive, json_text

STANDARD_STREAM = "-"
# What messages call a cluster that was never in a file.
NOT_A_FILE = "the cluster"
# Lists that people write: of hosts, groups, NICs.
MOST_LIST_BYTES = 64 << 20


@dataclass(frozen=True)
class Document:
    """Parsed JSON object of a file, before it is converted to the type of its format.

    Args:
        source: what messages call it.
        file_hash: of its content.
        data: the JSON object in it; its matrices are arrays in a file of the binary form.
    """

    source: str
    file_hash: str
    data: Mapping[str, Any]

    @property
    def format(self) -> object:
        """Name of the format that the document claims to have; any JSON value."""
        return self.data.get("format")


def read(path: str) -> Document:
    """Return the JSON object in a file (`-`: standard input), or raise WrongUseError."""
    return load_document(read_content(path), label(path))


def load_document(content: Content, source: str) -> Document:
    """Return the document in `content`, JSON or binary, or raise WrongUseError."""
    if isinstance(content, mmap.mmap) or is_binary(content):
        data, file_hash = archive.read(content, source, parse)
        return Document(source, file_hash, data)
    return Document(source, digest(content), parse(content, source))


def label(path: str) -> str:
    """Return the name of a file for messages: its path, or `standard input` for `-`."""
    return "standard input" if path == STANDARD_STREAM else path or "''"


def argument(source: str) -> str:
    """Return the word for a file in suggested commands: its path, or `FILE` if it has none."""
    return UNNAMED_FILE if source in (label(STANDARD_STREAM), NOT_A_FILE) else source


def read_bytes(path: str, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the unpacked content of a file (`-`: standard input), or raise WrongUseError.

    A file whose name ends in `.gz` is unpacked, and so is a standard input that begins like one.

    Raises:
        WrongUseError: the file is not there, not readable, too large, packed so well that it may
            be meant to fill the memory, or a damaged archive.
    """
    if path == STANDARD_STREAM:
        return read_standard_input(label(path), most_bytes)
    return read_file(path, most_bytes)


def read_content(path: str) -> Content:
    """Return a file's content, memory-mapped in the binary form, or raise as `read_bytes` does."""
    try:
        # What is read of a pipe is gone.
        if path != STANDARD_STREAM and Path(path).is_file():
            with Path(path).open("rb") as stream:
                if is_binary(stream.read(4)):
                    return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        pass  # what is wrong with the file shows below, too
    return read_bytes(path)


def write_bytes(path: str, content: bytes) -> None:
    """Write a file atomically (a temporary file beside it, then rename); `-` is standard output.

    Raises:
        PlinkError: the file cannot be written; what stood there before stands there still.
    """
    _write(path, lambda stream: stream.write(content))


def write(path: str, data: Mapping[str, Any]) -> None:
    """Write a JSON object whose matrices are arrays: the binary form for `.npz`, else JSON.

    Raises:
        PlinkError: as above, or it would be more JSON than is ever read.
    """
    if path.endswith(EXTENSION):
        _write(path, lambda stream: archive.write(stream, data, dump))
    else:
        _write(path, lambda stream: _write_json(stream, data, path))


def _write_json(stream: IO[bytes], data: Mapping[str, Any], path: str) -> None:
    written = 0
    for piece in json_text.pieces(data):
        written += stream.write(piece.encode())
        if written > MOST_BYTES:
            raise PlinkError(
                f"{path}: the file would hold more than {MOST_BYTES >> 20} MiB",
                f"a name that ends in {EXTENSION} takes large clusters",
            )


def _write(path: str, write_to: WriteTo) -> None:
    if path == STANDARD_STREAM:
        whole = io.BytesIO()
        write_to(whole)
        write_output(whole.getbuffer())
        return
    try:
        write_atomically(Path(path), write_to, is_packed=path.endswith(".gz"))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise PlinkError(f"{path}: cannot be written: {reason}") from None


def check_writable(path: str, *, has_matrices: bool = False) -> None:
    """Raise WrongUseError before a long run if its result could not be written.

    Args:
        path: path of the result.
        has_matrices: the result has a binary form, as clusters do.
    """
    if path.endswith(f"{EXTENSION}.gz"):
        hint = f"leave .gz out: {EXTENSION} files are read without unpacking"
        raise WrongUseError(
            f"{path}: {EXTENSION} files are never packed, so their name must not end in .gz",
            hint,
        )
    if path.endswith(EXTENSION) and not has_matrices:
        raise WrongUseError(
            f"{path}: only cluster files are written as {EXTENSION}", "choose another ending"
        )
    if path == STANDARD_STREAM:
        check_output()
        return
    if not path:
        raise WrongUseError("the name of the file to write is empty")
    try:
        target = Path(path).resolve()
        if target.is_dir():
            raise WrongUseError(f"{path}: is a folder, expected a file to write")
        if not target.parent.is_dir():
            raise WrongUseError(f"{path}: there is no folder {target.parent}")
        is_special = target.exists() and not target.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WrongUseError(f"{path}: cannot be written: {reason}") from None
    if is_special and not os.access(target, os.W_OK):
        raise WrongUseError(f"{path}: the file cannot be written to")
    if not is_special and not os.access(target.parent, os.W_OK):
        raise WrongUseError(f"{path}: folder {target.parent} cannot be written to")


def refuse_same_file(source: str, path: str) -> None:
    """Raise WrongUseError if the result's path is that of an input, under whatever name."""
    if is_same_file(source, path):
        raise WrongUseError(f"{path}: is the output, but also an input", "write to another file")


def is_same_file(path: str, other: str) -> bool:
    """Return whether two paths lead to one file; standard input and output are none."""
    if STANDARD_STREAM in (path, other):
        return False
    try:
        return Path(path).is_file() and Path(path).samefile(other)
    except (OSError, ValueError, RuntimeError):  # one of them is not there, or no path
        return False


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's content as `sha256:...`, which files made from it record."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def compute_digest(data: Mapping[str, Any], *, is_binary: bool) -> str:
    """Return the SHA-256 of the file that `write` would make of `data`."""
    if is_binary:
        return archive.digest(data, dump)
    found = hashlib.sha256()
    for piece in json_text.pieces(data):
        found.update(piece.encode())
    return f"sha256:{found.hexdigest()}"


def parse(content: bytes, source: str) -> dict[str, Any]:
    """Parse a file's content as one JSON object, within the limits of `parse_json`.

    Raises:
        WrongUseError: empty, not JSON, cut short, or not an object.
    """
    if not content.strip():
        raise WrongUseError(f"{source}: is empty, expected a JSON object")
    try:
        data = parse_json(content)
    except (ValueError, RecursionError) as error:
        if not content.lstrip().startswith((b"{", b"[")):
            raise NotJsonError(source, content) from None
        hint = "the file may be truncated, or not be a file of plink"
        reason = "too deeply nested" if isinstance(error, RecursionError) else error
        raise WrongUseError(f"{source}: not valid JSON ({reason})", hint) from None
    if not isinstance(data, dict):
        raise WrongUseError(f"{source}: expected a JSON object, found {_kind(data)}")
    return data


def check_format(data: Mapping[str, Any], source: str, format_name: str, version: int) -> None:
    """Raise WrongUseError if a document has another format, or an unsupported version."""
    found = data.get("format")
    if found != format_name:
        named = f"a {brief(found)} file" if isinstance(found, str) else "a file that is not plink's"
        raise WrongUseError(f"{source}: expected a {format_name} file, found {named}")
    found = data.get("version")
    if type(found) is not int or found != version:
        raise WrongUseError(
            f"{source}: version {brief(found)} of the format {format_name} is not supported",
            f"this plink reads version {version}",
        )


def dump(data: Mapping[str, Any]) -> bytes:
    """Return a JSON object as UTF-8 text, with one line per top-level item and per matrix row."""
    return "".join(json_text.pieces(data)).encode()


def _kind(data: object) -> str:
    kinds = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(data), "a number")
