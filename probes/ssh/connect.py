"""Opening of SSH connections, directly or through jump hosts or a proxy command."""

from __future__ import annotations

import logging
import os
import select
import socket
import subprocess
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import Protocol, TypeVar

import paramiko

from plink.probes.hosts.hostlist import check_name
from plink.probes.ssh.config import Target
from plink.probes.ssh.explain import explain
from plink.probes.ssh.keys import authenticate
from plink.probes.ssh.known_hosts import KnownHosts, prefer_known, verify
from plink.probes.ssh.options import SshOptions
from plink.probes.ssh.session import SshSession

# Every failure is reported as a HostError; paramiko's own log would repeat it as a traceback.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

_KEEPALIVE_S = 15

_END_WAIT_S = 1.0


class _Closable(Protocol):
    def close(self) -> object: ...


_Opened = TypeVar("_Opened", bound=_Closable)


class Connector:
    """Opener of a run's connections, which share known hosts and jump hosts.

    It owns everything it opens, finished or not: closing it ends them all.
    """

    def __init__(self, options: SshOptions) -> None:
        self._options = options
        self._known = KnownHosts()
        self._lock = threading.Lock()
        self._closed = False
        self._opened: list[_Closable] = []
        self._jumps: dict[tuple[Target, ...], Future[paramiko.Transport]] = {}

    def connect(self, target: Target) -> SshSession:
        """Connect, authenticate and verify the host key.

        Raises:
            HostError: naming the reason, with a hint where there is one.
        """
        try:
            transport = self._log_in(target, target.jumps)
            return SshSession(
                target.name, transport, _peer_address(transport, target), target.hostname
            )
        except Exception as error:
            raise explain(error, target, self._options.timeout_s) from None

    def close(self) -> None:
        """Close every connection, including those still being opened."""
        with self._lock:
            self._closed = True
            opened = list(self._opened)
        # The last first: what goes through a jump host before the jump host.
        for thing in reversed(opened):
            _close(thing)

    def _log_in(self, target: Target, jumps: tuple[Target, ...]) -> paramiko.Transport:
        known = self._known.of(target.host_key_name, target.known_hosts_files)
        connection = self._own(self._socket(target, jumps))
        transport = self._own(paramiko.Transport(connection))
        timeout_s = self._options.timeout_s
        transport.auth_timeout = transport.channel_timeout = timeout_s
        # Later than the limit below, which tells silence from a wrong answer.
        transport.banner_timeout = timeout_s + 1
        try:
            prefer_known(transport, known)
            transport.start_client(timeout=timeout_s)
            if not transport.initial_kex_done:
                raise TimeoutError
            verify(transport.get_remote_server_key(), target, known, self._known)
            authenticate(transport, target)
            transport.set_keepalive(_KEEPALIVE_S)
        except BaseException:
            _close(transport)
            # A transport that never began leaves it open.
            _close(connection)
            raise
        return transport

    def _own(self, thing: _Opened) -> _Opened:
        with self._lock:
            if not self._closed:
                self._opened.append(thing)
                return thing
        _close(thing)
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
        """Return the connection to the last of `jumps`, opened once and shared."""
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


def _close(thing: _Closable) -> None:
    with suppress(OSError, EOFError, paramiko.SSHException):
        thing.close()


def _peer_address(transport: paramiko.Transport, target: Target) -> str:
    """Return the remote address of a connection, or the host's name behind a proxy."""
    if target.jumps or target.proxy_command is not None:
        return target.hostname
    peer: tuple[str, int] = transport.getpeername()
    return peer[0].removeprefix("::ffff:")


class ProxyCommand(paramiko.ProxyCommand):
    """Proxy command whose exit is detected and whose process and pipes are closed.

    paramiko's own reads again and again, without a pause, once the command has ended.
    """

    def recv(self, size: int) -> bytes:
        """Return at most `size` bytes of the command's output; empty once it has ended."""
        pipe = self.process.stdout
        if pipe is None or not select.select([pipe], [], [], self.timeout)[0]:
            raise TimeoutError
        return os.read(pipe.fileno(), size)

    def close(self) -> None:
        """End the process; idempotent."""
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
