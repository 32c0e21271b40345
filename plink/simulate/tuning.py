"""SimGrid as the network of a tuned job: what its flows take, for the tuner's windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plink.base.replacing import replace
from plink.optimize.plans.traffic import Demand, build_traffic, traffic_bytes
from plink.plans.forest import Forest
from plink.simulate.jobs import Carried
from plink.simulate.making import schedule_of_traffic
from plink.simulate.network import State
from plink.simulate.simgrid.platforms import Zones
from plink.simulate.simgrid.run import Change, Graph, graph_of, run_graph


@dataclass(frozen=True)
class OnSimGrid:
    """Timer of collectives on SimGrid, with one simulation for each call.

    Args:
        platform: the network as it usually is, whose latencies stay.
        by_chunk: along the plan chunk by chunk, each waiting for those before it, as the engine
            sends them. Otherwise everything from one host to another is a flow and all begin
            together, which is what plink's model has, and within reach of a million flows.
        timeout_s: of a simulation.
    """

    platform: Zones
    by_chunk: bool = False
    timeout_s: float | None = None

    def __call__(
        self,
        collective: str,
        size_bytes: float,
        forest: Forest,
        state: State,
        change: tuple[float, State] | None = None,
    ) -> Carried:
        """Simulate one call (`plink.simulate.jobs.Carry`).

        Raises:
            PlinkError: SimGrid is not there, or it failed.
            TimeoutError: it took too long.
            ValueError: single flows are limited, which no link of a platform is.
        """
        traffic = build_traffic(Demand(collective, size_bytes), forest)
        sent = traffic_bytes(traffic)
        hosts = len(sent)
        if self.by_chunk:
            schedule = schedule_of_traffic(traffic, hosts)
            graph = graph_of(schedule, np.arange(hosts), float("inf"))
            sent = schedule.bytes_between()
        else:
            graph = _flows(sent)
        turn = None if change is None else Change(change[0], platform_in(self.platform, change[1]))
        found = run_graph(
            platform_in(self.platform, state),
            graph,
            tells_lanes=True,
            change=turn,
            ends_together=not self.by_chunk,
            timeout_s=self.timeout_s,
        )
        busy_s = np.zeros((hosts, hosts))
        is_sent = graph.lane >= 0
        if found.busy_s is not None:
            pairs = graph.source[is_sent], graph.destination[is_sent]
            busy_s[pairs] = found.busy_s[graph.lane[is_sent]]
        return Carried(sent, busy_s, found.time_s)


def _flows(sent_bytes: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Graph:
    """Return everything from one host to another at once, all of it from the beginning."""
    source, destination = np.nonzero(sent_bytes)
    nothing = np.zeros(0, dtype=np.int64)
    return Graph(
        source.astype(np.int32),
        destination.astype(np.int32),
        np.rint(sent_bytes[source, destination]),
        np.arange(len(source), dtype=np.int32),
        nothing,
        nothing,
    )


def state_of(platform: Zones) -> State:
    """Return the tuner's view of a platform: hosts, their zones, uplinks."""
    zones, group_of = np.unique(platform.zone_of, return_inverse=True)
    return State(
        np.minimum(platform.send_bytes_s, platform.receive_bytes_s),
        group_of.ravel().astype(np.intp),
        np.minimum(platform.up_bytes_s[zones], platform.down_bytes_s[zones]),
    )


def platform_in(platform: Zones, state: State) -> Zones:
    """Return the platform with links that carry what a state says.

    Raises:
        ValueError: the state limits single flows.
    """
    if state.flows_bytes_s:
        raise ValueError("a platform has no links that limit single flows")
    zones = np.unique(platform.zone_of)
    up, down = platform.up_bytes_s.copy(), platform.down_bytes_s.copy()
    up[zones] = down[zones] = state.uplinks_bytes_s
    receive = state.hosts_bytes_s.copy()
    for host, rate in state.adding_bytes_s.items():
        receive[host] = min(receive[host], rate)
    return replace(
        platform,
        up_bytes_s=up,
        down_bytes_s=down,
        send_bytes_s=state.hosts_bytes_s,
        receive_bytes_s=receive,
    )
