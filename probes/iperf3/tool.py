"""Measurement of the bandwidth of pairs with iperf3, which must be installed on the hosts.

In a test between two hosts the server is at the sender and the client at the receiver (`-R`), so
that its own intervals say what arrived, and when. Shell commands find iperf3 on a host and run it
without leaving processes behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from plink.probes.errors import HostError, clean
from plink.probes.iperf3 import parse
from plink.probes.options import Iperf3Options, TransferOptions
from plink.probes.paired_rounds import TIMEOUT_DIVISOR, Silence, TransientLoss, measure_rounds
from plink.probes.reach import ReachedHost
from plink.probes.remote import session as remote
from plink.probes.samples import BandwidthReading, MeasuringJob, PairLoss, Sink, no_limit

# `-1`, which ends a server after one test, came with it.
OLDEST: parse.Version = (3, 1)
_CONNECT_TIMEOUT_SINCE: parse.Version = (3, 2)
_FIND = "timeout 10 iperf3 --version"

LISTENING = "plink:listening"
TAKEN = "plink:taken"

# iperf3 does not notice that its session is gone: a watcher beside it reads standard input, which
# ends with the session, and then ends iperf3. Where not even sshd notices, `timeout` ends it all.
# The server prints TAKEN where something listens at the port, LISTENING when it does, and what
# iperf3 complains of. The client prints JSON.
#
# When a server listens is asked of the kernel: iperf3 holds back what it prints into a pipe. What
# counts is a socket of this server, or of what it started where iperf3 is a script: another program
# may listen at the same port of another address. Where files cannot be looked at, any listener
# counts. What a server started is ended first: with the server all is over.
_SERVE = f"""
exec 3<&0
port=$(printf ':%04X 0*:0000 0A' "$2")
listeners() {{ cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep "$port"; }}
tree() {{
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do tree "$child"; done
    echo "$1"
}}
files() {{
    [ -r "/proc/$server/task/$server/children" ] || echo unknown
    for process in $(tree "$server"); do ls -ln "/proc/$process/fd" || echo unknown; done
}}
listens() {{
    sockets=$(files 2>/dev/null)
    case $sockets in *unknown*) listeners >/dev/null; return ;; esac
    listeners | while read -r _ _ _ _ _ _ _ _ _ inode _; do
        case $sockets in *"socket:[$inode]"*) echo yes ;; esac
    done | grep -q yes
}}
if listeners >/dev/null; then echo {TAKEN}; exit; fi
iperf3 -s -1 -B "$1" -p "$2" 2>&1 >/dev/null </dev/null 3<&- & server=$!
{{ read _ <&3; kill -9 $(tree "$server"); }} >/dev/null 2>&1 & watcher=$!
until listens; do
    kill -0 $server 2>/dev/null || break
    sleep 0.02 2>/dev/null || sleep 1
done
kill -0 $server 2>/dev/null && echo {LISTENING}
wait $server
kill $watcher 2>/dev/null
"""
# The client waits for a line, so that the clients of several hosts can start together.
_RECEIVE = """
exec 3<&0
read _ <&3 || exit
iperf3 "$@" 2>&1 </dev/null 3<&- & client=$!
{ read _ <&3; kill -9 $client; } >/dev/null 2>&1 & watcher=$!
wait $client
kill $watcher 2>/dev/null
"""
# At most so many intervals a test are reported; iperf3 accepts 0.1 s or longer.
_INTERVALS = 20
_SHORTEST_INTERVAL_S = 0.1


def find_version(session: remote.Session) -> parse.Version:
    """Return the version of iperf3 on a host; raise HostError if it is missing or too old.

    Raises:
        HostError: it is not installed, or too old, or the connection is gone.
    """
    done = session.run(remote.posix_command(_FIND))
    version = parse.parse_version(done.stdout.decode(errors="replace"))
    if done.status != 0 or version is None:
        raise HostError(session.host, "iperf3 is not installed there", "apt-get install iperf3")
    if version < OLDEST:
        found, oldest = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        raise HostError(session.host, f"it has iperf3 {found}: {oldest} or later is needed")
    return version


DEFAULT_PORT = 5201
# The reason of those that were not made, or ended late.
OUT_OF_TIME = "no time was left for it"
NO_DATA = "no data arrived"
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
    """Failure of an iperf3 test; `is_silence` tells that no data arrived."""

    def __init__(self, reason: str, *, is_silence: bool = False) -> None:
        super().__init__(clean(reason))
        self.is_silence = is_silence


class PortTakenError(TransferError):
    """Error that an iperf3 server cannot start, as its port is in use."""


def is_transient(error: object) -> bool:
    """Return whether a test that ended with this error may succeed if it is run once more.

    A machine that stands still for a moment makes any test fail. A lost connection, a taken port
    and a lack of time are not over so soon.
    """
    return type(error) is TransferError and str(error) != OUT_OF_TIME


@dataclass(frozen=True)
class TransferHost:
    """Host that takes part in iperf3 tests: its session, address and version of iperf3."""

    session: remote.Session
    address: str
    version: parse.Version


class Transfers(remote.Running):
    """Runner of iperf3 tests between hosts, with common options and a time limit; thread-safe.

    Args:
        options: what is the same for all of them; a test has a duration of its own.
    """

    def __init__(
        self,
        options: TransferOptions,
        silence_s: float,
        left_s: Callable[[], float] = no_limit,
    ) -> None:
        super().__init__()
        self._options = options
        self._silence_s = silence_s
        self.left_s = left_s
        first = options.port or DEFAULT_PORT
        self._ports = range(first, first + (1 if options.port else _PORTS))

    def run(
        self,
        sender: TransferHost,
        receiver: TransferHost,
        duration_s: int,
        *,
        timeout_divisor: int = 1,
    ) -> parse.TransferReport:
        """Run an iperf3 test from sender to receiver, on the first free port; return its report.

        Args:
            timeout_divisor: silence is waited for so many times less.

        Raises:
            HostError: the connection to one of the two is gone.
            TransferError: there is no report, or no time was left (`OUT_OF_TIME`).
        """
        for port in self._ports:
            try:
                with self.prepare(
                    sender, receiver, port, duration_s, timeout_divisor=timeout_divisor
                ) as run_test:
                    report: parse.TransferReport = run_test()
                    return report
            except PortTakenError as error:
                taken = error
        raise taken

    @contextmanager
    def prepare(
        self,
        sender: TransferHost,
        receiver: TransferHost,
        port: int,
        duration_s: int,
        *,
        timeout_divisor: int = 1,
    ) -> Iterator[Callable[[], parse.TransferReport]]:
        """Start server and client of a test, and yield the function that runs it.

        Both raise as `run` does, and PortTakenError where something else listens at the port.
        """
        self._check_time(duration_s)
        silence_s = self._silence_s / timeout_divisor
        limit_s = duration_s + silence_s + _SPARE_S
        timeout = f"timeout -k 1 {limit_s + _LEFT_ALONE_S:.1f}"
        serve = remote.posix_command(_SERVE, sender.address, str(port))
        with self._start(sender.session, f"{timeout} {serve}") as server:
            _wait_for_server(server, silence_s + _SPARE_S, port)
            interval_s = max(_SHORTEST_INTERVAL_S, duration_s / _INTERVALS)
            words = ["-c", sender.address, "-p", str(port), "-R", "-J", "-t", str(duration_s)]
            words += ["-P", str(self._options.streams), "-i", f"{interval_s:.1f}"]
            if self._options.congestion is not None:
                words += ["-C", self._options.congestion]
            if receiver.version >= _CONNECT_TIMEOUT_SINCE:
                words += ["--connect-timeout", str(max(1, round(silence_s * 1000)))]
            receive = remote.posix_command(_RECEIVE, *words)
            with self._start(receiver.session, f"{timeout} {receive}") as client:
                yield lambda: self._run_client(client, duration_s, limit_s)

    @contextmanager
    def _start(self, session: remote.Session, command: str) -> Iterator[remote.RemoteProcess]:
        with self.start(session, command, _START_S) as process:
            if self.is_stopped:
                raise TransferError("was stopped")
            yield process

    def _run_client(
        self, client: remote.RemoteProcess, duration_s: int, limit_s: float
    ) -> parse.TransferReport:
        """Tell a prepared client to start its transfer, and return its report."""
        self._check_time(duration_s)
        client.write("go\n")
        deadline = remote.ProcessDeadline(client, limit_s)
        report = parse.parse_report("\n".join(deadline.lines(_MAX_REPORT)))
        if deadline.is_over or (isinstance(report, str) and _says(report, _SILENT)):
            raise TransferError(NO_DATA, is_silence=True)
        if isinstance(report, str):
            kind = PortTakenError if _says(report, _OCCUPIED) else TransferError
            raise kind(f"iperf3: {report}")
        self._check_time(0.0)
        return report

    def _check_time(self, least_s: float) -> None:
        if self.left_s() <= least_s:
            raise TransferError(OUT_OF_TIME)


def _wait_for_server(server: remote.RemoteProcess, limit_s: float, port: int) -> None:
    deadline = remote.ProcessDeadline(server, limit_s)
    lines: list[str] = []
    for line in deadline.lines(_MAX_REPORT):
        if line == LISTENING:
            return
        lines.append(line)
    if TAKEN in lines or _says("\n".join(lines), _OCCUPIED):
        raise PortTakenError(f"the port {port} of {server.host} is used by another program")
    reason = "no output" if deadline.is_over or not lines else lines[-1]
    raise TransferError(f"the iperf3 server on {server.host} cannot be started ({reason})")


def _says(complaint: str, phrases: Sequence[str]) -> bool:
    return any(phrase in complaint for phrase in phrases)


def find_transfer_hosts(
    hosts: Sequence[ReachedHost], concurrency: int
) -> tuple[dict[int, TransferHost], dict[int, HostError]]:
    """Return the hosts with a usable iperf3, by index, and the errors of the others."""

    def find(index: int) -> TransferHost:
        host = hosts[index]
        return TransferHost(host.session, host.address, find_version(host.session))

    return remote.run_on_all(find, range(len(hosts)), concurrency)


# TCP needs a while to find its rate, and the queues on the way to fill: the first part of a test
# does not count.
WARM_UP_SHARE = 0.2


def measure(job: MeasuringJob[Iperf3Options], sink: Sink[BandwidthReading]) -> None:
    """Measure bandwidths of the wanted directed pairs with iperf3; results go to `sink`."""
    measure_rounds(job, _Iperf3(job), sink, both_at_once=job.options.direction == "both")


class _Iperf3:
    silent_to_all = "exchanges no data with any host"

    def __init__(self, job: MeasuringJob[Iperf3Options]) -> None:
        self.running = Transfers(job.options, job.timeout_s, job.left_s)
        self._hosts = job.hosts
        self._duration_s = job.options.duration_s
        self._ends: Mapping[int, TransferHost] = {}

    def prepare(self, concurrency: int) -> Mapping[int, HostError]:
        """Find the hosts that have iperf3; return the errors of the others, by index."""
        self._ends, failures = find_transfer_hosts(self._hosts, concurrency)
        return failures

    def measure(
        self, source: int, destination: int, *, is_suspected: bool
    ) -> BandwidthReading | Silence | PairLoss | TransientLoss:
        """Measure the bandwidth from one host to another in Gbit/s by an iperf3 test."""
        try:
            report = self.running.run(
                self._ends[source],
                self._ends[destination],
                self._duration_s,
                timeout_divisor=TIMEOUT_DIVISOR if is_suspected else 1,
            )
            gbit_s = parse.compute_received_gbit_s(report, WARM_UP_SHARE * self._duration_s)
            if gbit_s:
                return BandwidthReading(source, destination, gbit_s, report.retransmits)
            raise TransferError(NO_DATA, is_silence=True)
        except TransferError as error:
            loss: Silence | PairLoss = PairLoss(source, destination, str(error))
            if error.is_silence:
                loss = Silence(NO_DATA)
            if is_transient(error) and self.running.left_s() > self._duration_s:
                return TransientLoss(loss)
            return loss
