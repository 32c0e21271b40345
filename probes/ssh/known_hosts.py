"""Host keys that are known, shared by all connections of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import paramiko


class UnknownHostKeyError(Exception):
    """The host offers a key, and none is known for it."""


class KnownHosts:
    """The `known_hosts` files of a run, each read once however many hosts use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, paramiko.HostKeys] = {}

    def keys_of(self, name: str, files: Iterable[str]) -> list[paramiko.PKey]:
        """The keys known for `name` (`host` or `[host]:port`) in any of `files`."""
        with self._lock:
            found = [self._load(file).lookup(name) for file in files]
        return [key for entry in found if entry is not None for key in entry.values()]

    def remember(self, name: str, key: paramiko.PKey, files: Iterable[str]) -> None:
        """Add a key to the first of `files`. A file that cannot be written is left as it is."""
        file = next(iter(files), None)
        if file is None:
            return
        with self._lock:
            self._load(file).add(name, key.get_name(), key)
            with suppress(OSError):
                Path(file).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with Path(file).open("a") as stream:
                    stream.write(f"{name} {key.get_name()} {key.get_base64()}\n")

    def _load(self, file: str) -> paramiko.HostKeys:
        if file not in self._files:
            keys = paramiko.HostKeys()
            with suppress(OSError, UnicodeDecodeError):
                keys.load(file)
            self._files[file] = keys
        return self._files[file]


class HostKeyPolicy(paramiko.MissingHostKeyPolicy):
    """What to do with a host whose key is not known: refuse, or trust and remember."""

    def __init__(self, known: KnownHosts, *, accept_new: bool, files: tuple[str, ...]) -> None:
        self._known = known
        self._accept_new = accept_new
        self._files = files

    def missing_host_key(
        self,
        client: paramiko.SSHClient,  # noqa: ARG002
        hostname: str,
        key: paramiko.PKey,
    ) -> None:
        """Called by paramiko once the server has proved that it holds `key`."""
        if not self._accept_new:
            raise UnknownHostKeyError
        self._known.remember(hostname, key, self._files)
