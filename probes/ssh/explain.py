"""Why a connection failed, in one sentence for a person."""

from __future__ import annotations

import socket

import paramiko

from probes.errors import HostError
from probes.ssh.config import Target
from probes.ssh.known_hosts import UnknownHostKeyError


def explain(error: Exception, target: Target, timeout_s: float) -> HostError:
    """The error that names host and reason, with a hint where there is something to do."""
    message, hint = _about_ssh(error, target) or _about_network(error, target, timeout_s)
    return HostError(target.name, message, hint)


def _about_ssh(error: Exception, target: Target) -> tuple[str, str | None] | None:
    match error:
        case HostError():
            return f"jump host {error.host}: {error}", error.hint
        case UnknownHostKeyError():
            hint = "connect once with ssh, or use --accept-new-host-keys"
            return "its SSH host key is not known", hint
        case paramiko.BadHostKeyException():
            hint = f"if the machine was reinstalled: ssh-keygen -R '{target.host_key_name}'"
            return "its SSH host key is not the one known for it", hint
        case paramiko.PasswordRequiredException():
            return "the SSH key needs a passphrase", "load the key into ssh-agent"
        case paramiko.AuthenticationException():
            hint = "check --user, -i and the SSH configuration (-F)"
            return f"SSH refuses user {target.user}", hint
    return None


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
