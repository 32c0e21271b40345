"""Results as a bench leaves them: of clients and sizes, and of orders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.base.errors import PlinkError
from plink.bench.bench import BenchOutcome, make_outcome
from plink.bench.clients.client import Measured, Workload
from plink.bench.orders import NamedOrder
from plink.bench.request import BenchRequest, Case
from plink.bench.rounds import Rounds
from plink.formats.cluster import Cluster
from plink.formats.comparison import (
    BenchSetting,
    BytesByLink,
    ClientRecord,
    Comparison,
    ComparisonRow,
    LinkBytes,
)
from plink.formats.hosts import Host
from plink.model.distance import Distances
from plink.model.network import build_network

# Label, hosts of the ranks, latency form in µs, contention form in s.
ORDERS = (
    ("given", (0, 1, 2, 3), 200.0, 2.0),
    ("plink", (1, 0, 2, 3), 100.0, 2.001),
    ("random-1", (3, 1, 2, 0), 210.0, 4.0),
    ("random-2", (2, 1, 3, 0), 190.0, 3.0),
)
REPETITIONS = 3


def order_bench(
    samples_s: Sequence[Sequence[float]], rounds_done: int = 1, stopped: PlinkError | None = None
) -> BenchOutcome:
    """Gloo's ring in the first so many of `ORDERS`, on four hosts of which two pairs are filled."""
    cluster = Cluster([Host(name, f"10.0.0.{i}") for i, name in enumerate("abcd", start=1)])
    workload = Workload(20_000_000, 1, REPETITIONS)
    cases = [
        Case("gloo", "ring", NamedOrder(label, hosts), workload, None, time_s, latency_us)
        for label, hosts, latency_us, time_s in ORDERS[: len(samples_s)]
    ]
    request = BenchRequest(
        cluster=cluster,
        source="cluster.json",
        cases=cases,
        compares_orders=True,
        network=build_network(cluster).network,
        groups=(),
        assumptions=(),
        rounds=3,
        seed=7,
    )
    launches = [
        [Measured(own[begin : begin + REPETITIONS]) for begin in range(0, len(own), REPETITIONS)]
        for own in samples_s
    ]
    is_filled = np.zeros((4, 4), dtype=bool)
    is_filled[0, 1:3] = is_filled[1:3, 0] = True
    return make_outcome(
        request,
        Rounds(launches, rounds_done, stopped),
        {"gloo": ClientRecord({"torch": "2.13.0"}, {"GLOO_SOCKET_IFNAME": "eth0"})},
        dict.fromkeys(cluster.names, "bbr"),
        Distances(np.zeros((4, 4)), is_filled, []),
    )


def comparison(stopped: str | None = None) -> Comparison:
    """Engine and Gloo in two sizes on two hosts; limits are known of the larger one."""
    links = BytesByLink(
        [
            LinkBytes("a", 1010.0, 1020.0, 1000.0, 1000.0),
            LinkBytes("b", 30.0, 2040.0, 20.0, 2000.0),
        ],
        [LinkBytes("g", 510.0, 10.0, 500.0, 0.0)],
    )
    rows = [
        row(client, size_bytes, median_s, links if client == "engine" else None)
        for size_bytes, times in ((4, (0.0002, 0.001)), (20_000_000, (0.8, 3.2)))
        for client, median_s in zip(("engine", "gloo"), times, strict=True)
    ]
    setting = BenchSetting(
        clients={
            "engine": ClientRecord({"plink": "0.1.0", "numpy": "2.0"}, {}),
            "gloo": ClientRecord({"torch": "2.13.0"}, {"GLOO_SOCKET_IFNAME": "eth0"}),
        },
        warmups=1,
        repetitions=3,
        rounds=2,
        seed=7,
        congestion_control={"a": "bbr", "b": "bbr"},
        made_from="sha256:0",
        assumptions=["uplinks taken for unlimited, since not known: g"],
    )
    return Comparison(setting, rows, 1 if stopped else 2, stopped)


def row(client: str, size_bytes: int, median_s: float, links: BytesByLink | None) -> ComparisonRow:
    """Of one client in one size."""
    is_engine, is_large = client == "engine", size_bytes > 1000
    return ComparisonRow(
        client=client,
        algorithm="auto" if is_engine else "ring",
        plan="2lha" if is_engine else None,
        order=None if is_engine else "given",
        collective="all-reduce",
        size_bytes=size_bytes,
        hosts=["a", "b"],
        median_s=median_s,
        min_s=0.5 * median_s,
        max_s=2.0 * median_s,
        bus_mbit=8 * size_bytes / median_s / 1e6,
        cpu_s_per_gb=0.5 if is_engine else None,
        limit_s=0.4 if is_large else None,
        limit_by="uplinks" if is_large else None,
        predicted_s=0.5 if is_large else None,
        links=links,
        samples_s=[0.5 * median_s, median_s, 2.0 * median_s],
        cpu_s=[0.01, 0.02, 0.03] if is_engine else [],
    )
