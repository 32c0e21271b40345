"""Whether the server is the one that we mean: its key against those in `known_hosts` files."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import hmac
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import paramiko

from probes.ssh.config import Target
from probes.ssh.reading import read_file

_RSA = ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")


@dataclass(frozen=True)
class KnownKeys:
    """What is known of one host.

    Args:
        trusted: its keys, as (type, blob).
        revoked: keys that must not be accepted for it, as blobs.
        unreadable: a file that is there and cannot be read, so that more may be known; or None.
    """

    trusted: frozenset[tuple[str, bytes]]
    revoked: frozenset[bytes]
    unreadable: str | None


@dataclass(frozen=True)
class _Line:
    marker: str
    names: tuple[str, ...]
    kind: str
    blob: bytes


class KnownHosts:
    """The `known_hosts` files of a run, each read once however many hosts use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, list[_Line] | None] = {}

    def of(self, name: str, files: Iterable[str]) -> KnownKeys:
        """What any of `files` knows of `name` (`host` or `[host]:port`)."""
        with self._lock:
            loaded = {file: self._load(file) for file in files}
        found = [line for lines in loaded.values() for line in lines or () if _matches(line, name)]
        return KnownKeys(
            trusted=frozenset((line.kind, line.blob) for line in found if not line.marker),
            revoked=frozenset(line.blob for line in found if line.marker == "@revoked"),
            unreadable=next((file for file, lines in loaded.items() if lines is None), None),
        )

    def remember(self, name: str, key: paramiko.PKey, file: str) -> None:
        """Add a key to `file`. A file that cannot be written is left as it is."""
        name = name.lower()
        with self._lock:
            lines = self._load(file)
            if lines is not None:
                lines.append(_Line("", (name,), key.get_name(), key.asbytes()))
            with suppress(OSError):
                Path(file).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with Path(file).open("ab+") as stream:
                    start = "" if _ends_a_line(Path(file)) else "\n"
                    text = f"{start}{name} {key.get_name()} {key.get_base64()}\n"
                    stream.write(text.encode())

    def _load(self, file: str) -> list[_Line] | None:
        """Its lines; None where it is there and cannot be read."""
        if file not in self._files:
            try:
                text = read_file(file).decode(errors="replace")
            except (FileNotFoundError, NotADirectoryError):
                text = ""
            except (OSError, ValueError):
                self._files[file] = None
                return None
            parsed = (_parse(line) for line in text.split("\n"))
            self._files[file] = [line for line in parsed if line is not None]
        return self._files[file]


def _ends_a_line(file: Path) -> bool:
    content = file.read_bytes()
    return not content or content.endswith(b"\n")


def _parse(text: str) -> _Line | None:
    """One line as sshd(8) describes them; None for any other, or one of a certificate authority."""
    words = text.split()
    marker = words.pop(0) if words and words[0].startswith("@") else ""
    if len(words) < 3 or words[0].startswith("#") or marker not in ("", "@revoked"):
        return None
    try:
        blob = base64.b64decode(words[2], validate=True)
    except ValueError:
        return None
    kind = words[1].encode(errors="replace")
    if not blob.startswith(len(kind).to_bytes(4, "big") + kind):
        return None
    return _Line(marker, tuple(words[0].split(",")), words[1], blob)


def _matches(line: _Line, name: str) -> bool:
    """Whether a line is about `name`: a pattern fits, and no negated one does."""
    name = name.lower()
    negated = [pattern[1:] for pattern in line.names if pattern.startswith("!")]
    positive = [pattern for pattern in line.names if not pattern.startswith("!")]
    return any(_fits(pattern, name) for pattern in positive) and not any(
        _fits(pattern, name) for pattern in negated
    )


def _fits(pattern: str, name: str) -> bool:
    if pattern.startswith("|1|"):
        return _fits_hash(pattern, name)
    # Brackets are part of a name with a port. A regular expression with as many stars could take
    # for ever; fnmatch never goes back behind a star.
    return fnmatch.fnmatchcase(name, pattern.lower().replace("[", "[[]"))


def _fits_hash(pattern: str, name: str) -> bool:
    try:
        salt, digest = (base64.b64decode(part, validate=True) for part in pattern[3:].split("|"))
    except ValueError:
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)


class UnknownHostKeyError(Exception):
    """The host offers a key, and no key is known for it."""


class ChangedHostKeyError(Exception):
    """The host offers a key that is not among those known for it."""


class RevokedHostKeyError(Exception):
    """The host offers a key that must not be accepted."""


class UnreadableKnownHostsError(Exception):
    """Whether the key is known cannot be told. The message is the file's name."""


def prefer_known(transport: paramiko.Transport, known: KnownKeys) -> None:
    """Ask the server for a key of a type that is known, if it has one."""
    kinds = {kind for kind, _ in known.trusted}
    if "ssh-rsa" in kinds:
        kinds.update(_RSA)
    options = transport.get_security_options()
    options.key_types = sorted(options.key_types, key=lambda kind: kind not in kinds)


def verify(key: paramiko.PKey, target: Target, known: KnownKeys, hosts: KnownHosts) -> None:
    """Return if `key`, whose possession the server has proved, may be trusted.

    A key that is new, and may be accepted, is remembered in the user's own file.

    Raises:
        UnknownHostKeyError, ChangedHostKeyError, RevokedHostKeyError, UnreadableKnownHostsError:
            as they say.
    """
    if key.asbytes() in known.revoked:
        raise RevokedHostKeyError
    if any(blob == key.asbytes() for _, blob in known.trusted):
        return
    if known.trusted:
        raise ChangedHostKeyError
    if known.unreadable is not None:
        raise UnreadableKnownHostsError(known.unreadable)
    if not target.accept_new_host_keys:
        raise UnknownHostKeyError
    if target.new_host_keys_file is not None:
        hosts.remember(target.host_key_name, key, target.new_host_keys_file)
