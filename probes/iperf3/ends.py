"""Which of the hosts can take part in a test."""

from __future__ import annotations

from collections.abc import Sequence

from probes.errors import HostError
from probes.iperf3.commands import find_version
from probes.iperf3.transfers import End
from probes.reach import ReachedHost
from probes.ssh import parallel


def find_ends(
    hosts: Sequence[ReachedHost], concurrency: int
) -> tuple[dict[int, End], dict[int, HostError]]:
    """Of the hosts, by index, those that have iperf3, and why the others cannot take part."""
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
