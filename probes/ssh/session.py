"""One authenticated SSH connection to one host: run a command, or hold a conversation with one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import paramiko

from probes.errors import HostError

_STDERR_LIMIT = 4096


@dataclass(frozen=True)
class Completed:
    """A remote command that ended. `status` is -1 where it was killed by a signal."""

    status: int
    stdout: bytes
    stderr: str


class RemoteProcess:
    """A running remote command. It must end when its standard input does: closing ends it."""

    def __init__(self, host: str, channel: paramiko.Channel) -> None:
        self.host = host
        self._channel = channel

    def write(self, text: str) -> None:
        """Send text to its standard input.

        Raises:
            HostError: the connection or the command is gone.
        """
        try:
            self._channel.sendall(text.encode())
        except (OSError, EOFError, paramiko.SSHException):
            raise HostError(self.host, "the connection was lost") from None

    def lines(self) -> Iterator[str]:
        """The lines of its standard output, without line ends, until it closes it.

        Raises:
            HostError: what it sends is not text.
        """
        with self._channel.makefile("rb") as stream:
            for line in stream:
                try:
                    yield line.decode().rstrip("\r\n")
                except UnicodeDecodeError:
                    raise HostError(self.host, "sent bytes that are not text") from None

    def stderr_tail(self) -> str:
        """The last thing it wrote to standard error. Call it when its output has ended."""
        stream = self._channel.makefile_stderr("rb")
        text: str = stream.read(_STDERR_LIMIT).decode(errors="replace").strip()
        return text.splitlines()[-1] if text else ""

    def wait_for_exit(self, timeout_s: float) -> int | None:
        """Its exit status, waited for; -1 where it was killed, None where it still runs."""
        if not self._channel.status_event.wait(timeout_s):
            return None
        return self._channel.recv_exit_status()

    def close(self) -> None:
        """End the conversation; the remote command loses its input and output."""
        self._channel.close()


class Session:
    """An SSH connection to the host called `host` in the host list."""

    def __init__(self, host: str, client: paramiko.SSHClient, address: str) -> None:
        self.host = host
        self.address = address
        self._client = client

    def start(self, command: str) -> RemoteProcess:
        """Start a shell command and return at once.

        Raises:
            HostError: the connection is gone or the server refuses another channel.
        """
        channel = self._open_channel()
        try:
            channel.exec_command(command)
        except (OSError, EOFError, paramiko.SSHException) as error:
            channel.close()
            raise HostError(self.host, f"cannot run a command: {error}") from None
        return RemoteProcess(self.host, channel)

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:
        """Run a shell command to its end.

        Raises:
            HostError: the connection is lost, or the command takes longer than `timeout_s`.
        """
        channel = self._open_channel()
        channel.settimeout(timeout_s)
        try:
            channel.exec_command(command)
            channel.sendall(stdin)
            channel.shutdown_write()
            stdout: bytes = channel.makefile("rb").read()
            stderr: bytes = channel.makefile_stderr("rb").read()
            status = channel.recv_exit_status()
        except TimeoutError:
            raise HostError(self.host, f"a command did not end within {timeout_s:g} s") from None
        except (OSError, EOFError, paramiko.SSHException) as error:
            reason = f"the connection was lost while running a command ({error})"
            raise HostError(self.host, reason) from None
        finally:
            channel.close()
        return Completed(status, stdout, stderr.decode(errors="replace").strip())

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _open_channel(self) -> paramiko.Channel:
        transport = self._client.get_transport()
        if transport is None or not transport.is_active():
            raise HostError(self.host, "the connection was lost")
        try:
            return transport.open_session(timeout=30)
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise HostError(self.host, f"the server opens no channel ({error})") from None
