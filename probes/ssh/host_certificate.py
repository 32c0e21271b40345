"""Verification of OpenSSH host certificates against trusted authorities.

The rules are OpenSSH's (PROTOCOL.certkeys, and sshkey.c, sshkey_cert_check_host): a certificate
for hosts, signed by the authority, for the host's name, valid now, and with no critical option,
because none is defined for hosts.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable
from datetime import datetime, timezone

import paramiko
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    SSHCertificate,
    SSHCertificateType,
    SSHPublicKeyTypes,
    load_ssh_public_identity,
)

from plink.probes.ssh.patterns import fits

SUFFIX = "-cert-v01@openssh.com"
_FOREVER = (1 << 64) - 1

# OpenSSH takes no SHA-1 from authorities either (ssh_config(5), CASignatureAlgorithms).
_RSA_SIGNATURES = tuple(
    len(kind).to_bytes(4, "big") + kind for kind in (b"rsa-sha2-256", b"rsa-sha2-512")
)
_LENGTH_BYTES = 4


class CertificateError(Exception):
    """Error that a certificate is not valid; the message ends a sentence about it."""


class UnknownAuthorityError(CertificateError):
    """Error that a certificate was signed by an authority that is not trusted for the host."""


def certificate_blob(key: paramiko.PKey) -> bytes | None:
    """Return the certificate that a server presented, in wire format.

    None without one.
    """
    # paramiko takes the key out of a certificate, and keeps the whole beside it.
    public = key.public_blob
    if public is None or not public.key_type.endswith(SUFFIX):
        return None
    return bytes(public.key_blob)


def read_authority(blob: bytes) -> bytes | None:
    """Return the signing authority's key that a certificate names, unverified.

    None where the certificate cannot be understood.
    """
    try:
        return _blob_of(_load(blob).signature_key())
    except (ValueError, UnsupportedAlgorithm):
        return None


def check(
    blob: bytes, key: bytes, name: str, authorities: Iterable[bytes], now_s: float | None = None
) -> None:
    """Raise unless a certificate is valid for a host.

    Args:
        blob: the certificate.
        key: the key whose possession the host has proved.
        name: name of the host, without its port.
        authorities: keys that may sign for this host.
        now_s: seconds since 1970; None for the clock's.

    Raises:
        UnknownAuthorityError: none of the authorities is named in it.
        CertificateError: it does not hold for another reason.
    """
    try:
        certificate = _load(blob)
        authority = certificate.signature_key()
        if _blob_of(authority) not in set(authorities):
            raise UnknownAuthorityError(
                "is signed by an authority that known_hosts does not trust for the host"
            )
        certificate.verify_cert_signature()
        is_its_key = _blob_of(certificate.public_key()) == key
    except InvalidSignature:
        raise CertificateError("has a wrong signature") from None
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateError("cannot be understood") from None
    if isinstance(authority, RSAPublicKey) and not _is_strong(blob, authority):
        raise CertificateError("is signed with SHA-1")
    if not is_its_key:
        raise CertificateError("is for another key")
    if certificate.type is not SSHCertificateType.HOST:
        raise CertificateError("is for a user and not for a host")
    _check_limits(certificate, name, time.time() if now_s is None else now_s)


def _check_limits(certificate: SSHCertificate, name: str, now_s: float) -> None:
    if now_s < certificate.valid_after:
        raise CertificateError(f"is not valid before {_date(certificate.valid_after)}")
    if now_s >= certificate.valid_before:
        raise CertificateError(f"was valid until {_date(certificate.valid_before)}")
    principals = [each.decode(errors="replace") for each in certificate.valid_principals]
    if principals and not any(fits(pattern, name) for pattern in principals):
        raise CertificateError(f"is for {', '.join(principals[:3])} and not for {name}")
    if certificate.critical_options:
        option = next(iter(certificate.critical_options)).decode(errors="replace")
        raise CertificateError(f"has the critical option {option}, which is not known")


def _is_strong(blob: bytes, authority: RSAPublicKey) -> bool:
    """Return whether the blob ends with an RSA signature that uses SHA-2."""
    return blob[: -((authority.key_size + 7) // 8 + _LENGTH_BYTES)].endswith(_RSA_SIGNATURES)


def _load(blob: bytes) -> SSHCertificate:
    kind_end = _LENGTH_BYTES + int.from_bytes(blob[:_LENGTH_BYTES], "big")
    found = load_ssh_public_identity(blob[_LENGTH_BYTES:kind_end] + b" " + base64.b64encode(blob))
    if not isinstance(found, SSHCertificate):
        raise ValueError("not a certificate")
    return found


def _blob_of(key: SSHPublicKeyTypes) -> bytes:
    text = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return base64.b64decode(text.split()[1])


def _date(seconds: int) -> str:
    if seconds >= _FOREVER:
        return "the end of time"
    try:
        return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, ValueError, OSError):
        return f"second {seconds}"
