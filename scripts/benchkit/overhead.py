"""What a round of an echo run takes beyond its packets: schedule, greeting, reporting."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchkit.lab import BenchLab
from benchkit.timed_sink import TimedSink
from probes.echo import coordinator
from probes.echo.protocol import EchoOptions
from probes.reach import ReachedHost
from probes.rounds import round_robin

# Not many more than a machine has processors for: others would wait for those.
FREE_HOSTS = 4
FREE_RUNS = 10
HEADER = ("pace", "meetings", "beyond the packets, ms a meeting")


def rows(lab: BenchLab, count: int) -> list[tuple[str, ...]]:
    """One row for meetings by leave, one after the other, and one for the hosts' own pace."""
    with lab.reach() as reached:
        granted = _measure(reached.hosts, 1, count)
        few = reached.hosts[:FREE_HOSTS]
        free = [_measure(few, len(few), count) for _ in range(FREE_RUNS)]
    of_hosts = [run.of_host(host).beyond_packets_ms() for run in free for host in range(len(few))]
    meetings = sum(len(run.first) // 2 for run in free)
    return [
        ("one after the other", str(len(granted.first) // 2), f"{granted.beyond_packets_ms():.2f}"),
        (f"free, {FREE_HOSTS} hosts", str(meetings), f"{statistics.mean(of_hosts):.2f}"),
    ]


def _measure(hosts: Sequence[ReachedHost], concurrency: int, count: int) -> TimedSink:
    sink = TimedSink()
    rounds = round_robin(len(hosts))
    wanted = frozenset(pair for met in rounds for i, j in met for pair in ((i, j), (j, i)))
    options = EchoOptions(count, (10.0, 50.0, 99.0), silence_s=5.0)
    coordinator.measure(hosts, wanted, rounds, options, sink, concurrency=concurrency)
    return sink
