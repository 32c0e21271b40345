"""Explanation of a failed connection in one sentence."""

from __future__ import annotations

import socket

import paramiko

from plink.probes.errors import HostError
from plink.probes.ssh.config import Target
from plink.probes.ssh.host_certificate import CertificateError
from plink.probes.ssh.keys import NoKeyError
from plink.probes.ssh.known_hosts import (
    ChangedHostKeyError,
    RevokedHostKeyError,
    UnfitNameError,
    UnknownHostKeyError,
    UnreadableKnownHostsError,
)


def explain(error: Exception, target: Target, timeout_s: float) -> HostError:
    """Return the error that names host and reason, with a hint where the user can do something."""
    message, hint = (
        _about_login(error, target)
        or _about_host_key(error, target)
        or _about_certificate(error)
        or _about_network(error, target, timeout_s)
    )
    return HostError(target.name, message, hint)


def _about_login(error: Exception, target: Target) -> tuple[str, str | None] | None:
    match error:
        case HostError():
            return f"jump host {error.host}: {error}", error.hint
        case NoKeyError():
            reason = str(error) or "there is no SSH key to offer"
            return reason, "name a key file, or load the key into ssh-agent"
        case paramiko.AuthenticationException():
            hint = "check the user, the key and the SSH configuration"
            return f"SSH refuses user {target.user}", hint
    return None


def _about_host_key(error: Exception, target: Target) -> tuple[str, str | None] | None:
    match error:
        case UnknownHostKeyError():
            hint = "connect once with ssh, or use accept_new_host_keys=True"
            more = f", and {error}" if str(error) else ""
            return f"its SSH host key is not known{more}", hint
        case UnfitNameError():
            hint = "HostKeyAlias in the SSH configuration sets another one"
            return f"known_hosts cannot have a key under the name {error}", hint
        case ChangedHostKeyError():
            hint = f"if the machine was reinstalled: ssh-keygen -R '{target.host_key_name}'"
            return "its SSH host key is not the one known for it", hint
        case RevokedHostKeyError():
            return "its SSH host key is revoked", "known_hosts marks that key @revoked"
        case UnreadableKnownHostsError():
            return f"its SSH host key is not known, and {error} cannot be read", None
    return None


def _about_certificate(error: Exception) -> tuple[str, str] | None:
    if not isinstance(error, CertificateError):
        return None
    hint = "have the host certified again, or put the host's own key into known_hosts"
    if "not for" in str(error):
        hint = "HostKeyAlias in the SSH configuration says which name it is checked for"
    return f"its SSH host certificate {error}", hint


def _about_network(error: Exception, target: Target, timeout_s: float) -> tuple[str, None]:
    where = f"SSH port {target.port} of {target.hostname}"
    match error:
        case socket.gaierror():
            return f"the name {target.hostname} cannot be resolved", None
        case TimeoutError():
            return f"{where} does not answer within {timeout_s:g} s", None
        case ConnectionRefusedError():
            return f"{where} refuses the connection", None
        case OSError(strerror=str(reason)):
            return f"{where} cannot be reached ({reason})", None
    return f"SSH to {target.hostname} failed ({error or type(error).__name__})", None
