"""iperf3 tests between two hosts: a server at the sender, a client at the receiver.

The client is the receiver (`-R`), so that its own intervals say what arrived, and when.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from plink.probes.errors import HostError, clean
from plink.probes.iperf3.commands import (
    LISTENING,
    TAKEN,
    TransferSettings,
    find_version,
    receive_command,
    serve_command,
)
from plink.probes.iperf3.parse import Complaint, TransferReport, Version, parse_report
from plink.probes.reach import ReachedHost
from plink.probes.remote import parallel
from plink.probes.remote.running import Running
from plink.probes.remote.session import RemoteProcess, Session

DEFAULT_PORT = 5201
# The reason of those that were not made, or ended late.
OUT_OF_TIME = "no time was left for it"
# So many ports from the default on are tried where they are taken.
_PORTS = 10
# Of 20 intervals of 32 streams and their sums, each of which takes less than 600 bytes.
_MAX_REPORT = 1 << 20
# To start a command on a host, and for iperf3 to exchange results, on a busy machine.
_SPARE_S = 3.0
_START_S = 10.0
# Hosts that hear nothing more end what they run so long after we would have.
_LEFT_ALONE_S = 60.0
_SILENT = ("timed out", "No route to host", "unreachable")
_OCCUPIED = ("Address already in use", "the server is busy")


class TransferError(Exception):
    """Failure of a test; `is_silence` if no packet came through."""

    def __init__(self, reason: str, *, is_silence: bool = False) -> None:
        super().__init__(clean(reason))
        self.is_silence = is_silence


class PortTakenError(TransferError):
    """Error that another program uses the port."""


@dataclass(frozen=True)
class End:
    """Host that takes part in a test."""

    session: Session
    address: str
    version: Version


class Transfers(Running):
    """Running tests on all hosts; thread-safe.

    Args:
        options: what is the same for all of them.
        port: where servers listen; 0 for any that is free.
    """

    def __init__(self, options: TransferSettings, port: int) -> None:
        super().__init__()
        self._options = options
        self._ports = range(port, port + 1) if port else range(DEFAULT_PORT, DEFAULT_PORT + _PORTS)

    def run(self, sender: End, receiver: End, *, timeout_divisor: int = 1) -> TransferReport:
        """Run a test and return its receiver's report.

        Args:
            timeout_divisor: silence is waited for so many times less.

        Raises:
            HostError: the connection to one of the two is gone.
            TransferError: there is no report, or no time was left (`OUT_OF_TIME`).
        """
        options = replace(self._options, silence_s=self._options.silence_s / timeout_divisor)
        for port in self._ports:
            try:
                with self.prepare(sender, receiver, port, options) as test:
                    return test.run()
            except PortTakenError as error:
                taken = error
        raise TransferError(str(taken))

    @contextmanager
    def prepare(
        self, sender: End, receiver: End, port: int, options: TransferSettings
    ) -> Iterator[Prepared]:
        """Yield a test whose server listens and whose client waits for the start signal.

        Raises:
            HostError, TransferError: as `run`.
            PortTakenError: something else listens at the port.
        """
        _check_time(options, options.duration_s)
        limit_s = options.duration_s + options.silence_s + _SPARE_S
        serve = serve_command(sender.address, port, limit_s + _LEFT_ALONE_S)
        with self._start(sender.session, serve) as server:
            _wait_for_server(server, options.silence_s + _SPARE_S, port)
            receive = receive_command(
                sender.address, port, options, receiver.version, limit_s + _LEFT_ALONE_S
            )
            with self._start(receiver.session, receive) as client:
                yield Prepared(client, limit_s, options)

    @contextmanager
    def _start(self, session: Session, command: str) -> Iterator[RemoteProcess]:
        with self.start(session, command, _START_S) as process:
            if self.is_stopped:
                raise TransferError("was stopped")
            yield process


class Prepared:
    """Test that waits for the start signal."""

    def __init__(self, client: RemoteProcess, limit_s: float, options: TransferSettings) -> None:
        self._client = client
        self._limit_s = limit_s
        self._options = options

    def run(self) -> TransferReport:
        """Send the start signal and return the receiver's report.

        Raises:
            HostError, TransferError: as `Transfers.run`.
            PortTakenError: the server is another one, or has another client.
        """
        _check_time(self._options, self._options.duration_s)
        self._client.write("go\n")
        output = _Output(self._client, self._limit_s)
        report = parse_report("\n".join(output.lines(_MAX_REPORT)))
        if output.is_late or (isinstance(report, Complaint) and _says(report, _SILENT)):
            raise TransferError("no data arrived", is_silence=True)
        if isinstance(report, Complaint):
            kind = PortTakenError if _says(report, _OCCUPIED) else TransferError
            raise kind(f"iperf3: {report.text}")
        _check_time(self._options, 0.0)
        return report


class _Output:
    """Output of a remote process, which is ended at a time limit."""

    def __init__(self, process: RemoteProcess, limit_s: float) -> None:
        self._process = process
        self._late = threading.Event()
        self._limit_s = limit_s

    @property
    def is_late(self) -> bool:
        return self._late.is_set()

    def lines(self, size: int) -> Iterator[str]:
        """Yield output lines until the end, the time limit or the size limit."""
        limit = threading.Timer(self._limit_s, self._end)
        limit.daemon = True
        limit.start()
        try:
            for line in self._process.lines():
                size -= len(line)
                if size < 0:
                    raise HostError(self._process.host, "sent a report that exceeds the size limit")
                yield line
        finally:
            limit.cancel()

    def _end(self) -> None:
        self._late.set()
        self._process.close()


def _wait_for_server(server: RemoteProcess, limit_s: float, port: int) -> None:
    output = _Output(server, limit_s)
    said: list[str] = []
    for line in output.lines(_MAX_REPORT):
        if line == LISTENING:
            return
        said.append(line)
    complaint = Complaint("\n".join(said))
    if TAKEN in said or _says(complaint, _OCCUPIED):
        raise PortTakenError(f"another program uses port {port} of {server.host}")
    why = "does not start" if output.is_late or not said else f"ends: {said[-1]}"
    raise TransferError(f"the iperf3 server on {server.host} {why}")


def _check_time(options: TransferSettings, least_s: float) -> None:
    if options.left_s() <= least_s:
        raise TransferError(OUT_OF_TIME)


def _says(complaint: Complaint, phrases: Sequence[str]) -> bool:
    return any(phrase in complaint.text for phrase in phrases)


def find_ends(
    hosts: Sequence[ReachedHost], concurrency: int
) -> tuple[dict[int, End], dict[int, HostError]]:
    """Return the hosts that have iperf3, by index, and why the others cannot take part."""
    ends: dict[int, End] = {}
    failures: dict[int, HostError] = {}

    def find(index: int) -> End:
        host = hosts[index]
        return End(host.session, host.address, find_version(host.session))

    for index, outcome in parallel.each(find, range(len(hosts)), concurrency):
        if isinstance(outcome, HostError):
            failures[index] = outcome
        else:
            ends[index] = outcome
    return ends, dict(sorted(failures.items()))
