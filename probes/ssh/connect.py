"""Opening of SSH connections: directly, through jump hosts or a proxy command; and login."""

from __future__ import annotations

import base64
import logging
import math
import os
import select
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import paramiko

from plink.probes.errors import HostError, HostListError
from plink.probes.hosts.hostlist import ListedHost, check_name
from plink.probes.options import SshOptions
from plink.probes.remote.session import Opener
from plink.probes.ssh.config import SshConfig, Target
from plink.probes.ssh.known_hosts import HostKeyError, KnownHosts, prefer_known, verify
from plink.probes.ssh.session import Closable, SshSession, close_quietly

_DEFAULT_FILES = tuple(f"~/.ssh/id_{kind}" for kind in ("ed25519", "ecdsa", "rsa"))


class NoKeyError(Exception):
    """Error that there is no SSH key to log in with; the message is the reason."""


def authenticate(transport: paramiko.Transport, target: Target) -> None:
    """Log in over SSH with the first key, of the agent or a file, that the server accepts.

    Keys of the agent that belong to the identity files come first, then its other keys unless
    the configuration says IdentitiesOnly, then the files that the agent does not have.

    Raises:
        NoKeyError: there is no key to offer.
        TimeoutError: the server does not answer.
        paramiko.AuthenticationException: the server accepts no key.
    """
    problems: list[str] = []
    agent: paramiko.Agent | None = None
    with suppress(OSError, paramiko.SSHException):
        agent = paramiko.Agent()
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
                raise paramiko.AuthenticationException(
                    "the server demands more than a key, such as a password"
                )
            return
    finally:
        if agent is not None:
            agent.close()
    if refused is None:
        raise NoKeyError("; ".join(problems[:2]))
    raise paramiko.AuthenticationException(str(refused))


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
        key = _load_key(file, problems)
        if key is not None and key.asbytes() not in in_agent:
            yield key


def _public_parts(file: Path) -> Iterator[bytes]:
    """Yield the public keys and certificates, decoded, beside a private key file."""
    for place in (file, Path(f"{file}.pub"), Path(f"{file}-cert.pub")):
        with suppress(OSError, ValueError, IndexError):
            words = place.read_text(errors="replace").split(maxsplit=2)
            if words[0].startswith(("ssh-", "ecdsa-", "sk-")):
                yield base64.b64decode(words[1], validate=True)


def _load_key(file: Path, problems: list[str]) -> paramiko.PKey | None:
    if not file.is_file():
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


def explain(error: Exception, target: Target, timeout_s: float) -> HostError:
    """Convert the error of a failed SSH connection to a HostError with reason and hint."""
    where = f"SSH port {target.port} of {target.hostname}"
    hint: str | None = None
    options: Sequence[str] = ()
    match error:
        case HostError():
            message, hint = f"jump host {error.host}: {error}", error.hint
        case HostKeyError():
            message, hint, options = str(error), error.hint, error.options
        case NoKeyError():
            message = str(error) or "there is no SSH key to offer"
            hint = "name a key file, or load the key into ssh-agent"
        case paramiko.AuthenticationException():
            message = f"SSH refuses user {target.user}"
            hint = "check the user, the key and the SSH configuration"
        case socket.gaierror():
            message = f"the name {target.hostname} cannot be resolved"
        case TimeoutError():
            message = f"{where} does not answer within {timeout_s:g} s"
        case ConnectionRefusedError():
            message = f"{where} refuses the connection"
        case OSError(strerror=str(reason)):
            message = f"{where} cannot be reached ({reason})"
        case _:
            message = f"SSH to {target.hostname} failed ({error or type(error).__name__})"
    return HostError(target.name, message, hint, options)


# Every failure is reported as a HostError; paramiko's own log would repeat it as a traceback.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

_KEEPALIVE_S = 15

_END_WAIT_S = 1.0
# Settings of hosts that are looked up at once.
_MOST_AT_ONCE = 8
_HINT = "correct the list, or give the name a HostName in the SSH configuration"


_Opened = TypeVar("_Opened", bound=Closable)


class SshOpener(Opener):
    """Opener of a run's SSH connections, which share known hosts and jump hosts.

    It owns everything it opens, finished or not: closing it ends them all.
    """

    def __init__(self, options: SshOptions) -> None:
        self._options = options
        self.targets: dict[str, Target] = {}
        self._known = KnownHosts()
        self._lock = threading.Lock()
        self._closed = False
        self._opened: list[Closable] = []
        self._jumps: dict[tuple[Target, ...], Future[paramiko.Transport]] = {}

    def prepare(self, listed: Sequence[ListedHost]) -> None:
        """Find each host's SSH settings; nothing is sent except name look-ups."""
        config = SshConfig(self._options)
        with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
            targets = list(pool.map(config.target, listed))
        self.targets = {
            host.name: _ensure_resolvable(host, target)
            for host, target in zip(listed, targets, strict=True)
        }

    def open(self, host: ListedHost) -> SshSession:
        """Return an SSH session with a host, logged in and with its host key verified."""
        return self.connect(self.targets[host.name])

    def connect(self, target: Target) -> SshSession:
        """Connect to a host over SSH, verify its host key and log in.

        Raises:
            HostError: naming the reason, with a hint where there is one.
        """
        try:
            transport = self._log_in(target, target.jumps)
            # Behind a proxy the name is all that is known.
            address = target.hostname
            if not target.jumps and target.proxy_command is None:
                address = transport.getpeername()[0].removeprefix("::ffff:")
            return SshSession(target.name, transport, address, target.hostname)
        except Exception as error:
            raise explain(error, target, self._options.timeout_s) from None

    def close(self) -> None:
        """Close every connection, including those still being opened."""
        with self._lock:
            self._closed = True
            opened = list(self._opened)
        # The last first: what goes through a jump host before the jump host.
        for thing in reversed(opened):
            close_quietly(thing)

    def _log_in(self, target: Target, jumps: tuple[Target, ...]) -> paramiko.Transport:
        known = self._known.of(target.host_key_name, target.known_hosts_files)
        connection = self._register(self._socket(target, jumps))
        transport = self._register(paramiko.Transport(connection))
        timeout_s = self._options.timeout_s
        transport.auth_timeout = transport.channel_timeout = timeout_s
        # `start_client` has the limit, so that silence is told from a wrong answer; what waits for
        # the banner ends when the transport is closed.
        transport.banner_timeout = math.inf
        try:
            prefer_known(transport, known)
            transport.start_client(timeout=timeout_s)
            if not transport.initial_kex_done:
                raise TimeoutError
            verify(transport.get_remote_server_key(), target, known, self._known)
            authenticate(transport, target)
            transport.set_keepalive(_KEEPALIVE_S)
        except BaseException:
            close_quietly(transport)
            # A transport that never began leaves it open.
            close_quietly(connection)
            raise
        return transport

    def _register(self, thing: _Opened) -> _Opened:
        with self._lock:
            if not self._closed:
                self._opened.append(thing)
                return thing
        close_quietly(thing)
        raise InterruptedError("interrupted")

    def _socket(
        self, target: Target, jumps: tuple[Target, ...]
    ) -> socket.socket | paramiko.Channel | ProxyCommand:
        timeout_s = self._options.timeout_s
        if jumps:
            address = (target.hostname, target.port)
            return self._jump(jumps).open_channel(
                "direct-tcpip", address, ("", 0), timeout=timeout_s
            )
        if target.proxy_command is not None:
            # Its name is in the command by now, and the command may be a shell.
            check_name(target.name, "a proxy command")
            return ProxyCommand(target.proxy_command)
        connection = socket.create_connection((target.hostname, target.port), timeout=timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def _jump(self, jumps: tuple[Target, ...]) -> paramiko.Transport:
        """Return the SSH connection to the last of `jumps`, opened once and shared by threads."""
        with self._lock:
            is_first = jumps not in self._jumps
            future = self._jumps.setdefault(jumps, Future())
        last = jumps[-1]
        if is_first:
            try:
                future.set_result(self._log_in(last, jumps[:-1] or last.jumps))
            except Exception as error:
                future.set_exception(explain(error, last, self._options.timeout_s))
        return future.result()


class ProxyCommand(paramiko.ProxyCommand):
    """Socket over a ProxyCommand that notices the command's exit (paramiko's own spins).

    paramiko's own reads again and again, without a pause, once the command has ended.
    """

    def recv(self, size: int) -> bytes:
        """Return at most `size` bytes of the command's output; empty once it has ended."""
        pipe = self.process.stdout
        if pipe is None:
            raise TimeoutError
        # Not by `select.select`, which knows no descriptor from 1,024 on.
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        if not poll.poll(None if self.timeout is None else 1e3 * self.timeout):
            raise TimeoutError
        return os.read(pipe.fileno(), size)

    def close(self) -> None:
        """End the proxy command's process and close its pipes, also repeatedly."""
        process = self.process
        process.terminate()
        try:
            process.wait(_END_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _ensure_resolvable(host: ListedHost, target: Target) -> Target:
    """Return the settings, with the address known from before if the name cannot be resolved.

    Raises:
        HostListError: the name has no address, and none is known.
    """
    if target.jumps or target.proxy_command is not None:
        return target
    name = target.hostname
    try:
        socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        if host.ssh_address is not None:
            return replace(target, hostname=host.ssh_address)
        reason = " to an address"
        if isinstance(error, socket.gaierror):
            reason = f" ({(error.strerror or str(error)).lower()})"
        raise HostListError(f"{host.place}: {name} cannot be resolved{reason}", _HINT) from None
    return target
