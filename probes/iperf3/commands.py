"""Shell commands that find iperf3 on a host and run it without leaving processes behind."""

from __future__ import annotations

from plink.probes.errors import HostError
from plink.probes.iperf3.parse import Version, parse_version
from plink.probes.options import TransferOptions
from plink.probes.remote.session import Session, posix_command

# `-1`, which ends a server after one test, came with it.
OLDEST: Version = (3, 1)
_CONNECT_TIMEOUT_SINCE: Version = (3, 2)
_FIND = "timeout 10 iperf3 --version"

LISTENING = "plink:listening"
TAKEN = "plink:taken"

# iperf3 does not notice that its session is gone: a watcher beside it reads standard input, which
# ends with the session, and then ends iperf3. Where not even sshd notices, `timeout` ends it all.
#
# When a server listens is asked of the kernel: iperf3 holds back what it prints into a pipe.
_SERVE = f"""
exec 3<&0
port=$(printf ':%04X 0*:0000 0A' "$2")
listens() {{ cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q "$port"; }}
if listens; then echo {TAKEN}; exit; fi
iperf3 -s -1 -B "$1" -p "$2" 2>&1 >/dev/null </dev/null 3<&- & server=$!
{{ read _ <&3; kill -9 $server; }} >/dev/null 2>&1 & watcher=$!
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


def find_version(session: Session) -> Version:
    """Return the version of iperf3 on a host.

    Raises:
        HostError: it is not installed, or too old, or the connection is gone.
    """
    done = session.run(posix_command(_FIND))
    version = parse_version(done.stdout.decode(errors="replace"))
    if done.status != 0 or version is None:
        raise HostError(session.host, "iperf3 is not installed there", "apt-get install iperf3")
    if version < OLDEST:
        found, oldest = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        raise HostError(session.host, f"has iperf3 {found}: {oldest} or later is needed")
    return version


def serve_command(address: str, port: int, limit_s: float) -> str:
    """Return the command that runs an iperf3 server for one test, ended after `limit_s`.

    It prints TAKEN where something listens at the port, LISTENING when the server does, and what
    iperf3 complains of.
    """
    return _limit_time(limit_s, posix_command(_SERVE, address, str(port)))


def receive_command(
    address: str,
    port: int,
    options: TransferOptions,
    *,
    duration_s: int,
    silence_s: float,
    version: Version,
    limit_s: float,
) -> str:
    """Return the command that waits for a line, receives a test's data and prints JSON.

    Args:
        address, port: where the server listens.
        options: how data are transferred; its duration and port do not count.
        duration_s: seconds of the test; iperf3 knows whole seconds only.
        silence_s: seconds after which a server that does not answer is given up.
        version: that of iperf3 at the receiver.
        limit_s: seconds after which the command is ended.
    """
    interval_s = max(_SHORTEST_INTERVAL_S, duration_s / _INTERVALS)
    arguments = ["-c", address, "-p", str(port), "-R", "-J", "-t", str(duration_s)]
    arguments += ["-P", str(options.streams), "-i", f"{interval_s:.1f}"]
    if options.congestion is not None:
        arguments += ["-C", options.congestion]
    if version >= _CONNECT_TIMEOUT_SINCE:
        arguments += ["--connect-timeout", str(max(1, round(silence_s * 1000)))]
    return _limit_time(limit_s, posix_command(_RECEIVE, *arguments))


def _limit_time(limit_s: float, command: str) -> str:
    return f"timeout -k 1 {limit_s:.1f} {command}"
