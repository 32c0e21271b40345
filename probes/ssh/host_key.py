"""Is the server the one that we mean? Its key against the known ones."""

from __future__ import annotations

import paramiko

from probes.ssh.config import Target
from probes.ssh.known_hosts import KnownHosts, KnownKeys

_RSA = ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")


class UnknownHostKeyError(Exception):
    """The host offers a key, and none is known for it."""


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
