"""Verification of an SSH server's host key or certificate by `known_hosts` files."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import hmac
import re
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import paramiko
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from plink.probes.errors import ProbesError
from plink.probes.ssh.config import Target, read_file


def matches_pattern(pattern: str, name: str) -> bool:
    """Return whether a pattern with * and ? matches a host name, ignoring case."""
    # Brackets are part of a name with a port. A regular expression with as many stars could take
    # for ever; fnmatch never goes back behind a star.
    return fnmatch.fnmatchcase(name.lower(), pattern.lower().replace("[", "[[]"))


CERTIFICATE_SUFFIX = "-cert-v01@openssh.com"
_FOREVER = (1 << 64) - 1

# OpenSSH takes no SHA-1 from authorities either (ssh_config(5), CASignatureAlgorithms).
_RSA_SIGNATURES = tuple(
    len(kind).to_bytes(4, "big") + kind for kind in (b"rsa-sha2-256", b"rsa-sha2-512")
)
_LENGTH_BYTES = 4


class HostKeyError(ProbesError):
    """Error that a server's SSH host key cannot be trusted."""


class CertificateError(HostKeyError):
    """Error that a host's SSH certificate is not valid for it."""

    def __init__(
        self,
        message: str,
        hint: str = "have the host certified again, or put the host's own key into known_hosts",
    ) -> None:
        super().__init__(message, hint)


class UnknownAuthorityError(CertificateError):
    """Error that a certificate was signed by an authority that is not trusted for the host."""


def certificate_blob(key: paramiko.PKey) -> bytes | None:
    """Return a server's SSH host certificate in wire format; None if it sent a plain key."""
    # paramiko takes the key out of a certificate, and keeps the whole beside it.
    public = key.public_blob
    if public is None or not public.key_type.endswith(CERTIFICATE_SUFFIX):
        return None
    return bytes(public.key_blob)


def read_authority(blob: bytes) -> bytes | None:
    """Return the key of the authority in a certificate, not verified; None if unreadable."""
    try:
        return _encode_key(_load(blob).signature_key())
    except (ValueError, UnsupportedAlgorithm):
        return None


def check_certificate(blob: bytes, key: bytes, name: str, authorities: Iterable[bytes]) -> None:
    """Raise unless an SSH certificate is valid for a host: signature, key, dates and name.

    Args:
        key: the key whose possession the host has proved.
        authorities: keys that may sign for this host.

    Raises:
        CertificateError: it is not valid; UnknownAuthorityError if none of the authorities signed.
    """
    try:
        certificate = _load(blob)
        authority = certificate.signature_key()
        if _encode_key(authority) not in set(authorities):
            raise UnknownAuthorityError(
                "its SSH host certificate is signed by an authority that known_hosts does not "
                "trust for the host"
            )
        certificate.verify_cert_signature()
        is_its_key = _encode_key(certificate.public_key()) == key
    except InvalidSignature:
        raise CertificateError(
            "its SSH host certificate has a signature that its authority did not make"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateError(
            "its SSH host certificate is not a readable OpenSSH certificate"
        ) from None
    if isinstance(authority, RSAPublicKey):
        # The kind of the signature stands before it.
        before = blob[: -((authority.key_size + 7) // 8 + _LENGTH_BYTES)]
        if not before.endswith(_RSA_SIGNATURES):
            raise CertificateError("its SSH host certificate is signed with SHA-1")
    if not is_its_key:
        raise CertificateError("its SSH host certificate is for a key other than the server's")
    if certificate.type is not serialization.SSHCertificateType.HOST:
        raise CertificateError("its SSH host certificate is for a user, expected one for a host")
    _check_limits(certificate, name)


def _check_limits(certificate: serialization.SSHCertificate, name: str) -> None:
    now_s = time.time()
    if now_s < certificate.valid_after:
        raise CertificateError(
            f"its SSH host certificate is not valid before {_date(certificate.valid_after)}"
        )
    if now_s >= certificate.valid_before:
        raise CertificateError(
            f"its SSH host certificate was valid until {_date(certificate.valid_before)}"
        )
    principals = [each.decode(errors="replace") for each in certificate.valid_principals]
    if principals and not any(matches_pattern(pattern, name) for pattern in principals):
        raise CertificateError(
            f"its SSH host certificate is for the hosts {', '.join(principals[:3])} and not for "
            f"{name}",
            "HostKeyAlias in the SSH configuration says which name it is checked for",
        )
    if certificate.critical_options:
        option = next(iter(certificate.critical_options)).decode(errors="replace")
        raise CertificateError(
            f"its SSH host certificate has the critical option {option}, which plink does not "
            "support"
        )


def _load(blob: bytes) -> serialization.SSHCertificate:
    kind_end = _LENGTH_BYTES + int.from_bytes(blob[:_LENGTH_BYTES], "big")
    loaded = serialization.load_ssh_public_identity(
        blob[_LENGTH_BYTES:kind_end] + b" " + base64.b64encode(blob)
    )
    if not isinstance(loaded, serialization.SSHCertificate):
        raise ValueError("not a certificate")
    return loaded


def _encode_key(key: serialization.SSHPublicKeyTypes) -> bytes:
    text = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return base64.b64decode(text.split()[1])


def _date(seconds: int) -> str:
    if seconds >= _FOREVER:
        return "the end of time"
    try:
        return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, ValueError, OSError):
        return f"second {seconds}"


_RSA = ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")
_AUTHORITY, _REVOKED = "@cert-authority", "@revoked"

# What sshd(8) gives no meaning in a line's first field but that of a name.
_FIT_NAME = re.compile(r"[^\s*?!,|@#\x00-\x1f\x7f]+")
_WITH_PORT = re.compile(r"\[(.+)\]:[0-9]+")


@dataclass(frozen=True)
class KnownKeys:
    """Trusted keys, authorities and revoked keys that `known_hosts` files have for one host.

    Args:
        trusted: its keys, as (type, blob).
        authorities: keys that may sign a certificate for it, as blobs.
        revoked: keys that must not be accepted for it, nor sign for it, as blobs.
        unreadable: a file that is there and cannot be read, so that more may be known; or None.
    """

    trusted: frozenset[tuple[str, bytes]]
    authorities: frozenset[bytes]
    revoked: frozenset[bytes]
    unreadable: str | None


@dataclass(frozen=True)
class _Line:
    marker: str
    names: tuple[str, ...]
    kind: str
    blob: bytes


class KnownHosts:
    """Cache of `known_hosts` files, each read once in a run; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, list[_Line] | None] = {}

    def of(self, name: str, files: Iterable[str]) -> KnownKeys:
        """Return the trusted and revoked keys of a host (`host` or `[host]:port`) in files."""
        with self._lock:
            loaded = {file: self._load(file) for file in files}
        lines = [line for each in loaded.values() for line in each or ()]
        # As OpenSSH has it, a line without a port is for every port, where it has a marker.
        marked = {
            marker: frozenset(
                line.blob
                for line in lines
                if line.marker == marker
                and (_matches(line, name) or _matches(line, without_port(name)))
            )
            for marker in (_AUTHORITY, _REVOKED)
        }
        return KnownKeys(
            trusted=frozenset(
                (line.kind, line.blob) for line in lines if not line.marker and _matches(line, name)
            ),
            authorities=marked[_AUTHORITY],
            revoked=marked[_REVOKED],
            unreadable=next((file for file, lines in loaded.items() if lines is None), None),
        )

    def remember(self, name: str, key: paramiko.PKey, file: str) -> None:
        """Append a host's key to a `known_hosts` file, if it can be written.

        Raises:
            HostKeyError: a line with that name would be for other hosts, or for none.
        """
        if not _FIT_NAME.fullmatch(name):
            raise HostKeyError(
                f"known_hosts cannot have a key under the name {name} (special characters)",
                "HostKeyAlias in the SSH configuration sets another one",
            )
        name = name.lower()
        with self._lock:
            lines = self._load(file)
            if lines is not None:
                lines.append(_Line("", (name,), key.get_name(), key.asbytes()))
            with suppress(OSError):
                Path(file).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with Path(file).open("ab+") as stream:
                    content = Path(file).read_bytes()
                    start = "" if not content or content.endswith(b"\n") else "\n"
                    text = f"{start}{name} {key.get_name()} {key.get_base64()}\n"
                    stream.write(text.encode())

    def _load(self, file: str) -> list[_Line] | None:
        """Return the parsed lines of a `known_hosts` file; None if it cannot be read."""
        if file not in self._files:
            try:
                text = read_file(file).decode(errors="replace")
            except (FileNotFoundError, NotADirectoryError):
                text = ""
            except (OSError, ValueError):
                self._files[file] = None
                return None
            parsed = (_parse_line(line) for line in text.split("\n"))
            self._files[file] = [line for line in parsed if line is not None]
        return self._files[file]


def _parse_line(text: str) -> _Line | None:
    """Parse a line of a `known_hosts` file (sshd(8)); None for a comment or an invalid line."""
    words = text.split()
    marker = words.pop(0) if words and words[0].startswith("@") else ""
    if len(words) < 3 or words[0].startswith("#") or marker not in ("", _AUTHORITY, _REVOKED):
        return None
    try:
        blob = base64.b64decode(words[2], validate=True)
    except ValueError:
        return None
    kind = words[1].encode(errors="replace")
    if not blob.startswith(len(kind).to_bytes(4, "big") + kind):
        return None
    return _Line(marker, tuple(words[0].split(",")), words[1], blob)


def without_port(name: str) -> str:
    """Return the host in `[host]:port`, or the name unchanged if it has no port."""
    match = _WITH_PORT.fullmatch(name)
    return name if match is None else match[1]


def _matches(line: _Line, name: str) -> bool:
    """Return whether the name patterns of a `known_hosts` line match a host."""
    matching = [each[:1] for each in line.names if _fits(each.removeprefix("!"), name.lower())]
    return bool(matching) and "!" not in matching


def _fits(pattern: str, name: str) -> bool:
    if not pattern.startswith("|1|"):
        return matches_pattern(pattern, name)
    try:
        salt, digest = (base64.b64decode(part, validate=True) for part in pattern[3:].split("|"))
    except ValueError:
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)


def prefer_known(transport: paramiko.Transport, known: KnownKeys) -> None:
    """Order the SSH key types so that a server offers a host key that is known, if it has one."""
    kinds = {kind for kind, _ in known.trusted}
    if "ssh-rsa" in kinds:
        kinds.update(_RSA)
    options = transport.get_security_options()
    plain = sorted(options.key_types, key=lambda kind: kind not in kinds)
    # paramiko asks for certificates too, but last.
    certified = [f"{kind}{CERTIFICATE_SUFFIX}" for kind in plain] if known.authorities else []
    options.key_types = [*certified, *plain]


def verify(key: paramiko.PKey, target: Target, known: KnownKeys, hosts: KnownHosts) -> None:
    """Raise HostKeyError unless a host key, whose possession the server proved, may be trusted.

    It may if it is known, or if a certificate for it is good. A key that is new, and may be
    accepted, is remembered in the user's own file.
    """
    certificate = certificate_blob(key)
    authority = None if certificate is None else read_authority(certificate)
    if not known.revoked.isdisjoint({key.asbytes(), authority}):
        raise HostKeyError("its SSH host key is revoked", "known_hosts marks that key @revoked")
    doubt = None
    if certificate is not None and known.authorities:
        try:
            name = without_port(target.host_key_name)
            check_certificate(certificate, key.asbytes(), name, known.authorities)
        except CertificateError as error:
            doubt = error
        else:
            return
    if any(blob == key.asbytes() for _, blob in known.trusted):
        return
    if doubt is not None and not isinstance(doubt, UnknownAuthorityError):
        raise doubt
    if known.trusted:
        raise HostKeyError(
            "its SSH host key differs from the one in known_hosts",
            f"if the machine was reinstalled: ssh-keygen -R '{target.host_key_name}'",
        )
    if known.unreadable is not None:
        raise HostKeyError(
            f"its SSH host key is not known, as the file {known.unreadable} cannot be read"
        )
    if not target.accept_new_host_keys:
        more = ", and it shows no certificate of the authority that is" if known.authorities else ""
        more = more if doubt is None else f", and {doubt}"
        raise HostKeyError(
            f"its SSH host key is not in known_hosts{more}",
            "connect once with ssh, or accept new host keys",
            ["accept_new_host_keys"],
        )
    if target.new_host_keys_file is not None:
        hosts.remember(target.host_key_name, key, target.new_host_keys_file)
