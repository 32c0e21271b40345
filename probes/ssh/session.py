"""Session over SSH, with limits for hosts that do not answer, do not read or never stop sending."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import paramiko
from paramiko.buffered_pipe import BufferedPipe

from plink.probes.errors import HostError
from plink.probes.remote import session as remote

# A close says goodbye to the server, which cannot be sent where the connection takes nothing.
_GOODBYE_S = 2.0


class _ChannelTimeout:
    """Timer that closes an SSH channel and, if that does not help, its connection.

    A context manager around the calls that may wait; `passed` says whether the time was over.
    """

    def __init__(
        self, channel: paramiko.Channel, transport: paramiko.Transport, timeout_s: float
    ) -> None:
        self.passed = False
        self._channel = channel
        self._timers = (
            threading.Timer(max(0.0, timeout_s), self._expire),
            threading.Timer(max(0.0, timeout_s) + _GOODBYE_S, transport.close),
        )

    def __enter__(self) -> _ChannelTimeout:
        for timer in self._timers:
            timer.daemon = True
            timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        for timer in self._timers:
            timer.cancel()

    def _expire(self) -> None:
        self.passed = True
        self._channel.close()


class TailPipe(BufferedPipe):  # type: ignore[type-arg]  # generic in the stubs alone
    """Buffer of an SSH channel's input that keeps only the last `most_bytes` bytes.

    Dropped bytes do not count as read, so that an honest server stops sending when its window is
    full; one that does not still fills no memory.
    """

    def __init__(self, most_bytes: int) -> None:
        super().__init__()
        self._most_bytes = most_bytes

    def feed(self, data: bytes | str) -> None:
        """Append bytes that arrived, and drop the oldest beyond the limit."""
        super().feed(data)
        surplus = len(self) - self._most_bytes
        if surplus > 0:
            self.read(surplus)


_STDERR_TAIL = 4096
_STDERR_WAIT_S = 5.0
_CHUNK = 1 << 16

# A connection that breaks ends its channels a moment before it counts as broken.
_LOSS_NOTICE_S = 0.5


class _SshProcess(remote.RemoteProcess):
    """Remote command in an SSH channel of its own."""

    def __init__(self, host: str, channel: paramiko.Channel) -> None:
        super().__init__(host)
        self._channel = channel

    def write(self, text: str) -> None:
        try:
            self._channel.sendall(text.encode())
        except (OSError, EOFError, paramiko.SSHException):
            raise HostError(self.host, remote.LOST) from None

    def chunks(self) -> Iterator[bytes]:
        while chunk := self._channel.recv(_CHUNK):
            yield chunk
        if not self._channel.eof_received and _is_lost(self._channel):
            raise HostError(self.host, remote.LOST)

    def end_input(self) -> None:
        with suppress(OSError, EOFError, paramiko.SSHException):
            self._channel.shutdown_write()

    def stderr_tail(self) -> str:
        end_s = time.monotonic() + _STDERR_WAIT_S
        tail = b""
        try:
            while (left_s := end_s - time.monotonic()) > 0:
                self._channel.settimeout(left_s)
                chunk = self._channel.recv_stderr(_CHUNK)
                if not chunk:
                    break
                tail = (tail + chunk)[-_STDERR_TAIL:]
        except TimeoutError:
            pass
        finally:
            self._channel.settimeout(None)
        return remote.last_line(tail)

    def wait_for_exit(self, timeout_s: float) -> int | None:
        if not self._channel.status_event.wait(timeout_s):
            return None
        return self._channel.recv_exit_status()

    def close(self) -> None:
        self._channel.close()

    def abandon(self) -> None:
        self._channel.get_transport().close()


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
        channel.in_stderr_buffer = TailPipe(_STDERR_TAIL)
        with _ChannelTimeout(channel, self._transport, timeout_s) as deadline:
            try:
                channel.exec_command(command)
            except (OSError, EOFError, paramiko.SSHException) as error:
                channel.close()
                reason = f"it does not start within {timeout_s:g} s" if deadline.passed else error
                raise HostError(self.host, f"cannot run a command: {reason}") from None
        if deadline.passed:
            raise HostError(self.host, f"a command did not start within {timeout_s:g} s")
        return _SshProcess(self.host, channel)

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> remote.Completed:
        """Run a shell command; return its output and exit status when it ends."""
        end_s = time.monotonic() + timeout_s
        channel = self._open_channel(timeout_s)
        try:
            with _ChannelTimeout(channel, self._transport, end_s - time.monotonic()) as deadline:
                completed = self._converse(channel, command, stdin)
        except (OSError, EOFError, paramiko.SSHException) as error:
            completed = None
            reason = f"{remote.LOST} while running a command ({error or 'it was closed'})"
        finally:
            channel.close()
        if deadline.passed:
            raise HostError(self.host, f"a command did not end within {timeout_s:g} s")
        if completed is None:
            raise HostError(self.host, reason)
        return completed

    def _converse(self, channel: paramiko.Channel, command: str, stdin: bytes) -> remote.Completed:
        channel.exec_command(command)
        # Read aside, lest a command that fills one stream waits while the other is read.
        stderr = bytearray()
        aside = threading.Thread(target=_read, args=(channel.recv_stderr, stderr), daemon=True)
        aside.start()
        with suppress(OSError):  # a command may end without having read its input
            channel.sendall(stdin)
            channel.shutdown_write()
        stdout = bytearray()
        if not _read(channel.recv, stdout):
            channel.close()
            raise HostError(self.host, f"a command wrote more than {remote.MAX_OUTPUT >> 20} MiB")
        aside.join()
        status = channel.recv_exit_status()
        if status == -1 and _is_lost(channel):
            raise HostError(self.host, remote.LOST)
        return remote.Completed(status, bytes(stdout), stderr.decode(errors="replace").strip())

    @property
    def is_open(self) -> bool:
        """Whether the SSH connection is alive."""
        return bool(self._transport.is_active())

    def close(self) -> None:
        """Close the SSH connection, which ends its commands."""
        self._transport.close()

    def _open_channel(self, timeout_s: float) -> paramiko.Channel:
        if not self._transport.is_active():
            raise HostError(self.host, remote.LOST)
        try:
            return self._transport.open_session(timeout=timeout_s)
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise HostError(self.host, f"the SSH server opens no channel ({error})") from None


def _read(receive: Callable[[int], bytes], into: bytearray) -> bool:
    """Read a channel into `into` until its end; return False after `MAX_OUTPUT` bytes."""
    while chunk := receive(_CHUNK):
        into += chunk
        if len(into) > remote.MAX_OUTPUT:
            return False
    return True


def _is_lost(channel: paramiko.Channel) -> bool:
    """Return whether a channel ended because its connection was lost."""
    transport = channel.get_transport()
    transport.join(_LOSS_NOTICE_S)
    return not transport.is_active()
