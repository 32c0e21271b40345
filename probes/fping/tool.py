"""Measurement of pairs with fping (ICMP echo), which must be installed on the hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plink.probes.errors import HostError, clean
from plink.probes.fping.pings import Pings, find_period_ms, parse_report, percentile_us
from plink.probes.paired_rounds import TIMEOUT_DIVISOR, Silence, measure_rounds
from plink.probes.reach import ReachedHost
from plink.probes.remote import parallel
from plink.probes.samples import More, PairLoss, Rounds, RttReading, Sink, Wanted, no_more


@dataclass(frozen=True)
class FpingSettings:
    """Settings of fping, as `plink.probes.echo.protocol.EchoSettings` without the port."""

    count: int
    percentiles: Sequence[float]
    silence_s: float


def measure(
    hosts: Sequence[ReachedHost],
    wanted: Wanted,
    rounds: Rounds,
    options: FpingSettings,
    sink: Sink[RttReading],
    *,
    concurrency: int,
    ssh_concurrency: int = 16,
    more: More = no_more,
) -> None:
    """Measure the wanted directed pairs of the rounds, and of further rounds from `more`.

    Results go to `sink` as they come.

    No fping is left on a host when this ends, or when this process does.
    """
    measure_rounds(
        hosts,
        wanted,
        rounds,
        _Fping(hosts, options),
        sink,
        concurrency=concurrency,
        ssh_concurrency=ssh_concurrency,
        more=more,
    )


class _Fping:
    silent_to_all = "answers no ping of any host"

    def __init__(self, hosts: Sequence[ReachedHost], options: FpingSettings) -> None:
        self._hosts = hosts
        self._options = options
        self._pings = Pings()
        self._period_ms: dict[int, int] = {}

    def prepare(self, concurrency: int) -> Mapping[int, HostError]:
        """Find out how often each host may send."""
        failures: dict[int, HostError] = {}

        def find(index: int) -> int:
            return find_period_ms(self._hosts[index].session)

        for index, found in parallel.each(find, range(len(self._hosts)), concurrency):
            if isinstance(found, HostError):
                failures[index] = found
            else:
                self._period_ms[index] = found
        return dict(sorted(failures.items()))

    def measure(
        self, source: int, destination: int, *, is_suspected: bool
    ) -> RttReading | Silence | PairLoss:
        """Ping one host from another, with a single probe first if silence is likely."""
        timeout_ms = max(1, round(self._options.silence_s * 1000))
        if is_suspected:
            trial = self._ping(source, destination, 1, max(1, timeout_ms // TIMEOUT_DIVISOR))
            if not isinstance(trial, RttReading):
                return trial
        return self._ping(source, destination, self._options.count, timeout_ms)

    def _ping(
        self, source: int, destination: int, count: int, timeout_ms: int
    ) -> RttReading | Silence | PairLoss:
        target = self._hosts[destination]
        said = self._pings.run(
            self._hosts[source].session,
            target.address,
            count,
            period_ms=self._period_ms[source],
            timeout_ms=timeout_ms,
        )
        samples = parse_report(said, target.address, count)
        if samples is None:
            last = said.strip().splitlines()[-1:] or ["nothing"]
            return PairLoss(source, destination, clean(f"fping said: {last[0]}"))
        echoes = [sample for sample in samples if sample is not None]
        if not echoes:
            return Silence(f"{target.name} answers no ping")
        return RttReading(
            source=source,
            destination=destination,
            sent=count,
            received=len(echoes),
            rtt_us={p: percentile_us(echoes, p) for p in self._options.percentiles},
        )

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._pings.is_stopped

    def stop(self) -> None:
        """End all fping processes."""
        self._pings.stop()
