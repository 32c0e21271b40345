"""Orders under a time limit: every algorithm and objective, and what each takes in all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchkit import datacenters
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import BandwidthMeasurement, RttMeasurement
from plink.formats.order import Order
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import Objective, OrderRequest

OBJECTIVES: tuple[Objective, ...] = ("latency", "contention", "bandwidth")

# Beyond the limit: a share of it, or so many seconds where that is more.
ALLOWED_SHARE, ALLOWED_S = 0.1, 0.3

_UPLINK_GBIT_S = 40.0


@dataclass(frozen=True)
class Case:
    """What is ordered.

    Args:
        hosts: how many.
        slots: of every host; of the first half of the hosts where it is uneven.
        is_uneven: the other half has one slot more.
        has_gaps: one pair in ten was not measured.
    """

    algorithm: str
    objective: Objective
    hosts: int
    slots: int = 1
    is_uneven: bool = False
    has_gaps: bool = False
    ranks: int | None = None
    is_interleaved: bool = False
    prove_s: float = 0.0
    threads: int = 1


@dataclass(frozen=True)
class Outcome:
    """How it went: what it took in all, and the order; None where it is refused."""

    wall_s: float
    cpu_s: float
    order: Order | None
    refusal: str = ""


def allowed_s(limit_s: float) -> float:
    """What an order may take in all."""
    return limit_s + max(ALLOWED_SHARE * limit_s, ALLOWED_S)


def run(case: Case, limit_s: float, seed: int = 0) -> Outcome:
    """Order, with the clock."""
    cluster = cluster_of(case.hosts, has_gaps=case.has_gaps)
    if case.is_uneven:
        half = case.hosts // 2
        hosts = [
            replace(host, slots=case.slots + (number >= half))
            for number, host in enumerate(cluster.hosts)
        ]
        cluster = replace(cluster, hosts=hosts)
    request = OrderRequest(
        algorithm=case.algorithm,
        objective=case.objective,
        slots=None if case.is_uneven else case.slots,
        ranks=case.ranks,
        interleave=case.is_interleaved,
        prove_s=case.prove_s,
        threads=case.threads,
        time_limit_s=limit_s,
        seed=seed,
    )
    begin_s, begin_cpu_s = time.monotonic(), time.process_time()
    order, refusal = None, ""
    try:
        order = find_order(cluster, request)
    except WrongUseError as error:
        refusal = str(error)
    return Outcome(time.monotonic() - begin_s, time.process_time() - begin_cpu_s, order, refusal)


@lru_cache(maxsize=2)
def cluster_of(hosts: int, *, has_gaps: bool = False) -> Cluster:
    """A generated data centre with round trips, bandwidths, and racks with uplinks."""
    made = datacenters.unequal(hosts, hosts)
    rng = np.random.default_rng(hosts)
    readings = made.distance * rng.uniform(1.0, 1.02, made.distance.shape)
    gbit_s = 1000.0 / np.where(made.distance > 0.0, made.distance, np.nan)
    if has_gaps:
        gaps = np.triu(rng.random(readings.shape) < 0.1, 1)
        readings[gaps | gaps.T] = gbit_s[gaps | gaps.T] = np.nan
    np.fill_diagonal(readings, np.nan)
    counts = np.zeros(readings.shape, dtype=np.int64)
    rtt = RttMeasurement(
        tool="simulated", rtt_us={10.0: readings}, reading=10.0, samples=counts, losses=counts
    )
    names = [f"h{number}" for number in range(hosts)]
    racks = [np.flatnonzero(made.rack_of == rack).tolist() for rack in np.unique(made.rack_of)]
    groups = [
        Group(f"rack{number}", [names[host] for host in members])
        for number, members in enumerate(racks)
    ]
    uplinks = [Uplink(group.name, _UPLINK_GBIT_S, _UPLINK_GBIT_S) for group in groups]
    return Cluster(
        [Host(name, name) for name in names],
        rtt=rtt,
        bandwidth=BandwidthMeasurement(
            tool="simulated", gbit_s=gbit_s, retransmits=np.zeros_like(gbit_s)
        ),
        groups=groups,
        uplinks=UplinkMeasurement(tool="simulated", uplinks=uplinks),
    )
