"""Reading and writing plink's JSON files: format, version, hash, compression, atomic writes."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plink.errors import PlinkError, WrongUseError

STANDARD_STREAM = "-"
_MAX_BYTES = 1 << 30


def read_bytes(path: str) -> bytes:
    """The content of a file, or of standard input for `-`; unpacked if the name ends in `.gz`.

    Raises:
        WrongUseError: the file is not there, not readable, or a damaged archive.
    """
    if path == STANDARD_STREAM:
        return sys.stdin.buffer.read()
    try:
        if not path.endswith(".gz"):
            return Path(path).read_bytes()
        with gzip.open(path, "rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except (gzip.BadGzipFile, EOFError) as error:
        raise WrongUseError(f"{path}: not a whole gzip file ({error})") from None
    except OSError as error:
        raise WrongUseError(f"{path}: {error.strerror or error}") from None
    if len(content) > _MAX_BYTES:
        raise WrongUseError(f"{path}: unpacks to more than {_MAX_BYTES >> 20} MiB")
    return content


def write_bytes(path: str, content: bytes) -> None:
    """Write a file whole or not at all (beside it, then rename); `-` is standard output.

    Raises:
        PlinkError: the file cannot be written; what stood there before stands there still.
    """
    if path == STANDARD_STREAM:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if path.endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    if target.exists() and not target.is_file():
        _write_in_place(target, content)
        return
    beside: str | None = None
    try:
        descriptor, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(beside).chmod(_mode_for(target))
        Path(beside).replace(target)
    except OSError as error:
        raise PlinkError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)


def check_writable(path: str) -> None:
    """Refuse early a place where a result could not be written after a long run.

    Raises:
        WrongUseError: the folder is not there, or cannot be written to.
    """
    if path == STANDARD_STREAM:
        return
    folder = Path(path).parent
    if not folder.is_dir():
        raise WrongUseError(f"{path}: there is no folder {folder}")
    if Path(path).is_dir():
        raise WrongUseError(f"{path}: is a folder")
    if not os.access(folder, os.W_OK):
        raise WrongUseError(f"{path}: folder {folder} cannot be written to")


def digest(content: bytes) -> str:
    """The SHA-256 that a file made from `content` records."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def parse(content: bytes, source: str) -> dict[str, Any]:
    """The JSON object in `content`; NaN and infinities are refused.

    Raises:
        WrongUseError: not JSON, cut short, or not an object.
    """
    try:
        data = json.loads(content.decode(), parse_constant=_refuse_constant)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        hint = "the file may be cut short, or not be one of plink's"
        raise WrongUseError(f"{source}: not valid JSON ({_brief(error)})", hint) from None
    if not isinstance(data, dict):
        raise WrongUseError(f"{source}: expected a JSON object, found {_kind(data)}")
    return data


def check_format(data: Mapping[str, Any], source: str, format_name: str, version: int) -> None:
    """Refuse a file of another format, or of a version this reader does not know.

    Raises:
        WrongUseError: naming what was found and what was expected.
    """
    found = data.get("format")
    if found != format_name:
        named = f"a {found!r} file" if isinstance(found, str) else "no plink file"
        raise WrongUseError(f"{source}: expected a {format_name} file, found {named}")
    if data.get("version") != version:
        raise WrongUseError(
            f"{source}: version {data.get('version')!r} of {format_name} is not known here",
            f"this plink reads version {version}",
        )


def dump(data: Mapping[str, Any]) -> bytes:
    """`data` as JSON text: one line per top-level item and per matrix row."""
    return (_render(data, 0) + "\n").encode()


def _render(value: Any, depth: int) -> str:
    is_open = isinstance(value, Mapping) or (
        isinstance(value, list) and any(isinstance(item, (list, Mapping)) for item in value)
    )
    if not is_open or not value:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    margin = " " * (depth + 1)
    if isinstance(value, Mapping):
        items = [
            f"{margin}{json.dumps(str(key), ensure_ascii=False)}: {_render(item, depth + 1)}"
            for key, item in value.items()
        ]
        return "{\n" + ",\n".join(items) + "\n" + " " * depth + "}"
    rows = [margin + json.dumps(item, allow_nan=False, ensure_ascii=False) for item in value]
    return "[\n" + ",\n".join(rows) + "\n" + " " * depth + "]"


def finite_number(value: Any) -> float | None:
    """`value` as a float if it is a finite JSON number (and no boolean), else None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number that plink takes")


def _brief(error: Exception) -> str:
    return "too deeply nested" if isinstance(error, RecursionError) else str(error)


def _kind(data: object) -> str:
    return {list: "a list", str: "a text", type(None): "null"}.get(type(data), "a number")


def _mode_for(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def _write_in_place(target: Path, content: bytes) -> None:
    try:
        target.write_bytes(content)
    except OSError as error:
        raise PlinkError(f"{target}: cannot be written: {error.strerror or error}") from None
