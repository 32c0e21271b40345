"""Bound on how much faster parameter servers with several ports are than an all-reduce.

With S bytes, a worker's link of B and a server's k ports of B each, links need S/B max(1, N/k)
where a server aggregates for N workers, and 2 (N-1)/N S/B for an all-reduce between them (Patarasuk
and Yuan 2009). So a server wins where it has more than N²/(2(N-1)) ports; and what wins is their
bandwidth, since the same added to the workers' own interfaces wins more.
"""

from __future__ import annotations

from typing import ClassVar

from plink.formats.limits import Amount, Positive, Text
from plink.formats.structs import Output

# Rates are compared with this much room for rounding.
_EVEN = 1e-9


class PortsVerdict(Output, frozen=True):
    """Greatest speed-up of an all-reduce that parameter servers' ports allow, by bandwidth alone.

    Attributes:
        workers: number of workers, N
        ports: number of ports of all servers together, k, each as fast as a worker's link
        needed_ports: number of ports above which servers beat an all-reduce, N²/(2(N-1)); null for
            one worker, which needs neither
        gain: time of an all-reduce over the time through the servers
        equal_bandwidth: the same, if the workers had the servers' interfaces beside their own
    """

    COMPUTED: ClassVar = ("sentence",)

    workers: Positive
    ports: Amount
    needed_ports: Amount | None
    gain: Amount
    equal_bandwidth: Amount

    @property
    def sentence(self) -> Text:
        """Sentence that compares the servers with an all-reduce between the workers."""
        if self.needed_ports is None:
            return "a single worker has nothing to aggregate"
        ports = "1 port" if self.ports == 1 else f"{self.ports:.3g} ports"
        verdict = (
            f"{self.gain:.2f} times as quick as all-reduce at most"
            if self.gain > 1.0 + _EVEN
            else f"all-reduce takes {self.gain:.2f} of the servers' time"
        )
        return (
            f"{self.workers} workers, servers with {ports} of a worker's rate in all, where "
            f"workers' links are equal and no uplink is shared: {verdict}; "
            f"servers win with more than {self.needed_ports:.2f} ports, k > N²/(2(N-1)); with "
            "the same interface bandwidth in all given to the workers, all-reduce takes "
            f"{self.equal_bandwidth:.3f} of the servers' time"
        )


def judge_ports(workers: int, ports: float) -> PortsVerdict:
    """Compute how much faster than an all-reduce servers with so many ports can be at most.

    Args:
        workers: at least 1.
        ports: above 0; a port that is quicker than a worker's link counts for more than one.
    """
    through_servers = max(1.0, workers / ports)
    all_reduce = 2.0 * (workers - 1) / workers
    needed = workers**2 / (2.0 * (workers - 1)) if workers > 1 else None
    gain = all_reduce / through_servers
    return PortsVerdict(workers, ports, needed, gain, gain / (1.0 + ports / workers))
