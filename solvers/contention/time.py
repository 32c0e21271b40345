"""How long a collective takes where flows that are under way together share links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from solvers.collectives.table import PeerTable
from solvers.contention.network import Network
from solvers.contention.stages import Floats, Ranks, over_positions, split


class Clock:
    """The time of one table on one network, for any order.

    A round takes the greatest latency of its messages, and the time that its slowest link needs for
    all bytes that cross it in the round. Links are each host's and each group's uplink, and their
    two directions are separate. The rounds of a pipelined table are under way together: their bytes
    are summed up by link, and the slowest link decides; the latencies are those of one part's way
    through all rounds. Where messages go round a ring again and again (N-1 times or more), latency
    is their mean: a rank that is early waits for one that is late only once.

    Args:
        table: of the ranks.
        network: of the hosts.
        position_of: (R,) which ranks share a position, and so a host; orders are then of positions.
            None where each rank has one of its own.
    """

    def __init__(
        self, table: PeerTable, network: Network, position_of: Ranks | None = None
    ) -> None:
        self._network = network
        self._ranks = table.ranks
        self.loads, self.waits = split(table)
        if position_of is not None:
            self._ranks = int(position_of.max()) + 1
            self.loads, self.waits = over_positions(self.loads, self.waits, position_of)
        self._stage = np.repeat(np.arange(len(self.loads.counts)), np.diff(self.loads.starts))

    @property
    def ranks(self) -> int:
        """How many hosts an order has: one for each rank, or position."""
        return self._ranks

    def time_s(self, order: Sequence[int] | npt.NDArray[np.intp]) -> float:
        """The time with rank r on host `order[r]`; ranks of the same host exchange data for free.

        Raises:
            ValueError: not a host for each rank, or for each position.
        """
        hosts = np.asarray(order, dtype=np.intp)
        if hosts.shape != (self._ranks,):
            raise ValueError(f"order has shape {hosts.shape}, expected ({self._ranks},)")
        if hosts.min() < 0 or hosts.max() >= self._network.hosts:
            raise ValueError(f"order holds others than hosts 0 to {self._network.hosts - 1}")
        return self._load_s(hosts) + self._wait_s(hosts)

    def _load_s(self, hosts: Ranks) -> float:
        network, loads = self._network, self.loads
        if not len(loads.counts):
            return 0.0
        sources, destinations = hosts[loads.sources], hosts[loads.destinations]
        leaves_host = sources != destinations
        group_from, group_to = network.group_of[sources], network.group_of[destinations]
        leaves_group = (group_from != group_to) & (group_from >= 0)
        enters_group = (group_from != group_to) & (group_to >= 0)
        slowest_s = np.zeros(len(loads.counts))
        for ends, crosses, rates in (
            (sources, leaves_host, network.send_bytes_s),
            (destinations, leaves_host, network.receive_bytes_s),
            (group_from, leaves_group, network.uplink_send_bytes_s),
            (group_to, enters_group, network.uplink_receive_bytes_s),
        ):
            np.maximum(slowest_s, self._slowest_s(ends, crosses, rates), out=slowest_s)
        return float(slowest_s @ loads.counts)

    def _slowest_s(self, ends: Ranks, crosses: npt.NDArray[np.bool_], rates: Floats) -> Floats:
        """By stage, the time of the link that takes longest; `ends` says on which each flow is."""
        stages, links = len(self.loads.counts), len(rates)
        if links == 0:
            return np.zeros(stages)
        places = (self._stage * links + ends)[crosses]
        total = np.bincount(places, self.loads.sizes_bytes[crosses], stages * links)
        slowest: Floats = (total.reshape(stages, links) / rates).max(axis=1)
        return slowest

    def _wait_s(self, hosts: Ranks) -> float:
        waits = self.waits
        if not len(waits.counts):
            return 0.0
        latency_s = self._network.latency_s[hosts[waits.sources], hosts[waits.destinations]]
        greatest_s = np.maximum.reduceat(latency_s, waits.starts[:-1])
        mean_s = np.add.reduceat(latency_s, waits.starts[:-1]) / np.diff(waits.starts)
        return float(np.where(waits.goes_round, mean_s, greatest_s) @ waits.counts)


def time_s(
    table: PeerTable, network: Network, order: Sequence[int] | npt.NDArray[np.intp]
) -> float:
    """The time in seconds with rank r on host `order[r]` (`Clock`).

    Raises:
        ValueError: not a host for each rank.
    """
    return Clock(table, network).time_s(order)
