"""Runs of fping on the hosts: finding it, starting and ending it, parsing its output."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

from plink.probes.errors import HostError
from plink.probes.remote.running import Running
from plink.probes.remote.session import RemoteProcess, Session, posix_command

_SET_PATH = "PATH=$PATH:/usr/sbin:/sbin; "
# fping allows users who are not root no shorter period between probes of one target.
_USER_PERIOD_MS = 10
_ROOT_PERIOD_MS = 1
_FIND = _SET_PATH + "fping --version >/dev/null && id -u"
# fping does not notice that its session is gone: a watcher beside it reads standard input, which
# ends with the session, and then ends fping.
_MEASURE = (
    _SET_PATH
    + """
exec 3<&0
fping -q -r 0 -i 1 -C "$1" -p "$2" -t "$3" "$4" 2>&1 </dev/null 3<&- & pings=$!
{ read _ <&3; kill $pings; } >/dev/null 2>&1 & watcher=$!
wait $pings
kill $watcher
"""
)
# To start, and to be behind on a busy host.
_SPARE_S = 10.0

_LOST = "-"
_MAX_RTT_MS = 60_000.0


def find_period_ms(session: Session) -> int:
    """Return the shortest period in ms at which fping may send on a host.

    Raises:
        HostError: it is not installed, or the connection is gone.
    """
    done = session.run(posix_command(_FIND))
    if done.status != 0:
        raise HostError(session.host, "fping is not installed there", "apt-get install fping")
    return _ROOT_PERIOD_MS if done.stdout.strip() == b"0" else _USER_PERIOD_MS


class Pings(Running):
    """Running fping processes on all hosts; thread-safe."""

    def run(
        self, session: Session, address: str, count: int, *, period_ms: int, timeout_ms: int
    ) -> str:
        """Run fping on the session's host and return its report on `count` probes to `address`.

        Raises:
            HostError: the connection is gone, or fping does not end.
        """
        arguments = [*map(str, (count, period_ms, timeout_ms)), address]
        longest_s = (count * period_ms + timeout_ms) / 1000.0 + _SPARE_S
        is_late = threading.Event()
        with self.start(session, posix_command(_MEASURE, *arguments)) as process:
            if self.is_stopped:
                return ""
            limit = threading.Timer(longest_s, _end_late, (process, is_late))
            limit.daemon = True
            limit.start()
            try:
                output = "\n".join(process.lines())
            finally:
                limit.cancel()
        if is_late.is_set():
            raise HostError(session.host, f"fping did not end within {longest_s:.0f} s")
        return output


def _end_late(process: RemoteProcess, is_late: threading.Event) -> None:
    is_late.set()
    process.close()


def parse_report(output: str, address: str, count: int) -> list[float | None] | None:
    """Return the samples in the output of `fping -C COUNT -q ADDRESS`.

    Args:
        output: standard error of fping, on which `-q` puts `ADDRESS : 0.05 - 0.04 ...`.

        count: the number of probes asked for.

    Returns:
        `count` round-trip times in µs in the order sent, None where no answer came; or None where
        the output holds no whole report on `address`.
    """
    for line in output.splitlines():
        target, separator, samples = line.partition(" : ")
        if separator and target.strip() == address:
            try:
                found = [_parse_sample(word) for word in samples.split()]
            except ValueError:
                return None
            return found if len(found) == count else None
    return None


def percentile_us(samples_us: Sequence[float], percentile: float) -> float:
    """Return the smallest sample that `percentile` per cent do not exceed (nearest rank)."""
    rank = math.ceil(percentile / 100.0 * len(samples_us))
    return sorted(samples_us)[max(rank, 1) - 1]


def _parse_sample(word: str) -> float | None:
    if word == _LOST:
        return None
    rtt_ms = float(word)
    if not 0.0 <= rtt_ms <= _MAX_RTT_MS:
        raise ValueError(word)
    return rtt_ms * 1000.0
