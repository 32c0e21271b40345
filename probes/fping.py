"""Round-trip times with fping (ICMP echo), which must be installed on the hosts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from plink.probes.errors import HostError, clean
from plink.probes.options import FpingOptions
from plink.probes.paired_rounds import TIMEOUT_DIVISOR, Silence, measure_rounds
from plink.probes.remote import session as remote
from plink.probes.samples import MeasuringJob, PairLoss, RttReading, Sink

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


def measure(job: MeasuringJob[FpingOptions], sink: Sink[RttReading]) -> None:
    """Measure round-trip times of the wanted directed pairs with fping; results go to `sink`."""
    measure_rounds(job, _Fping(job), sink)


class _Fping:
    silent_to_all = "answers no ping of any host"

    def __init__(self, job: MeasuringJob[FpingOptions]) -> None:
        self.running = remote.Running()
        self._hosts = job.hosts
        self._options = job.options
        self._timeout_ms = max(1, round(job.timeout_s * 1000))
        self._period_ms: dict[int, int] = {}

    def prepare(self, concurrency: int) -> Mapping[int, HostError]:
        """Find fping and its least interval on all hosts; return the errors of hosts without it."""

        def find(index: int) -> int:
            session = self._hosts[index].session
            done = session.run(remote.posix_command(_FIND))
            if done.status != 0:
                hint = "apt-get install fping"
                raise HostError(session.host, "fping is not installed there", hint)
            return _ROOT_PERIOD_MS if done.stdout.strip() == b"0" else _USER_PERIOD_MS

        self._period_ms, failures = remote.run_on_all(find, range(len(self._hosts)), concurrency)
        return failures

    def measure(
        self, source: int, destination: int, *, is_suspected: bool
    ) -> RttReading | Silence | PairLoss:
        """Ping one host from another `count` times, or first once if it is unlikely to answer."""
        if is_suspected:
            trial = self._ping(source, destination, 1, max(1, self._timeout_ms // TIMEOUT_DIVISOR))
            if not isinstance(trial, RttReading):
                return trial
        return self._ping(source, destination, self._options.count, self._timeout_ms)

    def _ping(
        self, source: int, destination: int, count: int, timeout_ms: int
    ) -> RttReading | Silence | PairLoss:
        target = self._hosts[destination]
        session, period_ms = self._hosts[source].session, self._period_ms[source]
        arguments = [*map(str, (count, period_ms, timeout_ms)), target.address]
        longest_s = (count * period_ms + timeout_ms) / 1000.0 + _SPARE_S
        with self.running.start(session, remote.posix_command(_MEASURE, *arguments)) as process:
            deadline = remote.ProcessDeadline(process, longest_s)
            report = "" if self.running.is_stopped else "\n".join(deadline.lines(remote.MAX_OUTPUT))
        if deadline.is_over:
            raise HostError(session.host, f"fping did not end within {longest_s:.0f} s")
        samples = parse_report(report, target.address, count)
        if samples is None:
            last = report.strip().splitlines()[-1:] or ["nothing"]
            return PairLoss(source, destination, clean(f"fping said: {last[0]}"))
        echoes = [sample for sample in samples if sample is not None]
        if not echoes:
            return Silence(f"{target.name} answers no ping")
        return RttReading(
            source=source,
            destination=destination,
            sent=count,
            received=len(echoes),
            rtt_us={
                # Nearest rank: the smallest sample that so many per cent do not exceed.
                p: float(np.percentile(echoes, p, method="inverted_cdf"))
                for p in self._options.percentiles
            },
        )


def parse_report(output: str, address: str, count: int) -> list[float | None] | None:
    """Return round-trip times in µs, None for lost probes, in the output of `fping -C COUNT -q`.

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
                samples_us = [_parse_sample(word) for word in samples.split()]
            except ValueError:
                return None
            return samples_us if len(samples_us) == count else None
    return None


def _parse_sample(word: str) -> float | None:
    if word == _LOST:
        return None
    rtt_ms = float(word)
    if not 0.0 <= rtt_ms <= _MAX_RTT_MS:
        raise ValueError(word)
    return rtt_ms * 1000.0
