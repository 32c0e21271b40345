"""What a bench refuses before anything is sent."""

from __future__ import annotations

import threading
import time
from _thread import interrupt_main
from pathlib import Path

import numpy as np
import pytest

from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.bench.cases import build_predictor, read_orders
from plink.bench.clients.client import Workload
from plink.bench.request import check_workload
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement
from verify.orders import write_order


def cluster_of(size: int) -> Cluster:
    generator = np.random.default_rng(1)
    counts = np.full((size, size), 5)
    rtt = RttMeasurement(
        {10.0: generator.uniform(10.0, 90.0, (size, size))}, 10.0, counts, 0 * counts, tool="echo"
    )
    return Cluster([Host(f"h{i}", f"10.0.0.{i + 1}") for i in range(size)], rtt)


def test_a_launch_of_a_day_is_allowed_and_a_longer_one_names_the_options() -> None:
    day = Workload(4000, warmups=40, repetitions=1400, timeout_s=60.0)
    assert day.launch_limit_s == 86_400.0
    check_workload(day, ranks=4)
    longer = Workload(4000, warmups=1, repetitions=40_000, timeout_s=60.0)
    with pytest.raises(
        WrongUseError, match=r"27\.8 days, 40001 allreduces of up to 60 s"
    ) as caught:
        check_workload(longer, ranks=4)
    hint = caught.value.hint or ""
    assert all(option in hint for option in ("repetitions", "warmups", "timeout"))


@pytest.mark.parametrize(
    ("size_bytes", "complaint", "hint"),
    [
        (7, "a size of 7 B is not a whole number of float32", "multiple of 4"),
        (8, "a size of 8 B is less than a float32 for each of 4 ranks", "at least 16 bytes"),
        (999_999 * 10**9, "a size of 999999 GB is more than", "at most 8589934588 bytes"),
    ],
)
def test_sizes_that_cannot_be_are_told_with_the_option(
    size_bytes: int, complaint: str, hint: str
) -> None:
    with pytest.raises(WrongUseError, match=complaint) as caught:
        check_workload(Workload(size_bytes, 1, 3), ranks=4)
    assert hint in (caught.value.hint or "")


def ring_orders(text: str, cluster: Cluster, time_limit_s: float) -> None:
    read_orders(
        text,
        cluster,
        build_predictor(cluster, "gloo-ring", 4000),
        algorithm="gloo-ring",
        size_bytes=4000,
        seed=1,
        time_limit_s=time_limit_s,
    )


def test_ctrl_c_while_plinks_order_is_sought_ends_the_bench() -> None:
    cluster = cluster_of(300)
    timer = threading.Timer(1.0, interrupt_main)
    timer.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            ring_orders("plink", cluster, 30.0)
    finally:
        timer.cancel()
        timer.join()
    assert time.monotonic() - begin < 15.0


def test_an_order_of_fewer_hosts_with_several_ranks_each_says_what_to_ask_for(
    tmp_path: Path,
) -> None:
    cluster = cluster_of(4)
    path = write_order(
        tmp_path / "order.json", [replace(host, slots=3) for host in cluster.hosts[:2]]
    )
    with pytest.raises(
        WrongUseError, match="has 6 ranks on 2 of 4 hosts, the bench has 4"
    ) as caught:
        ring_orders(str(path), cluster, 1.0)
    assert caught.value.hint == "ranks=6 slots=3 compares orders of so many"
