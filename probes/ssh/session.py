"""Session over SSH."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol

import paramiko

from plink.probes.errors import HostError
from plink.probes.remote import session as remote

_CHUNK = 1 << 16

# What paramiko raises where a connection breaks.
BREAKING = (OSError, EOFError, paramiko.SSHException)
# A connection that breaks ends its channels a moment before it counts as broken.
_LOSS_NOTICE_S = 0.5


class Closable(Protocol):
    """A connection, or a part of one, that can be closed."""

    def close(self) -> object:
        """Close the connection, or this part of one."""


class _SshProcess(remote.RemoteProcess):
    """Remote command in an SSH channel of its own."""

    def __init__(self, host: str, channel: paramiko.Channel) -> None:
        super().__init__(host)
        self._channel = channel
        self._is_closed = False
        self._stderr = remote.StderrTail(iter(self._read_stderr, b""))

    def write_bytes(self, content: bytes) -> None:
        try:
            self._channel.sendall(content)
        except BREAKING:
            raise HostError(self.host, remote.LOST) from None

    def chunks(self) -> Iterator[bytes]:
        while chunk := self._read():
            yield chunk
        if not self._channel.eof_received and self._is_lost(_LOSS_NOTICE_S):
            raise HostError(self.host, remote.LOST)

    def end_input(self) -> None:
        with suppress(*BREAKING):
            self._channel.shutdown_write()

    def stderr_tail(self) -> str:
        return self._stderr.last_line()

    def wait_for_exit(self, timeout_s: float) -> int | None:
        end_s = time.monotonic() + timeout_s
        if not self._channel.status_event.wait(timeout_s):
            return None
        status = self._channel.recv_exit_status()
        # paramiko gives that status for a lost connection, too.
        left_s = max(0.0, end_s - time.monotonic())
        if status == -1 and self._is_lost(min(left_s, _LOSS_NOTICE_S)):
            raise HostError(self.host, remote.LOST)
        return status

    def close(self) -> None:
        self._is_closed = True
        close_quietly(self._channel)

    def abandon(self) -> None:
        close_quietly(self._channel.get_transport())

    def _is_lost(self, notice_s: float) -> bool:
        """Return whether the channel, which just ended, did so because its connection was lost."""
        # OpenSSH sends at least one of them before it closes a channel.
        has_end = self._channel.eof_received or self._channel.exit_status != -1
        if not has_end and not self._is_closed:
            return True
        transport = self._channel.get_transport()
        transport.join(notice_s)
        return not transport.is_active()

    def _read(self) -> bytes:
        # paramiko acknowledges what was read, which fails where the connection is breaking.
        try:
            return bytes(self._channel.recv(_CHUNK))
        except BREAKING:
            raise HostError(self.host, remote.LOST) from None

    def _read_stderr(self) -> bytes:
        try:
            return bytes(self._channel.recv_stderr(_CHUNK))
        except BREAKING:
            return b""


class SshSession(remote.Session):
    """SSH session with a host, which runs each command in a channel of its own."""

    def __init__(
        self, host: str, transport: paramiko.Transport, address: str, hostname: str | None
    ) -> None:
        super().__init__(host, address, hostname)
        self._transport = transport

    def start(self, command: str, timeout_s: float = 30.0) -> _SshProcess:
        """Start a shell command; return as soon as the server confirms it."""
        channel = self._open_channel(timeout_s)
        process = _SshProcess(self.host, channel)
        with remote.ProcessDeadline(process, timeout_s) as deadline:
            try:
                channel.exec_command(command)
            except BREAKING as error:
                process.close()
                reason = f"it does not start within {timeout_s:g} s" if deadline.is_over else error
                raise HostError(self.host, f"cannot run a command: {reason}") from None
        if deadline.is_over:
            raise HostError(self.host, f"a command did not start within {timeout_s:g} s")
        return process

    @property
    def is_open(self) -> bool:
        """Whether the SSH connection is alive."""
        return bool(self._transport.is_active())

    def close(self) -> None:
        """Close the SSH connection, which ends its commands."""
        close_quietly(self._transport)

    def _open_channel(self, timeout_s: float) -> paramiko.Channel:
        if not self._transport.is_active():
            raise HostError(self.host, remote.LOST)
        try:
            return self._transport.open_session(timeout=timeout_s)
        except BREAKING as error:
            raise HostError(self.host, f"the SSH server opens no channel ({error})") from None


def close_quietly(thing: Closable) -> None:
    """Close what is SSH's or below it; paramiko says goodbye, also where the connection breaks."""
    with suppress(*BREAKING):
        thing.close()
