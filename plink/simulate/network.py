"""A network whose links change, and how long flows take on it.

All flows of an iteration are under way together and share links fairly (max-min).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from plink.solvers.contention.fair import ends_s

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class State:
    """Current rates of links.

    Args:
        hosts_bytes_s: (H,) each host's link, either direction.
        group_of: (H,) the group of each host.
        uplinks_bytes_s: (G,) each group's link, either direction.
        flows_bytes_s: what single flows carry at most, by (sender, receiver).
        adding_bytes_s: what a host adds up at most, by host: a busy processor.
    """

    hosts_bytes_s: Floats
    group_of: npt.NDArray[np.intp]
    uplinks_bytes_s: Floats
    flows_bytes_s: Mapping[tuple[int, int], float] = field(default_factory=dict)
    adding_bytes_s: Mapping[int, float] = field(default_factory=dict)

    def with_host(self, host: int, factor: float) -> State:
        """Return the state with one host at that share of its rate."""
        rates = self.hosts_bytes_s.copy()
        rates[host] *= factor
        return replace(self, hosts_bytes_s=rates)

    def with_all(self, factor: float) -> State:
        """Return the state with all hosts at that share of their rates."""
        return replace(self, hosts_bytes_s=self.hosts_bytes_s * factor)

    def with_uplink(self, group: int, factor: float) -> State:
        """Return the state with one uplink at that share of its rate."""
        rates = self.uplinks_bytes_s.copy()
        rates[group] *= factor
        return replace(self, uplinks_bytes_s=rates)


def even(hosts: int, *, groups: int = 1, host_gbit_s: float = 5.0, uplink: float = np.inf) -> State:
    """Return equal hosts in equal groups; an uplink carries as much as that many hosts."""
    rate = host_gbit_s * 1e9 / 8
    group_of = np.arange(hosts) * groups // hosts
    return State(np.full(hosts, rate), group_of, np.full(groups, uplink * rate))


def flow_times_s(sent_bytes: Floats, state: State) -> Floats:
    """Return (H, H) when each flow ends."""
    sender, receiver = np.nonzero(sent_bytes)
    times = np.zeros(sent_bytes.shape)
    times[sender, receiver] = ends_s(sent_bytes[sender, receiver], *_links(sender, receiver, state))
    return times


def _links(sender: Indices, receiver: Indices, state: State) -> tuple[Indices, Floats]:
    """Return (F, K) the links that each flow crosses, and (L,) what links carry."""
    hosts, groups = len(state.hosts_bytes_s), len(state.uplinks_bytes_s)
    adding = np.array([state.adding_bytes_s.get(host, np.inf) for host in range(hosts)])
    source, target = state.group_of[sender], state.group_of[receiver]
    own = np.full(len(sender), -1)
    for number, (one, other) in enumerate(state.flows_bytes_s):
        own[(sender == one) & (receiver == other)] = 2 * hosts + 2 * groups + number
    crossed = np.stack(
        [
            sender,
            hosts + receiver,
            np.where(source == target, -1, 2 * hosts + source),
            np.where(source == target, -1, 2 * hosts + groups + target),
            own,
        ],
        axis=1,
    )
    received = np.minimum(state.hosts_bytes_s, adding)
    uplinks = [state.uplinks_bytes_s, state.uplinks_bytes_s]
    flows = np.array([*state.flows_bytes_s.values()], dtype=np.float64)
    return crossed, np.concatenate([state.hosts_bytes_s, received, *uplinks, flows])
