"""Two-level hierarchical aggregation (2LHA) as a peer table (Luo 2020, §4.1)."""

from __future__ import annotations

import numpy as np

from solvers.collectives.table import PeerTable, Round
from solvers.groups.grouping import Labels, members


def two_level_table(labels: Labels, size_bytes: float) -> PeerTable:
    """Every host is the global master of one shard, and of each shard a group has a local master.

    The local masters of a group's shards are its hosts in turn. Rank r is host r. Shards are cut
    into chunks, so all four steps are under way at once.
    """
    groups = members(labels)
    size = len(labels)
    gather: list[tuple[int, int]] = []
    across: list[tuple[int, int]] = []
    for shard in range(size):
        for number, hosts in enumerate(groups):
            is_home = labels[shard] == number
            local = shard if is_home else hosts[shard % len(hosts)]
            gather += [(host, local) for host in hosts if host != local]
            if not is_home:
                across.append((local, shard))
    up = [_round(pairs, size_bytes / size) for pairs in (gather, across)]
    down = [Round(step.destinations, step.sources, step.sizes_bytes) for step in reversed(up)]
    return PeerTable(size, [*up, *down], is_pipelined=True)


def _round(pairs: list[tuple[int, int]], size_bytes: float) -> Round:
    ends = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return Round(ends[:, 0], ends[:, 1], np.full(len(ends), size_bytes))
