"""Orders, clusters and agents for the tests of torchrun's rendezvous."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import asdict

import plink
from plink.formats.hosts import Host
from plink.renumber.members import Member

# Two racks: a0, a1, a2 and b0, b1, b2.
RACKS = ["a0", "b0", "a1", "b1", "a2", "b2"]


def racks(names: Sequence[str] = RACKS) -> plink.MeasuredCluster:
    """Hosts of one rack are 50 µs from each other, others 200 µs, all a little different."""
    rng = np.random.default_rng(1)
    same = np.array([[one[0] == other[0] for other in names] for one in names])
    rtt_us = np.where(same, 50.0, 200.0) + rng.random((len(names), len(names)))
    return plink.MeasuredCluster.from_matrix(names, np.maximum(rtt_us, rtt_us.T))


def order_of(names: Sequence[str], *, slots: int = 1) -> plink.RankOrder:
    """These hosts in this order."""
    found = plink.order(plink.MeasuredCluster.from_matrix(names, np.ones((len(names), len(names)))))
    hosts = [Host(name, f"10.0.0.{place}", slots=slots) for place, name in enumerate(names)]
    return plink.RankOrder(**{**asdict(found), "hosts": hosts, "cluster": None})


def member(name: str, *addresses: str, digest: str = "") -> Member:
    """An agent on a host of that name."""
    return Member([name], list(addresses), f"{name}.example", 1000, digest)
