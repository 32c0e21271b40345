"""Sessions through a command such as `kubectl exec`, `docker exec`, `srun` or `nsenter`."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from plink.probes.errors import HostError, OptionError
from plink.probes.hosts.hostlist import ListedHost, check_host
from plink.probes.options import ViaOptions
from plink.probes.remote import session as remote

_HOST = "{host}"
_COMMAND = "{command}"
_HINT = "write it as in 'kubectl exec -i {host} --'"


@dataclass(frozen=True)
class Template:
    """Command template, as words, that runs a shell command on a host; no local shell parses it."""

    words: tuple[str, ...]

    def argv(self, host: str, command: str) -> list[str]:
        """Return the words of the local command that runs a shell command on a host.

        Where the template has `{command}`, one word stands there, as `ssh` and all that join their
        words need it: `sh -c COMMAND`, quoted for a shell. Else the words `sh`, `-c` and the
        command follow, as `docker exec`, `kubectl exec` and `srun` need them.
        """
        shell = ["sh", "-c", command]
        filled = [
            word.replace(_HOST, host).replace(_COMMAND, shlex.join(shell)) for word in self.words
        ]
        return filled if any(_COMMAND in word for word in self.words) else [*filled, *shell]


def parse_template(text: str) -> Template:
    """Parse a command template with `{host}`, split into words as a shell does.

    Raises:
        OptionError: an unclosed quote, no `{host}`, or nothing to start.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        reason = str(error).lower()
        raise OptionError(
            f"the command {text!r} cannot be split into words ({reason})", _HINT
        ) from None
    if not any(_HOST in word for word in words):
        raise OptionError(f"the command {text!r} does not contain {_HOST}", _HINT)
    if not text.isprintable():
        raise OptionError(f"the command {text!r} has control characters", _HINT)
    return Template(tuple(words))


_CHUNK = 1 << 16
# A command whose input has ended may still say goodbye to a server far away.
_GOODBYE_S = 2.0
_TERMINATE_S = 1.0


class _ViaProcess(remote.RemoteProcess):
    """Command on a host that runs through a local command such as `kubectl exec`."""

    def __init__(self, host: str, process: subprocess.Popen[bytes]) -> None:
        super().__init__(host)
        self._process = process
        self._is_read = self._is_over = False
        self._stderr = remote.StderrTail(_read_chunks(process.stderr))

    def write_bytes(self, content: bytes) -> None:
        stdin, rest = _pipe(self._process.stdin), memoryview(content)
        try:
            while rest:
                rest = rest[stdin.write(rest) :]
        except (OSError, ValueError):
            raise HostError(self.host, remote.LOST) from None

    def chunks(self) -> Iterator[bytes]:
        self._is_read = True
        try:
            yield from _read_chunks(self._process.stdout)
        except (OSError, ValueError):
            # It was ended before anybody read.
            raise HostError(self.host, remote.LOST) from None
        self._is_over = True

    def end_input(self) -> None:
        with suppress(OSError):
            _pipe(self._process.stdin).close()

    def stderr_tail(self) -> str:
        return self._stderr.last_line()

    def wait_for_exit(self, timeout_s: float) -> int | None:
        try:
            return max(-1, self._process.wait(timeout_s))
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """Close the command's input and return; end it in the background if it still runs."""
        self.end_input()
        threading.Thread(target=self.end, daemon=True).start()

    def abandon(self) -> None:
        """Kill the local command's process at once."""
        remote.signal_group(self._process, signal.SIGKILL)
        self.wait_for_exit(_TERMINATE_S)

    def end(self) -> None:
        """Close the command's input and wait; end its process group if it takes too long."""
        self.end_input()
        remote.end_group(self._process, _GOODBYE_S, _TERMINATE_S)
        self._is_over = True
        if not self._is_read:
            _pipe(self._process.stdout).close()

    @property
    def is_over(self) -> bool:
        """Whether the process has ended and its output was read to the end."""
        return self._is_over and self._process.poll() is not None


class ViaSession(remote.Session):
    """Session with a host that runs each command through a command template."""

    def __init__(self, host: str, address: str, template: Template) -> None:
        super().__init__(host, address)
        self._template = template
        self._lock = threading.Lock()
        self._is_closed = False
        self._started: list[_ViaProcess] = []

    def start(self, command: str, timeout_s: float = 30.0) -> _ViaProcess:  # noqa: ARG002
        """Start a shell command; if it cannot run there, its output ends at once."""
        argv = self._template.argv(self.host, command)
        pipe = subprocess.PIPE
        try:
            # A session of its own: Ctrl-C reaches plink alone, which then ends the command.
            started = subprocess.Popen(
                argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise HostError(self.host, f"{argv[0]} cannot be started ({reason})") from None
        process = _ViaProcess(self.host, started)
        with self._lock:
            self._started = [known for known in self._started if not known.is_over]
            if not self._is_closed:
                self._started.append(process)
                return process
        process.abandon()
        process.end()
        raise HostError(self.host, remote.LOST)

    def close(self) -> None:
        """End all commands that were started in this session, and wait for them."""
        with self._lock:
            self._is_closed = True
            started, self._started = self._started, []
        for process in started:
            process.end_input()
        for process in started:
            process.end()


def _read_chunks(stream: IO[bytes] | None) -> Iterator[bytes]:
    """Yield what comes from a pipe until its end, and close it."""
    with _pipe(stream) as pipe:
        while chunk := os.read(pipe.fileno(), _CHUNK):
            yield chunk


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise ValueError("not a pipe")
    return stream


class ViaOpener(remote.Opener):
    """Opener of sessions that reach each host through a command template.

    Raises:
        OptionError: the template cannot be used.
    """

    def __init__(self, options: ViaOptions) -> None:
        self._template = parse_template(options.template)
        self._opened: list[ViaSession] = []

    def prepare(self, listed: Sequence[ListedHost]) -> None:
        """Check that host names are safe in the command, and that its program is installed."""
        for host in listed:
            check_host(host)
        program = self._template.words[0]
        if shutil.which(program) is None:
            raise OptionError(
                f"the program {program} is not installed here",
                "the command that reaches hosts must begin with a program",
            )

    def open(self, host: ListedHost) -> ViaSession:
        """Return a session with a host; nothing is started yet."""
        address = host.ssh_address or host.name
        # A name that this machine cannot resolve, such as a pod's, stays as it is.
        with suppress(OSError, ValueError):
            if host.ssh_address is None:
                address = str(socket.getaddrinfo(host.name, None)[0][4][0])
        session = ViaSession(host.name, address, self._template)
        self._opened.append(session)
        return session

    def close(self) -> None:
        """End all commands that were started on any host."""
        if self._opened:
            with ThreadPoolExecutor(max_workers=min(64, len(self._opened))) as executor:
                list(executor.map(ViaSession.close, self._opened))
