"""What a probe run is asked to do, checked before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from plink.files.cluster import Cluster
from plink.files.groups import Group
from plink.measure.probing.limits import DEFAULT_MAX_HOPS, DEFAULT_REMOTE_PYTHON, DEFAULT_TOOL
from plink.measure.probing.transfers import TransferSettings
from probes.dpdk.nics import Nic
from probes.hosts.address import IPNetwork
from probes.hosts.host import ListedHost
from probes.iperf3.commands import no_limit
from probes.ssh.options import SshOptions

STANDARD_PERCENTILES = (10.0, 50.0, 99.0)
DEFAULT_READING = 10.0


@dataclass(frozen=True)
class ProbeRequest:
    """A probe run.

    Args:
        hosts: the hosts to measure.
        made_from: the hash of the host list.
        count: probes per direction of a pair, each time it meets; None for the tool's default.
        passes: how often a pair meets at most; None for as often as earlier, or the tool's default.
            More than earlier are so many more for every pair.
        precision_percent: pairs whose passes disagree by no more meet twice, 0 for all passes of
            all; None for the default.
        tool: one of `plink.measure.probing.limits.TOOL_NAMES`.
        reading: the percentile that stands for a pair.
        timeout_s: how long a host may be silent before it is given up.
        rounds: of the tournament, at least 2; None for all.
        seed: decides which rounds, where not all are asked for, and in what order pairs meet again.
        concurrency: pairs in flight; None to choose by what the hosts share.
        strict: stop when a host cannot be reached, instead of going on without it.
        network, interface: which of a host's addresses to use, where it has several.
        port: the UDP port of the echo agents, the TCP port of iperf3; 0 for any.
        groups: of hosts, where uplinks are measured.
        transfers: how data are transferred, where the tool does.
        remote_cache: where programs are put on the hosts, or None for the user's cache.
        nics: those that hosts give to DPDK altogether.
        max_hops: how many hops away a host may be, for `trace`.
        remote_python: the Python on the hosts that has scapy, for `trace`.
        earlier: a cluster of which only the missing pairs are measured, or None. What it holds of
            other quantities is kept.
        left_s: how many seconds are left for transfers, asked by any thread.
    """

    hosts: Sequence[ListedHost]
    made_from: str | None
    tool: str = DEFAULT_TOOL
    count: int | None = None
    passes: int | None = None
    precision_percent: float | None = None
    reading: float = DEFAULT_READING
    timeout_s: float = 2.0
    rounds: int | None = None
    seed: int = 0
    concurrency: int | None = None
    strict: bool = False
    network: IPNetwork | None = None
    interface: str | None = None
    port: int = 0
    remote_cache: str | None = None
    nics: Sequence[Nic] = ()
    max_hops: int = DEFAULT_MAX_HOPS
    remote_python: str = DEFAULT_REMOTE_PYTHON
    groups: Sequence[Group] = ()
    transfers: TransferSettings = field(default_factory=TransferSettings)
    ssh: SshOptions = field(default_factory=SshOptions)
    earlier: Cluster | None = None
    left_s: Callable[[], float] = no_limit

    @property
    def percentiles(self) -> tuple[float, ...]:
        """The percentiles of the round-trip times to keep; the first stands for a pair."""
        return (self.reading, *sorted({*STANDARD_PERCENTILES} - {self.reading}))
