"""A comparison as a bench leaves it."""

from __future__ import annotations

from plink.files.comparison import ClientRecord, Comparison, LinkBytes, Links, Row, Setting


def comparison(stopped: str | None = None) -> Comparison:
    """Engine and Gloo in two sizes on two hosts; limits are known of the larger one."""
    links = Links(
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
    setting = Setting(
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
        assumptions=["uplinks not measured, assumed to be unlimited: g"],
    )
    return Comparison(setting, rows, 1 if stopped else 2, stopped)


def row(client: str, size_bytes: int, median_s: float, links: Links | None) -> Row:
    """Of one client in one size."""
    is_engine, is_large = client == "engine", size_bytes > 1000
    return Row(
        client=client,
        algorithm="auto" if is_engine else "ring",
        plan="2lha" if is_engine else None,
        order=None if is_engine else "given",
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
