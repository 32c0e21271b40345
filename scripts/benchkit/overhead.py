"""What a round of an echo run takes beyond its packets: schedule, greeting, reporting."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchkit.lab import BenchLab
from benchkit.timed_sink import TimedSink
from probes.echo import coordinator
from probes.echo.protocol import EchoOptions
from probes.reach import ReachedHost
from probes.tournament import round_robin

HEADER = ("pace", "meetings", "beyond the packets, ms a meeting")


def rows(lab: BenchLab, count: int) -> list[tuple[str, ...]]:
    """One row for meetings by leave, one after the other, and one for the hosts' own pace."""
    with lab.reach() as reached:
        granted = _measure(reached.hosts, 1, count)
        free = _measure(reached.hosts, len(reached.hosts), count)
    of_hosts = [free.of_host(host).beyond_packets_ms() for host in range(len(reached.hosts))]
    return [
        ("one after the other", str(len(granted.first) // 2), f"{granted.beyond_packets_ms():.2f}"),
        ("free, per host", str(len(free.first) // 2), f"{statistics.median(of_hosts):.2f}"),
    ]


def _measure(hosts: Sequence[ReachedHost], concurrency: int, count: int) -> TimedSink:
    sink = TimedSink()
    rounds = round_robin(len(hosts))
    wanted = frozenset(pair for met in rounds for i, j in met for pair in ((i, j), (j, i)))
    options = EchoOptions(count, (10.0, 50.0, 99.0), silence_s=5.0)
    coordinator.measure(hosts, wanted, rounds, options, sink, concurrency=concurrency)
    return sink
