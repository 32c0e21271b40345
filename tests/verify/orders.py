"""An order file of given hosts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plink.files import order_file
from plink.files.cluster import Host
from plink.files.order import Order, Solver


def write_order(
    path: Path, hosts: Sequence[Host], host_of_rank: Sequence[int] | None = None
) -> Path:
    """An order of these hosts, whose hops are all alike; their ranks may be apart."""
    cost_us = 10.0 * len(hosts)
    order_file.write(
        str(path),
        Order(
            algorithm="ring",
            hosts=hosts,
            hops_us=[10.0] * len(hosts),
            given=[host.name for host in hosts],
            cost_us=cost_us,
            cost_given_us=cost_us,
            cost_random_us=cost_us,
            random_orders=1001,
            lower_bound_us=cost_us,
            solver=Solver("test", {}, 0, 0, "exact"),
            seconds=0.0,
            host_of_rank=host_of_rank,
        ),
    )
    return path
