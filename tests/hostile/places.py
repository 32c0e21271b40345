"""Places that are no ordinary files, but may be named where a file is expected."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path


def _folder(folder: Path) -> str:
    (folder / "a-folder").mkdir(exist_ok=True)
    return str(folder / "a-folder")


def _file(folder: Path) -> Path:
    path = folder / "a-file"
    path.touch()
    return path


def _pipe(folder: Path) -> str:
    path = folder / "a-pipe"
    if not path.exists():
        os.mkfifo(path)
    return str(path)


def _link(folder: Path, name: str, target: str) -> str:
    path = folder / name
    if not path.is_symlink():
        path.symlink_to(target)
    return str(path)


def _socket(folder: Path) -> str:
    path = folder / "a-socket"
    if not path.exists():
        with socket.socket(socket.AF_UNIX) as made:
            # A socket's path is short.
            descriptor = os.open(folder, os.O_RDONLY)
            made.bind(f"/proc/self/fd/{descriptor}/a-socket")
            os.close(descriptor)
    return str(path)


def _sparse(folder: Path) -> str:
    path = folder / "a-huge-file"
    if not path.exists():
        with path.open("wb") as stream:
            stream.truncate(1 << 40)
    return str(path)


PLACES: dict[str, Callable[[Path], str]] = {
    "nothing there": lambda folder: str(folder / "nothing"),
    "a folder": _folder,
    "a pipe to which no process writes": _pipe,
    "a socket": _socket,
    "a link in a circle": lambda folder: _link(folder, "a-circle", "a-circle"),
    "a link to nothing": lambda folder: _link(folder, "a-dead-link", "nothing"),
    "a link to a device": lambda folder: _link(folder, "a-link-to-zero", "/dev/zero"),
    "an endless device": lambda _: "/dev/zero",
    "a full device": lambda _: "/dev/full",
    "the empty device": lambda _: "/dev/null",
    "a file of a terabyte": _sparse,
    "a file as a folder": lambda folder: str(_file(folder) / "x"),
    "a file of the kernel": lambda _: "/proc/self/mem",
    "a name with a NUL": lambda _: "a\0b",
    "a name with an escape": lambda _: "a\x1b]0;pwned\x07\x1b[2J",
    "a name of half a character": lambda _: "a\udcff",
    "a name too long": lambda _: "a" * 300,
    "a name of a command": lambda _: "$(touch pwned)",
    "a name of an archive": lambda folder: f"{_folder(folder)}.gz",
    "no name": lambda _: "",
}
