"""Links that flows share, with token buckets for bursts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plink.solvers.collectives.table import PeerTable
from plink.solvers.contention.network import Network
from plink.solvers.contention.stages import Floats, split

# What a link with something in its bucket carries: more than a host sends.
PEAK_BYTES_S = 1.25e9

# A bucket with less than this share is empty.
EMPTY = 0.02


@dataclass(frozen=True)
class Trunk:
    """Link that several groups share towards all groups outside.

    Args:
        groups: indices.
        send_bytes_s, receive_bytes_s: infinite where unlimited.
    """

    groups: tuple[int, ...]
    send_bytes_s: float
    receive_bytes_s: float


@dataclass(frozen=True)
class SharedLinks:
    """Links of a network, by number.

    Args:
        rate_bytes_s: (L,) that each carries.
        burst_bytes: (L,) that it lets pass at once after a pause (a token bucket).
        group_of: (N,) the group of each host, -1 for none.
        trunk_of: (G,) the trunk of each group, -1 for none.
    """

    rate_bytes_s: Sequence[float]
    burst_bytes: Sequence[float]
    group_of: Sequence[int]
    trunk_of: Sequence[int]

    def path(self, source: int, destination: int) -> tuple[int, ...]:
        """Return the rate-limited links from host to host; none from a host to itself."""
        if source == destination:
            return ()
        hosts, groups = len(self.group_of), len(self.trunk_of)
        crossed = [source, hosts + destination]
        one, other = self.group_of[source], self.group_of[destination]
        if one != other:
            ends = ((one, 2 * hosts, 0), (other, 2 * hosts + groups, 1))
            above = [-1 if group < 0 else self.trunk_of[group] for group in (one, other)]
            base = 2 * hosts + 2 * groups
            trunks = (len(self.rate_bytes_s) - base) // 2
            for group, first, side in ends:
                if group >= 0:
                    crossed.append(first + group)
                    if above[side] >= 0 and above[0] != above[1]:
                        crossed.append(base + side * trunks + above[side])
        return tuple(link for link in crossed if self.rate_bytes_s[link] < float("inf"))

    def carried_s(self, table: PeerTable, order: Sequence[int]) -> float:
        """Return the busiest link's time for all bytes of a table at once."""
        loads, _ = split(table)
        total: dict[int, float] = {}
        for stage, count in enumerate(loads.counts.tolist()):
            flows = slice(int(loads.starts[stage]), int(loads.starts[stage + 1]))
            for source, destination, size in zip(
                loads.sources[flows].tolist(),
                loads.destinations[flows].tolist(),
                loads.sizes_bytes[flows].tolist(),
                strict=True,
            ):
                for link in self.path(order[source], order[destination]):
                    total[link] = total.get(link, 0.0) + size * count
        return max(
            (
                max(
                    (size - self.burst_bytes[link]) / self.rate_bytes_s[link],
                    size / max(PEAK_BYTES_S, self.rate_bytes_s[link]),
                )
                for link, size in total.items()
            ),
            default=0.0,
        )


def shared_links(
    network: Network,
    trunks: Sequence[Trunk] = (),
    *,
    burst_bytes: float = 0.0,
    flow_share: float = 1.0,
) -> SharedLinks:
    """Return the links of a network.

    Args:
        network: hosts and groups.
        trunks: that groups share.
        burst_bytes: what every limited link lets pass at once.
        flow_share: what flows get together of a link's rate.

    Raises:
        ValueError: a group that is not there, or in two trunks.
    """
    trunk_of = [-1] * network.groups
    for number, trunk in enumerate(trunks):
        for group in trunk.groups:
            if not 0 <= group < network.groups or trunk_of[group] >= 0:
                raise ValueError(f"group {group} does not exist, or is in two trunks")
            trunk_of[group] = number
    rates: Floats = np.concatenate(
        [
            network.send_bytes_s,
            network.receive_bytes_s,
            network.uplink_send_bytes_s,
            network.uplink_receive_bytes_s,
            np.array([trunk.send_bytes_s for trunk in trunks]),
            np.array([trunk.receive_bytes_s for trunk in trunks]),
        ]
    )
    return SharedLinks(
        (rates * flow_share).tolist(),
        [burst_bytes if rate < np.inf else 0.0 for rate in rates.tolist()],
        network.group_of.tolist(),
        trunk_of,
    )
