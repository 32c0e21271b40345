"""Sessions with hosts over any kind of connection, and programs that run on many hosts.

Where a connection is lost, a command does not do what it should in time, or a host sends what it
may not, methods raise `HostError`.
"""

from __future__ import annotations

import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from plink.probes.errors import HostError, ProtocolError, clean
from plink.probes.hosts.hostlist import ListedHost

if TYPE_CHECKING:
    from typing_extensions import Self

# The longest line in use: what fping says of 10,000 probes, 7 bytes each.
MAX_LINE = 1 << 17
MAX_OUTPUT = 8 << 20
# Why a host says no more, and takes no more.
LOST = "the connection was lost"


@dataclass(frozen=True)
class Completed:
    """Result of a finished remote command: exit status, output and last line of standard error.

    The status is -1 if a signal killed the command.
    """

    status: int
    stdout: bytes
    stderr: str


@dataclass(frozen=True)
class OutputEnded:
    """Event that the output of a remote program has ended, with the reason."""

    reason: str


class RemoteProcess(ABC):
    """Running remote command; it must exit when its standard input is closed."""

    def __init__(self, host: str) -> None:
        self.host = host

    def write(self, text: str) -> None:
        """Send text to the process's standard input."""
        self.write_bytes(text.encode())

    @abstractmethod
    def write_bytes(self, content: bytes) -> None:
        """Send bytes to the process's standard input."""

    @abstractmethod
    def chunks(self) -> Iterator[bytes]:
        """Yield the command's standard output in chunks of bytes as they arrive, until it ends."""

    @abstractmethod
    def end_input(self) -> None:
        """Close the process's standard input but continue to read its output."""

    @abstractmethod
    def stderr_tail(self) -> str:
        """Return the last line of standard error; call this once the output has ended."""

    @abstractmethod
    def wait_for_exit(self, timeout_s: float) -> int | None:
        """Return the exit status, -1 if a signal killed the command; None after `timeout_s`.

        Raises:
            HostError: the connection was lost before the command ended.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the command's input and output, whereupon it has to end."""

    @abstractmethod
    def abandon(self) -> None:
        """Drop the connection to the host without waiting for the command."""

    def lines(self) -> Iterator[str]:
        """Yield the command's standard output by line, at most `MAX_LINE` bytes, until it ends."""
        rest = b""
        try:
            for chunk in self.chunks():
                *whole, rest = (rest + chunk).split(b"\n")
                for line in (*whole, rest):
                    if len(line) >= MAX_LINE:
                        raise HostError(self.host, f"sent a line longer than {MAX_LINE >> 10} KiB")
                for line in whole:
                    yield line.decode().rstrip("\r")
            if rest:
                yield rest.decode().rstrip("\r")
        except UnicodeDecodeError:
            raise HostError(self.host, "sent bytes that are not text in UTF-8") from None


_STDERR_TAIL = 4096
_STDERR_WAIT_S = 5.0
# A process ends by itself, or by signals, sooner than that after its close.
_CLOSE_WITHIN_S = 4.0
# A process that is closed, and then abandoned, sends no more after that.
_END_WITHIN_S = _CLOSE_WITHIN_S + 1.0


class StderrTail:
    """Reader of a command's standard error in a thread of its own, which keeps only the end.

    A command that fills the stream would wait if nobody read it.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._tail = b""
        self._reader = threading.Thread(target=self._read, args=(chunks,), daemon=True)
        self._reader.start()

    def last_line(self) -> str:
        """Return the last line once the stream has ended, or of what came within 5 seconds."""
        self._reader.join(_STDERR_WAIT_S)
        return last_line(self._tail)

    def _read(self, chunks: Iterator[bytes]) -> None:
        with suppress(OSError, ValueError):
            for chunk in chunks:
                self._tail = (self._tail + chunk)[-_STDERR_TAIL:]


class ProcessDeadline:
    """Time limit of a remote process: it is closed, and abandoned where that does not end it.

    A context manager around the calls that may wait; `is_over` says whether the time was over.
    """

    def __init__(self, process: RemoteProcess, limit_s: float) -> None:
        self.is_over = False
        self._process = process
        limit_s = max(0.0, limit_s)
        self._timers = (
            threading.Timer(limit_s, self._close),
            # A close says goodbye to the host, which may block for ever.
            threading.Timer(limit_s + _CLOSE_WITHIN_S, process.abandon),
        )

    def __enter__(self) -> ProcessDeadline:
        for timer in self._timers:
            timer.daemon = True
            timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        for timer in self._timers:
            timer.cancel()

    def lines(self, size: int) -> Iterator[str]:
        """Yield lines of the output, at most `size` characters, until its end or the limit."""
        with self:
            for line in self._process.lines():
                size -= len(line)
                if size < 0:
                    raise HostError(
                        self._process.host, "sent more output than the size limit allows"
                    )
                yield line

    def _close(self) -> None:
        self.is_over = True
        self._process.close()


class Session(ABC):
    """Open connection to a host, over which commands run; `hostname` is its name in SSH."""

    def __init__(self, host: str, address: str, hostname: str | None = None) -> None:
        self.host = host
        self.address = address
        self.hostname = hostname

    @abstractmethod
    def start(self, command: str, timeout_s: float = 30.0) -> RemoteProcess:
        """Start a shell command on the host and return it running."""

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:
        """Run a shell command and wait for its end; it may write at most `MAX_OUTPUT` bytes."""
        end_s = time.monotonic() + timeout_s
        process = self.start(command, timeout_s)
        output = bytearray()
        ended: Future[int | None] = Future()

        def read() -> None:
            try:
                for chunk in process.chunks():
                    output.extend(chunk)
                    if len(output) > MAX_OUTPUT:
                        message = f"a command wrote more than {MAX_OUTPUT >> 20} MiB"
                        raise HostError(self.host, message)
                ended.set_result(process.wait_for_exit(end_s - time.monotonic()))
            except BaseException as error:
                ended.set_exception(error)

        status: int | None = None
        try:
            with ProcessDeadline(process, end_s - time.monotonic()) as deadline:
                threading.Thread(target=_feed, args=(process, stdin), daemon=True).start()
                # A helper of the command may hold its output open when the command is gone.
                threading.Thread(target=read, daemon=True).start()
                with suppress(FutureTimeoutError):
                    status = ended.result(max(0.0, end_s - time.monotonic()) + _END_WITHIN_S)
        except HostError:
            # After the deadline the connection may look lost.
            if not deadline.is_over:
                raise
        finally:
            process.close()
        if deadline.is_over or status is None:
            raise HostError(self.host, f"a command did not end within {timeout_s:g} s")
        return Completed(status, bytes(output), process.stderr_tail())

    @abstractmethod
    def close(self) -> None:
        """Close the session; commands that run there lose their input and output."""


def _feed(process: RemoteProcess, stdin: bytes) -> None:
    """Send all of a command's input and close it; the command may end before."""
    with suppress(HostError):
        process.write_bytes(stdin)
    process.end_input()


def last_line(output: bytes) -> str:
    """Return the last line of an output, without blank ones; empty if there is none."""
    text = output.decode(errors="replace").strip()
    return text.splitlines()[-1] if text else ""


def posix_command(script: str, *arguments: str) -> str:
    """Return a shell command that runs `script` by `sh -c` with `arguments` as $1, $2, ..."""
    return " ".join(shlex.quote(word) for word in ("sh", "-c", script, "sh", *arguments))


class Opener(ABC):
    """Interface that opens sessions with the hosts of a run; closing it closes them."""

    @abstractmethod
    def prepare(self, listed: Sequence[ListedHost]) -> None:
        """Check the listed hosts and options before any host is contacted.

        Raises:
            HostListError, OptionError: a host or an option that cannot be used.
        """

    @abstractmethod
    def open(self, host: ListedHost) -> Session:
        """Return a session with one of the prepared hosts; called by a thread for each."""

    @abstractmethod
    def close(self) -> None:
        """Close every session of the opener, including those still being opened."""


Item = TypeVar("Item")
Result = TypeVar("Result")
Message = TypeVar("Message")

_WRITE_WITHIN_S = 10.0
_EXIT_WITHIN_S = 2.0
# A program answers no line by more than two, such as a meeting by its result and its end; a few
# more say why it cannot go on.
_ANSWERS_PER_LINE = 2
_FURTHER_LINES = 4


def for_each(
    work: Callable[[Item], Result], items: Sequence[Item], concurrency: int
) -> Iterator[tuple[Item, Result | HostError]]:
    """Run `work(item)` in `concurrency` threads; yield (item, result or HostError) as they end.

    The threads are daemons, which `concurrent.futures` has not: the interpreter would wait for
    those that hang. Leaving the iteration early starts nothing more; other errors are raised.
    """
    todo: queue.SimpleQueue[Item] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Item, Result | BaseException]] = queue.SimpleQueue()
    left = threading.Event()
    for item in items:
        todo.put(item)

    def serve() -> None:
        while not left.is_set():
            try:
                item = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((item, work(item)))
            except BaseException as error:
                done.put((item, error))

    try:
        for _ in range(min(max(1, concurrency), len(items))):
            threading.Thread(target=serve, daemon=True).start()
        for _ in items:
            item, outcome = done.get()
            if isinstance(outcome, BaseException) and not isinstance(outcome, HostError):
                raise outcome
            yield item, outcome
    finally:
        left.set()


def run_on_all(
    work: Callable[[int], Result], hosts: Sequence[int], concurrency: int
) -> tuple[dict[int, Result], dict[int, HostError]]:
    """Call `work` with each host's index in threads; return results and failures, by index."""
    done: dict[int, Result] = {}
    failures: dict[int, HostError] = {}
    for index, outcome in for_each(work, hosts, concurrency):
        if isinstance(outcome, HostError):
            failures[index] = outcome
        else:
            done[index] = outcome
    return dict(sorted(done.items())), dict(sorted(failures.items()))


class Running:
    """Set of the remote processes that a run has started, so that all can be ended; thread-safe."""

    def __init__(self) -> None:
        self._processes: set[RemoteProcess] = set()
        # After that the processes' output is meaningless.
        self.is_stopped = False
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Close the input and output of all remote processes, whereupon they have to end."""
        with self._lock:
            self.is_stopped = True
            processes = list(self._processes)
        for process in processes:
            process.close()

    @contextmanager
    def start(
        self, session: Session, command: str, timeout_s: float = 30.0
    ) -> Iterator[RemoteProcess]:
        """Start a remote command for a `with` block, and close it at the block's end."""
        process = session.start(command, timeout_s)
        with self._lock:
            self._processes.add(process)
        try:
            yield process
        finally:
            with self._lock:
                self._processes.discard(process)
            process.close()


_LOOK_EVERY_S = 0.5


class StallGuard:
    """Watchdog thread for writes that may block: it abandons a connection after a time limit."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._lock = threading.Lock()
        self._current: tuple[float, Callable[[], None]] | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    @contextmanager
    def guard(self, abandon: Callable[[], None]) -> Iterator[None]:
        """Watch a write in a `with` block; call `abandon` if it takes longer than the limit."""
        with self._lock:
            self._current = (time.monotonic() + self._limit_s, abandon)
        try:
            yield
        finally:
            with self._lock:
                self._current = None

    def stop(self) -> None:
        """End the watchdog's thread."""
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(min(_LOOK_EVERY_S, self._limit_s)):
            with self._lock:
                current, now = self._current, time.monotonic()
                if current is None or now < current[0]:
                    continue
                self._current = None
            current[1]()


class HostPrograms(ABC, Generic[Message]):
    """Programs on hosts, one each, with which plink exchanges lines; the `with` block ends them.

    A context manager: leaving it ends every program.
    """

    # The line that asks a program to end by itself; empty where closing its input is enough.
    farewell: ClassVar[str] = ""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self._sessions = sessions
        self._processes: dict[int, RemoteProcess] = {}
        # Hosts for whose end nobody waits.
        self._given_up: set[int] = set()
        self._lines_sent: dict[int, int] = {}
        self._stalls = StallGuard(_WRITE_WITHIN_S)
        self._readers: list[threading.Thread] = []
        self._messages: queue.Queue[tuple[int, Message | OutputEnded]] = queue.Queue()

    @abstractmethod
    def parse(self, line: str) -> Message:
        """Parse a line of a program's output into a message.

        Raises:
            ProtocolError: it is not one that the program sends.
        """

    @abstractmethod
    def explain_end(self, process: RemoteProcess) -> str:
        """Return why a program ended by itself, such as its last line of standard error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for index in self._processes if self.farewell else ():
            self.send(index, self.farewell)
        deadline = time.monotonic() + _EXIT_WITHIN_S
        for index, process in self._processes.items():
            if self.farewell and index not in self._given_up:
                with suppress(HostError):
                    process.wait_for_exit(max(0.0, deadline - time.monotonic()))
            with self._stalls.guard(process.abandon):
                process.close()
        self._stalls.stop()
        for reader in self._readers:
            reader.join(max(0.1, deadline - time.monotonic()))

    def start_programs(self, commands: Mapping[int, str], concurrency: int) -> dict[int, HostError]:
        """Start a program on each host of a command, by index, and listen; return failures."""
        processes, failures = run_on_all(
            lambda index: self._sessions[index].start(commands[index]), list(commands), concurrency
        )
        for index, process in processes.items():
            self._processes[index] = process
            self._lines_sent[index] = 0
            reader = threading.Thread(target=self._read, args=(index, process), daemon=True)
            self._readers.append(reader)
            reader.start()
        return failures

    def send(self, index: int, text: str) -> None:
        """Send lines to the program on a host; errors are left to its reader thread."""
        process = self._processes[index]
        self._lines_sent[index] += text.count("\n")
        # Its reader knows better why it is gone.
        with suppress(HostError), self._stalls.guard(process.abandon):
            process.write(text)

    def receive(self, timeout_s: float) -> tuple[int, Message | OutputEnded] | None:
        """Return (host index, message) of any program; None if none comes within `timeout_s`."""
        try:
            return self._messages.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return None

    def give_up(self, index: int) -> None:
        """Stop waiting for the end of a host's program, as it no longer answers."""
        self._given_up.add(index)

    def _read(self, index: int, process: RemoteProcess) -> None:
        try:
            for number, line in enumerate(process.lines(), start=1):
                if number > _ANSWERS_PER_LINE * self._lines_sent[index] + _FURTHER_LINES:
                    raise ProtocolError("sent more lines than answers to plink's requests can have")
                self._messages.put((index, self.parse(line)))
            reason = self.explain_end(process)
        except (HostError, ProtocolError) as error:
            # The reason first: who speaks to it meanwhile notices only that it is gone.
            self._messages.put((index, OutputEnded(str(error))))
            # Nothing more is taken from such a host, lest it fills our memory.
            process.abandon()
            return
        except OSError:
            reason = LOST
        self._messages.put((index, OutputEnded(clean(reason))))


def end_group(process: subprocess.Popen[bytes], goodbye_s: float, terminate_s: float) -> None:
    """Wait for a process to end; if it takes too long, end its process group by signals."""
    for limit_s, number in (goodbye_s, signal.SIGTERM), (terminate_s, signal.SIGKILL):
        with suppress(subprocess.TimeoutExpired):
            process.wait(limit_s)
            return
        signal_group(process, number)
    # One of another user, which sudo has started, is left to end by itself.
    with suppress(subprocess.TimeoutExpired):
        process.wait(terminate_s)


def signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a process's group, with its helpers, unless it has ended."""
    if process.poll() is None:
        # A process of another user, which sudo has started, cannot be signalled.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
