"""Gathers what a probe run yields into the matrices of a cluster file."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np

from plink.files.cluster import Cluster, Failure, Host, Matrix, RttMeasurement
from probes.samples import HostLoss, PairLoss, PairReading, Wanted, all_pairs


class Collector:
    """A sink for a probe run over some of the hosts of a cluster.

    Args:
        hosts: the cluster's hosts: row and column i of every matrix is host i.
        measured: of each host that takes part in the run, in the run's order, its index in `hosts`.
        percentiles: the percentiles that are kept.
        earlier: a measurement whose readings are kept, or None.
        moved: names of hosts whose earlier readings are not kept.
        on_settled: called after each direction of a pair that was read or given up.
    """

    def __init__(
        self,
        hosts: Sequence[Host],
        measured: Sequence[int],
        percentiles: Sequence[float],
        *,
        earlier: Cluster | None = None,
        moved: Container[str] = (),
        on_settled: Callable[[], None] = lambda: None,
    ) -> None:
        size = len(hosts)
        self._hosts = hosts
        self._measured = measured
        self._on_settled = on_settled
        self._rtt_us: dict[float, Matrix] = {
            percentile: np.full((size, size), np.nan) for percentile in percentiles
        }
        self._samples = np.zeros((size, size), dtype=np.int64)
        self._losses = np.zeros((size, size), dtype=np.int64)
        self.failures: list[Failure] = []
        if earlier is not None and earlier.rtt is not None:
            kept = {name: i for i, name in enumerate(earlier.names) if name not in moved}
            self._take_over(kept, earlier.rtt)

    def _take_over(self, theirs: Mapping[str, int], rtt: RttMeasurement) -> None:
        kept = [(i, theirs[host.name]) for i, host in enumerate(self._hosts) if host.name in theirs]
        if not kept:
            return
        to, of = (np.ix_(side, side) for side in zip(*kept, strict=True))
        self._samples[to] = rtt.samples[of]
        self._losses[to] = rtt.losses[of]
        for percentile, matrix in self._rtt_us.items():
            matrix[to] = rtt.rtt_us[percentile][of]

    def missing(self) -> Wanted:
        """The directed pairs of the run that have no reading yet."""
        unread = np.isnan(next(iter(self._rtt_us.values())))
        pairs = all_pairs(len(self._measured))
        return frozenset((i, j) for i, j in pairs if unread[self._measured[i], self._measured[j]])

    @property
    def readings(self) -> int:
        """The number of directed pairs that have a reading."""
        return int(np.count_nonzero(self._samples))

    def reading(self, reading: PairReading) -> None:
        """A direction of a pair was measured."""
        pair = (self._measured[reading.source], self._measured[reading.destination])
        for percentile, rtt_us in reading.rtt_us.items():
            self._rtt_us[percentile][pair] = rtt_us
        self._samples[pair] = reading.received
        self._losses[pair] = reading.sent - reading.received
        self._on_settled()

    def pair_lost(self, loss: PairLoss) -> None:
        """A direction of a pair was given up."""
        destination = self._name(loss.destination)
        self.failures.append(Failure(self._name(loss.source), loss.reason, destination=destination))
        self._on_settled()

    def host_lost(self, loss: HostLoss) -> None:
        """A host failed during the run."""
        self.failures.append(Failure(self._name(loss.host), loss.reason))

    def _name(self, index: int) -> str:
        return self._hosts[self._measured[index]].name

    def measurement(
        self,
        *,
        reading: float,
        tool: str,
        options: Mapping[str, Any],
        started: str,
        seconds: float,
        notes: Sequence[str],
    ) -> RttMeasurement:
        """What was gathered so far. The arguments are `RttMeasurement`'s."""
        return RttMeasurement(
            rtt_us=self._rtt_us,
            reading=reading,
            samples=self._samples,
            losses=self._losses,
            tool=tool,
            options=options,
            started=started,
            seconds=seconds,
            failures=self.failures,
            notes=notes,
        )
