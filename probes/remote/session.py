"""Session with a host, whatever the connection: run a command there, or exchange lines with one."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plink.probes.errors import HostError
from plink.probes.hosts.hostlist import ListedHost

# The longest line in use: what fping says of 10,000 probes, 7 bytes each.
MAX_LINE = 1 << 17
MAX_OUTPUT = 8 << 20
# Why a host says no more, and takes no more.
LOST = "the connection was lost"


@dataclass(frozen=True)
class Completed:
    """Result of a remote command; `status` is -1 if a signal killed it."""

    status: int
    stdout: bytes
    stderr: str


@dataclass(frozen=True)
class OutputEnded:
    """Event that a program's output has ended, with the reason."""

    reason: str


class RemoteProcess(ABC):
    """Running remote command; it must exit when its standard input is closed."""

    def __init__(self, host: str) -> None:
        self.host = host

    @abstractmethod
    def write(self, text: str) -> None:
        """Send text to the process's standard input.

        Raises:
            HostError: the connection or the command is gone.
        """

    @abstractmethod
    def chunks(self) -> Iterator[bytes]:
        """Yield the command's standard output as it arrives, until it closes.

        Raises:
            HostError: the connection is lost.
        """

    @abstractmethod
    def end_input(self) -> None:
        """Close the process's standard input but continue to read its output."""

    @abstractmethod
    def stderr_tail(self) -> str:
        """Return the last line of standard error; call this when the output has ended."""

    @abstractmethod
    def wait_for_exit(self, timeout_s: float) -> int | None:
        """Wait for the exit status; -1 if the command was killed, None if it still runs."""

    @abstractmethod
    def close(self) -> None:
        """Close the process's input and output."""

    @abstractmethod
    def abandon(self) -> None:
        """Drop the connection to the host without waiting."""

    def lines(self) -> Iterator[str]:
        """Yield the lines of standard output, without line ends, until its end.

        Raises:
            HostError: what it sends is not text, a line is longer than `MAX_LINE` bytes, or the
                connection is lost.
        """
        rest = b""
        for chunk in self.chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield self._text_of(line + b"\n")
            self._check_length(rest)
        if rest:
            yield self._text_of(rest)

    def _text_of(self, line: bytes) -> str:
        self._check_length(line)
        try:
            return line.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise HostError(self.host, "sent bytes that are not text") from None

    def _check_length(self, line: bytes) -> None:
        if len(line) > MAX_LINE:
            raise HostError(self.host, f"sent a line longer than {MAX_LINE >> 10} KiB")


class Session(ABC):
    """Open session with the host called `host` in the host list.

    Args:
        host: its name.
        address: the address at which it was reached, or a name where that is not known.
        hostname: the name or address under which SSH reached it; None for other ways.
    """

    def __init__(self, host: str, address: str, hostname: str | None = None) -> None:
        self.host = host
        self.address = address
        self.hostname = hostname

    @abstractmethod
    def start(self, command: str, timeout_s: float = 30.0) -> RemoteProcess:
        """Start a shell command; return as soon as it runs, as far as can be known.

        Raises:
            HostError: the connection is gone, or nothing starts within `timeout_s`.
        """

    @abstractmethod
    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:
        """Run a shell command and wait for its end.

        Raises:
            HostError: the connection is lost, the command takes longer than `timeout_s`, or it
                writes more than `MAX_OUTPUT` bytes.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the session; commands that run there lose their input and output."""


def last_line(output: bytes) -> str:
    """Return the last line of a text that is not blank; empty if there is none."""
    text = output.decode(errors="replace").strip()
    return text.splitlines()[-1] if text else ""


def posix_command(script: str, *arguments: str) -> str:
    """Return the command that runs `script` in a POSIX shell with `arguments` as $1, $2, ..."""
    return " ".join(shlex.quote(word) for word in ("sh", "-c", script, "sh", *arguments))


class Opener(ABC):
    """Opener of sessions, which it closes when it is closed itself."""

    @abstractmethod
    def prepare(self, listed: Sequence[ListedHost]) -> None:
        """Check the hosts of a run before any of them is contacted.

        Raises:
            HostListError, OptionError: a host or an option that cannot be used.
        """

    @abstractmethod
    def open(self, host: ListedHost) -> Session:
        """Return a session with one of the prepared hosts.

        Threads call it for different hosts.

        Raises:
            HostError: it cannot be reached.
        """

    @abstractmethod
    def close(self) -> None:
        """Close every session, including those still being opened."""
