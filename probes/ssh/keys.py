"""Public key authentication with the keys that OpenSSH would offer, in its order."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import paramiko

from plink.probes.ssh.config import Target

_DEFAULT_FILES = tuple(f"~/.ssh/id_{kind}" for kind in ("ed25519", "ecdsa", "rsa"))


class NoKeyError(Exception):
    """Error that there is no key to offer; the message is the reason."""


def authenticate(transport: paramiko.Transport, target: Target) -> None:
    """Log in with the first key that the server accepts.

    Keys of the agent that belong to the identity files come first, then its other keys unless
    the configuration says IdentitiesOnly, then the files that the agent does not have.

    Raises:
        NoKeyError: there is no key to offer.
        TimeoutError: the server does not answer.
        paramiko.AuthenticationException: the server accepts no key.
    """
    problems: list[str] = []
    agent = _agent()
    try:
        refused: Exception | None = None
        for key in _offers(target, agent, problems):
            try:
                missing = transport.auth_publickey(target.user, key)
            except paramiko.SSHException as error:
                if str(error).startswith("Authentication timeout"):
                    raise TimeoutError from None
                refused = error
                if not transport.is_active():
                    break
                continue
            if missing:
                raise paramiko.AuthenticationException("a key is not enough")
            return
    finally:
        if agent is not None:
            agent.close()
    if refused is None:
        raise NoKeyError("; ".join(problems[:2]))
    raise paramiko.AuthenticationException(str(refused))


def _agent() -> paramiko.Agent | None:
    try:
        return paramiko.Agent()
    except (OSError, paramiko.SSHException):
        return None


def _offers(
    target: Target, agent: paramiko.Agent | None, problems: list[str]
) -> Iterator[paramiko.PKey]:
    files = [Path(file).expanduser() for file in target.identity_files or _DEFAULT_FILES]
    public = {blob for file in files for blob in _public_parts(file)}
    held: list[paramiko.PKey] = list(agent.get_keys()) if agent is not None else []
    yield from (key for key in held if key.asbytes() in public)
    if not target.identities_only:
        yield from (key for key in held if key.asbytes() not in public)
    in_agent = {key.asbytes() for key in held}
    for file in files:
        if not in_agent.isdisjoint(_public_parts(file)):
            continue
        key = _load(file, problems)
        if key is not None and key.asbytes() not in in_agent:
            yield key


def _public_parts(file: Path) -> Iterator[bytes]:
    """Yield the public keys and certificates that belong to a private key file."""
    for place in (file, Path(f"{file}.pub"), Path(f"{file}-cert.pub")):
        blob = _public_part(place)
        if blob is not None:
            yield blob


def _public_part(file: Path) -> bytes | None:
    with suppress(OSError, ValueError, IndexError):
        words = file.read_text(errors="replace").split(maxsplit=2)
        if words[0].startswith(("ssh-", "ecdsa-", "sk-")):
            return base64.b64decode(words[1], validate=True)
    return None


def _load(file: Path, problems: list[str]) -> paramiko.PKey | None:
    if not file.is_file() or _public_part(file) is not None:
        return None
    try:
        return paramiko.PKey.from_path(file)
    except OSError as error:
        problems.append(f"the SSH key {file} cannot be read ({error.strerror})")
    except (TypeError, paramiko.PasswordRequiredException):
        problems.append(f"the SSH key {file} needs a passphrase")
    except Exception:
        # The parsers below raise what they please: ValueError, UnsupportedAlgorithm, IndexError.
        problems.append(f"{file} is not a usable private SSH key")
    return None
