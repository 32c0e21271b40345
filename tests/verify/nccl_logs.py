"""Logs as several versions of NCCL write them, of jobs of any size on any hosts.

The wording is that of logs which users of NCCL 2.4, 2.7, 2.18 and 2.21 published, and of NCCL's
sources; hosts, processes and addresses are made up.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.solvers.collectives.nccl import double_tree


def job(
    host_of_rank: Sequence[str],
    version: str,
    *,
    rings: Sequence[Sequence[int]] | None = None,
    with_neighbours: bool = True,
) -> str:
    """The log of all ranks, one after the other."""
    size = len(host_of_rank)
    every = [list(range(size))] * 2 if rings is None else list(rings)
    parents = _parents(host_of_rank)
    lines = [f"NCCL version {version}+cuda12.2"]
    for rank, host in enumerate(host_of_rank):
        minor = int(version.split(".")[1])
        said = []
        if minor >= 20:
            said.append(
                f"comm 0x55d0c0{rank} rank {rank} nRanks {size} nNodes 9 localRanks 1 MNNVL 0"
            )
        if rank == 0:
            for channel, ring in enumerate(every):
                named = f"{channel:02d}" + (f"/{len(every):02d}" if minor > 5 else "")
                said.append((f"Channel {named} :" + "".join(f" {r:3d}" for r in ring))[:127])
        if with_neighbours and minor > 5:
            for channel, ring in enumerate(every):
                at = list(ring).index(rank)
                before, after = ring[at - 1], ring[(at + 1) % size]
                said.append(f"Ring {channel:02d} : {before} -> {rank} -> {after}")
        said.append("Trees " + " ".join(_tree(rank, c, parents[c % 2], minor) for c in (0, 1)))
        said.append(f"Channel 00/0 : {rank}[0] -> {(rank + 1) % size}[0] [send] via NET/Socket/0")
        said.append("Connected all rings")
        said.append(f"comm 0x55d0c0{rank} rank {rank} nranks {size} cudaDev 0 - Init COMPLETE")
        lines += [f"{host}:{4000 + rank}:{4100 + rank} [0] NCCL INFO {text}" for text in said]
    return "\n".join(lines) + "\n"


def _tree(rank: int, channel: int, parent: Sequence[int], minor: int) -> str:
    below = [child for child, of in enumerate(parent) if of == rank][:3]
    children = "/".join(map(str, [*below, -1, -1, -1][:3]))
    if minor <= 5:
        return f"[{channel}] {parent[rank]}->{rank}->{children}"
    tree = f"[{channel}] {children}->{rank}->{parent[rank]}"
    return f"{tree}|{parent[rank]}->{rank}->{children}" if minor == 7 else tree


def _parents(host_of_rank: Sequence[str]) -> list[list[int]]:
    """Of both trees: over the hosts' first ranks, and a chain within each host."""
    hosts = list(dict.fromkeys(host_of_rank))
    first = {host: host_of_rank.index(host) for host in hosts}
    found = []
    for tree in double_tree(len(hosts)):
        parents = []
        for rank, host in enumerate(host_of_rank):
            above = int(tree[hosts.index(host)])
            if rank != first[host]:
                parents.append(rank - 1)
            else:
                parents.append(-1 if above < 0 else first[hosts[above]])
        found.append(parents)
    return found
