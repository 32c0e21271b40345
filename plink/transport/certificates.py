"""An authority for one job, and a certificate for each host or rank of it.

The authority's key is in memory only and gone with this process: nobody can join later.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from plink.base.errors import PlinkError, WrongUseError
from plink.base.new_folder import make_folder
from plink.transport.tls import AUTHORITY_FILE, CERTIFICATE_FILE, KEY_FILE, NO_RANK, RANK_URI

# For clocks that do not agree.
_EARLIER = datetime.timedelta(hours=1)
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,250}")
_MOST_COMMON_NAME = 64
_DNS_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?")


@dataclass(frozen=True)
class Holder:
    """Holder of a certificate.

    Args:
        names: of its host: names and addresses.
        rank: the only one that it speaks for; None for any rank of the job.
        is_rank: whether it speaks for ranks at all.
    """

    names: Sequence[str]
    rank: int | None = None
    is_rank: bool = True


def check_folder(folder: str) -> None:
    """Refuse a folder that holds something: certificates are not overwritten.

    Raises:
        WrongUseError: it does, or no folder can have its name.
    """
    if not folder:
        raise WrongUseError("the folder for certificates has no name")
    target = Path(folder)
    try:
        is_taken = target.exists() and (not target.is_dir() or any(target.iterdir()))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise WrongUseError(f"{folder}: {reason}") from None
    if is_taken:
        raise WrongUseError(
            f"{folder}: exists, and certificates are not overwritten", "give another folder"
        )


def write_certificates(folder: str, holders: Mapping[str, Holder], days: int) -> datetime.datetime:
    """Make an authority and certificates, each in a folder of its own; all at once or nothing.

    Args:
        folder: made here; it may exist if it is empty.
        holders: by the name of the folder that each is to have in it.
        days: from now, for which they are valid.

    Returns:
        When they expire.

    Raises:
        WrongUseError: the folder holds something, or a holder's name cannot be that of a folder.
        PlinkError: it cannot be written.
    """
    for name in holders:
        if not _FOLDER_NAME.fullmatch(name):
            raise WrongUseError(f"host {name!r} cannot have a folder of that name")
    check_folder(folder)
    target = Path(folder)
    now = datetime.datetime.now(datetime.timezone.utc)
    until = now + datetime.timedelta(days=days)
    authority = _Authority(now - _EARLIER, until)
    try:
        with make_folder(target, 0o700) as made:
            for name, holder in holders.items():
                _write_folder(made / name, authority, name, holder)
    except OSError as error:
        raise PlinkError(f"{folder}: {error.strerror or error}") from None
    return until


def _write_folder(folder: Path, authority: _Authority, name: str, holder: Holder) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = authority.signed(name, holder, key.public_key())
    folder.mkdir(mode=0o700)
    _write(folder / AUTHORITY_FILE, authority.certificate.public_bytes(Encoding.PEM))
    _write(folder / CERTIFICATE_FILE, certificate.public_bytes(Encoding.PEM))
    _write(folder / KEY_FILE, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)


class _Authority:
    """Signs what is valid between two moments (X.509, RFC 5280), with ECDSA over P-256."""

    def __init__(self, begin: datetime.datetime, end: datetime.datetime) -> None:
        self._begin, self._end = begin, end
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _common_name("authority of a plink job")
        self.certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def signed(self, name: str, holder: Holder, key: ec.EllipticCurvePublicKey) -> x509.Certificate:
        """A certificate for both ends of a connection."""
        both_ends = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return (
            self._builder(_common_name(name), key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(both_ends), critical=False)
            .add_extension(x509.SubjectAlternativeName(_alternatives(holder)), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._begin)
            .not_valid_after(self._end)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(own, critical=False)
        )


def _common_name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:_MOST_COMMON_NAME])])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternatives(holder: Holder) -> list[x509.GeneralName]:
    found: list[x509.GeneralName] = []
    for name in dict.fromkeys(holder.names):
        try:
            found.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            if _DNS_NAME.fullmatch(name):
                found.append(x509.DNSName(name))
    named = holder.rank if holder.is_rank else NO_RANK
    if named is not None:
        found.append(x509.UniformResourceIdentifier(f"{RANK_URI}{named}"))
    return found or [x509.DNSName("localhost")]
