"""What orders took, as a row of a table."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

# Of a frame of 1514 bytes TCP over IPv4 with timestamps has 1448 to itself.
TCP_SHARE = 1448 / 1514

HEADER = (
    "seed",
    "given, s",
    "random, s (least, median, most of the orders' medians)",
    "plink, s (least, median, most)",
    "samples an order",
    "racks in sequence, s",
    "physical limit, s",
    "random / plink",
    "plink / racks",
    "Spearman",
)


def ring_limit_s(host_count: int, size_bytes: int, link_mbit: float) -> float:
    """The least that a ring allreduce can take: each host sends 2 (N - 1) / N of the buffer.

    Source: Patarasuk and Yuan 2009. `link_mbit` is what the shaper counts, frames included.
    """
    sent_bytes = 2 * (host_count - 1) / host_count * size_bytes
    return sent_bytes * 8 / (link_mbit * 1e6 * TCP_SHARE)


def order_row(seed: str, result: Mapping[str, Any], link_mbit: float) -> tuple[str, ...]:
    """A row under `HEADER`.

    Args:
        seed: of the lab.
        result: the JSON of `plink bench` with the orders given, plink, random and `racks`.
        link_mbit: of every link of the lab.
    """
    rows = {row["order"]: row for row in result["rows"]}
    median_s = {name: float(row["median_s"]) for name, row in rows.items()}
    random_s = [value for name, value in median_s.items() if name.startswith("random-")]
    middle_s = statistics.median(random_s)
    samples_s = rows["plink"]["samples_s"]
    limit_s = ring_limit_s(len(rows["plink"]["hosts"]), int(result["size_bytes"]), link_mbit)
    by_latency = result["spearman"]["latency"]
    return (
        seed,
        f"{median_s['given']:.3f}",
        _spread(random_s),
        _spread(samples_s),
        str(len(samples_s)),
        f"{median_s['racks']:.3f}",
        f"{limit_s:.3f}",
        f"{middle_s / median_s['plink']:.2f}",
        f"{median_s['plink'] / median_s['racks']:.3f}",
        "-" if by_latency is None else f"{by_latency['value']:.2f}",
    )


def _spread(values_s: Sequence[float]) -> str:
    return f"{min(values_s):.3f} / {statistics.median(values_s):.3f} / {max(values_s):.3f}"
