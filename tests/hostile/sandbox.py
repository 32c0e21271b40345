"""A process in which verbs run: what they do outside is refused and told, what they print is kept.

The hook of Python's own audit sees every file that is opened, every program that is started and
every connection, wherever the code is that asks for it. It cannot be taken away again, so that the
process is good for nothing else.
"""

from __future__ import annotations

import errno
import io
import os
import re
import shlex
import socket
import sys
from pathlib import Path
from typing import Any

from plink.probes.hosts.hostlist import is_host_name

# How a careless SSH configuration reaches a harmless host (`valid.SSH_CONFIG`).
_HARMLESS = re.compile(r"nc [\w.:%-]+ \d+", re.ASCII)
# The valid order has 12 ranks; a host of two whose slots are missing takes one.
_LAUNCHES = (["-np", "12", "--hostfile"], ["-np", "11", "--hostfile"])
_PROGRAMS = {
    "subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork",
    "os.forkpty", "pty.spawn", "os.startfile",
}  # fmt: skip
_NAMES = {
    "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo",
}  # fmt: skip
_CHANGES = {
    "os.chmod", "os.chown", "os.link", "os.mkdir", "os.mknod", "os.remove", "os.rename",
    "os.rmdir", "os.symlink", "os.truncate", "os.utime", "os.setxattr",
}  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Sandbox:
    """What happened since `begin`.

    Args:
        writable: the folders in which files may be made and changed.
    """

    def __init__(self) -> None:
        self.started: list[str] = []
        self.changed: list[str] = []
        self.is_on = False
        sys.addaudithook(self._hook)

    def begin(self) -> None:
        """Forget what was, and watch."""
        self.started, self.changed, self.is_on = [], [], True

    def end(self) -> None:
        """Watch no longer."""
        self.is_on = False

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on:
            return
        if event in _PROGRAMS:
            self._start(event, arguments)
        elif event in _NAMES:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        elif event in ("socket.connect", "socket.sendto", "socket.bind"):
            number = errno.EADDRINUSE if event == "socket.bind" else errno.ECONNREFUSED
            raise OSError(number, os.strerror(number))
        elif event in _CHANGES:
            # What stands in a folder that is open was found by its path before.
            if event not in ("os.remove", "os.rmdir") or arguments[1] == -1:
                self._change(*arguments[: 2 if event in ("os.rename", "os.link") else 1])
        elif event == "open":
            self._open(*arguments)

    def _start(self, event: str, arguments: tuple[Any, ...]) -> None:
        words = arguments[1] if event == "subprocess.Popen" else arguments
        told = [str(word) for word in words] if not isinstance(words, str) else [words]
        if told[:2] == ["ssh", "-G"] and told[-2] == "--" and is_host_name(told[-1]):
            return  # It reads a configuration and connects to nothing.
        if len(told) != 3 or told[:2] != ["sh", "-c"] or not _is_harmless(told[2]):
            self.started.append(repr(told)[:300])
        raise PermissionError(errno.EPERM, "no program is started here")

    def _open(self, path: Any, mode: Any, flags: Any) -> None:
        if isinstance(path, int):
            return
        is_writing = bool(flags & _WRITING) if isinstance(flags, int) else False
        if is_writing or (isinstance(mode, str) and set(mode) & set("wax+")):
            self._change(path)

    def _change(self, *paths: Any) -> None:
        for path in paths:
            if isinstance(path, (str, bytes, os.PathLike)):
                self.changed.append(os.path.realpath(os.fsdecode(path)))


def _is_harmless(text: str) -> bool:
    """Whether a shell's text is the configuration's, or a launcher's with what was asked for."""
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    return _HARMLESS.fullmatch(text) is not None or words[1:4] in _LAUNCHES


class Terminal(io.TextIOWrapper):
    """Says that it is a terminal, and keeps what it is told to show."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        """It says so."""
        return True

    def shown(self) -> str:
        """All of it."""
        self.flush()
        self.seek(0)
        return self.read()


def is_in(path: str, *folders: Path) -> bool:
    """Whether a path without links lies in one of the folders."""
    return any(Path(path).is_relative_to(folder) for folder in folders)
