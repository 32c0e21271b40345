"""TLS around a connection to a server, if asked for: 1.3, and both ends show certificates.

It goes around the proofs of the secret, which stay: a certificate says who may knock.
"""

from __future__ import annotations

import socket
import ssl

from plink.base.errors import WrongUseError
from plink.transport.frames import ProtocolError
from plink.transport.tls import Tls

# How records begin (RFC 8446, §5.1): a hand-shake's, and an alert's.
HANDSHAKE = b"\x16\x03"
ALERT = b"\x15\x03"

_REFUSALS = {
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "it has expired",
    "TLSV1_ALERT_UNKNOWN_CA": "its authority did not sign it",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "there was none",
    # OpenSSL has no alert of its own for the first.
    "SSLV3_ALERT_BAD_CERTIFICATE": "it is not valid yet, by the clock there, or is broken",
}


def context_of(tls: Tls, *, is_server: bool) -> ssl.SSLContext:
    """Build the TLS context of one end.

    Args:
        tls: the files, each of which can be read.
        is_server: which end it is.

    Raises:
        WrongUseError: a file does not hold what it should.
    """
    protocol = ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    # Who is there is decided by the job's own authority, whatever its address.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    if is_server:
        # Who reads what is no message would wait for one.
        context.num_tickets = 0
    try:
        context.load_cert_chain(tls.certificate, tls.key, password=_no_pass_phrase)
    except (ssl.SSLError, ValueError) as error:
        raise WrongUseError(
            f"{tls.certificate} and {tls.key} are no certificate and its key: {_reason(error)}"
        ) from None
    try:
        context.load_verify_locations(tls.authority)
    except ssl.SSLError as error:
        raise WrongUseError(f"{tls.authority} is no authority: {_reason(error)}") from None
    return context


def encrypt(connection: socket.socket, tls: Tls | None, server: str) -> socket.socket:
    """Return the connection to a server, by TLS if that is asked for; it replaces the one given.

    Args:
        connection: as it was made.
        tls: the files, each of which can be read; None without TLS.
        server: what messages call it.

    Raises:
        ProtocolError: the server does not speak TLS, or shows another job's certificate.
        OSError: the connection is lost.
    """
    if tls is None:
        return connection
    try:
        return context_of(tls, is_server=False).wrap_socket(connection)
    except (ssl.SSLError, ConnectionResetError) as error:
        raise ProtocolError(f"{server} {said_of(error)}") from None


def receive(connection: socket.socket, most_bytes: int, server: str) -> bytes:
    """Return the bytes at hand; empty at the end.

    Args:
        connection: to the server.
        most_bytes: to take at once.
        server: what messages call it.

    Raises:
        ProtocolError: the server refused this end's certificate.
        OSError: the connection is lost.
    """
    try:
        data = connection.recv(most_bytes)
        # What is decrypted wakes nobody who waits for the socket.
        while isinstance(connection, ssl.SSLSocket) and connection.pending():
            data += connection.recv(most_bytes)
    except ssl.SSLError as error:
        raise ProtocolError(f"{server} {said_of(error)}") from None
    return data


def said_of(error: OSError) -> str:
    """Describe why TLS with the other end failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"has a certificate that cannot be believed: {error.verify_message}"
    reason = getattr(error, "reason", None) or ""
    if reason in _REFUSALS:
        return f"refused this end's certificate: {_REFUSALS[reason]}"
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return "has no certificate"
    if reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
        return "does not speak TLS"
    if isinstance(error, (ssl.SSLEOFError, ConnectionResetError)):
        return "broke off the hand-shake of TLS: does it use TLS, too?"
    return f"broke off TLS: {_reason(error)}"


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or str(error)


def _no_pass_phrase() -> str:
    raise ValueError("the key has a pass phrase")
