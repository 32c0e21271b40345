"""Estimates of round trips between hosts from those of other hosts below the same switches. Pure.

`scontrol show topology` prints a line for every switch or block, leaves at level 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from plink.base.replacing import replace
from plink.formats.matrices import Matrix
from plink.formats.measurements import RttMeasurement
from plink.probes.errors import HostListError
from plink.probes.hosts.slurm import parse_topology_conf

_LEVEL = re.compile(r"\bLevel=(\d+)\s*")
_OTHERS = re.compile(r"\b(?:BlockIndex|BlockSize|LinkSpeed|Topology)=\S*\s*")
# Of two switches: a pair of hosts, in both directions. A check of other pairs follows.
_LEAST_READINGS = 2


def parse_switches(text: str) -> dict[str, str]:
    """Return each host's leaf switch or block by `scontrol show topology`; empty if none.

    Args:
        text: what `scontrol show topology` prints; nothing of it is trusted.
    """
    leaves = []
    for line in text.splitlines():
        level = _LEVEL.search(line)
        if "Nodes=" in line and (level is None or int(level[1]) == 0):
            leaves.append(_OTHERS.sub("", _LEVEL.sub("", line)))
    if not leaves:
        return {}
    try:
        groups = parse_topology_conf("\n".join(leaves), "scontrol show topology").leaves
    except HostListError:
        return {}
    return {name: switch for switch, (_, names) in groups.items() for name in names}


def fill_by_switch(
    rtt: RttMeasurement, names: Sequence[str], switch_of: Mapping[str, str]
) -> RttMeasurement:
    """Fill missing round-trip times with the median of pairs below the same two switches.

    Args:
        rtt: (N, N) of these hosts.
        names: names of the N hosts.
        switch_of: their switches, where known.
    """
    switches = sorted({switch_of[name] for name in names if name in switch_of})
    number = {switch: index for index, switch in enumerate(switches)}
    of = np.array([number.get(switch_of.get(name, ""), -1) for name in names], dtype=np.int64)
    is_read = ~np.isnan(rtt.readings_us)
    times_us = {key: matrix.copy() for key, matrix in rtt.rtt_us.items()}
    for a in range(len(switches)):
        for b in range(len(switches)):
            block = (of == a)[:, None] & (of == b)[None, :]
            np.fill_diagonal(block, val=False)
            known, lacking = block & is_read, block & ~is_read
            if not lacking.any() or known.sum() < _LEAST_READINGS:
                continue
            for key, matrix in rtt.rtt_us.items():
                times_us[key][lacking] = np.nanmedian(matrix[known])
    return replace(rtt, rtt_us=times_us, disturbance=None, passes=None, halves_us=None)


def count_partners(readings_us: Matrix, hosts: int) -> Matrix:
    """Return how many of the first `hosts` have readings both ways with each, (hosts,)."""
    among = readings_us[:hosts, :hosts]
    both = ~np.isnan(among) & ~np.isnan(among.T)
    np.fill_diagonal(both, val=False)
    counted: Matrix = both.sum(axis=1).astype(np.float64)
    return counted
