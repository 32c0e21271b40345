"""Predicted time of a collective whose concurrent flows share links, for any rank order."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plink.solvers import _native
from plink.solvers.collectives.steps import PeerTable
from plink.solvers.contention.network import Network
from plink.solvers.contention.stages import Floats, Ranks, over_positions, split
from plink.solvers.limits import Deadline


class TableTimer:
    """Predictor of the seconds that one collective takes on one network, for any rank order.

    A round takes the greatest latency of its messages, and the time that its slowest link needs for
    all bytes that cross it in the round. Links are each host's and each group's uplink, and their
    two directions are separate. The rounds of a pipelined table are under way together: their bytes
    are summed up by link, and the slowest link decides; the latencies are those of one part's way
    through all rounds. Where messages go round a ring again and again (N-1 times or more), latency
    is their mean: a rank that is early waits for one that is late only once. A timer is not for
    several threads at the same time.

    Args:
        table: table of the ranks.
        network: network of the hosts.
        position_of: (R,) which ranks share a position, and so a host; orders are then of positions.
            None where each rank has one of its own.
    """

    def __init__(
        self, table: PeerTable, network: Network, position_of: Ranks | None = None
    ) -> None:
        self.network = network
        # Of an order: one for each rank or group of adjacent ranks.
        self.positions = table.ranks
        self.loads, self.waits = split(table)
        if position_of is not None:
            self.positions = int(position_of.max()) + 1
            self.loads, self.waits = over_positions(self.loads, self.waits, position_of)

    def with_network(self, network: Network) -> TableTimer:
        """Return a timer of the same table on another network of as many hosts."""
        other = copy.copy(self)
        other.network = network
        vars(other).pop("_native", None)
        return other

    @cached_property
    def _native(self) -> _native.ContentionClock:
        return _native.ContentionClock(native_problem(self, self.network.latency_s), self.positions)

    def time_s(self, order: Sequence[int] | npt.NDArray[np.intp]) -> float:
        """Return the predicted seconds with rank r on host `order[r]`; traffic in a host is free.

        Raises:
            ValueError: not a host for each rank, or for each position.
        """
        return float(self.times_s(np.array([order], dtype=np.int64), Deadline(0.0))[0])

    def times_s(self, orders: npt.NDArray[np.int64], deadline: Deadline) -> Floats:
        """Return the predicted seconds of (M, R) orders, (K,): the first K <= M that time allows.

        At least one of them.

        Raises:
            ValueError: something else than hosts, or not one for each rank or position.
        """
        times_s = self._native.times_s(np.ascontiguousarray(orders), least=1, deadline=deadline)
        return np.array(times_s)


def native_problem(clock: TableTimer, tie_distance: Floats) -> _native.ContentionProblem:
    """Convert a collective on a network to the input of the native search.

    Of orders of the same time, that of the lower (N, N) `tie_distance` is better.
    """
    network = clock.network
    loads, waits = (
        _native.ContentionStages(**{name: array.tolist() for name, array in vars(stages).items()})
        for stages in (clock.loads, clock.waits)
    )
    return _native.ContentionProblem(
        group_of=network.group_of.tolist(),
        send_s_byte=(1.0 / network.send_bytes_s).tolist(),
        receive_s_byte=(1.0 / network.receive_bytes_s).tolist(),
        uplink_send_s_byte=(1.0 / network.uplink_send_bytes_s).tolist(),
        uplink_receive_s_byte=(1.0 / network.uplink_receive_bytes_s).tolist(),
        latency_s=np.ascontiguousarray(network.latency_s),
        tie_distance=np.ascontiguousarray(tie_distance),
        loads=loads,
        waits=waits,
    )
