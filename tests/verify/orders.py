"""An order file of given hosts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plink.formats import order as order_file
from plink.formats.hosts import Host
from plink.formats.order import Order, Solver, TimeCost


def write_order(
    path: Path, hosts: Sequence[Host], host_of_rank: Sequence[int] | None = None
) -> Path:
    """An order of these hosts, whose hops are all alike; their ranks may be apart."""
    cost_us = 10.0 * len(hosts)
    order_file.write_order(
        str(path),
        Order(
            algorithm="ring",
            hosts=hosts,
            listed=[host.name for host in hosts],
            cost=TimeCost("latency", cost_us, cost_us, cost_us, [10.0] * len(hosts), cost_us),
            random_orders=1001,
            solver=Solver("test", {}, 0, 0, "exact"),
            seconds=0.0,
            host_of_rank=host_of_rank,
        ),
    )
    return path
