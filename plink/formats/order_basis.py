"""Hash that identifies the readings that an order was computed from, kept in its file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.base.text import json_text
from plink.formats.cluster import Cluster
from plink.formats.matrices import Matrix
from plink.formats.order import Order
from plink.formats.structs import encode

# So many rows at a time fit a processor's cache.
_ROWS = 64
# Any odd number with bits all over: 2^64 over the golden ratio.
_ODD = np.uint64(0x9E3779B97F4A7C15)


def order_basis(cluster: Cluster, objective: str) -> str:
    """Return the hash of the hosts and readings that orders with an objective depend on.

    Groups, uplinks and other parts that are added to the cluster later leave it as it is, unless
    the objective takes them into account: `latency` reads round trips, `bandwidth` the bandwidths
    of pairs, `contention` both, groups, uplinks, and what is known of links.
    """
    hosts = [[host.name, host.address, host.slots] for host in cluster.hosts]
    parts: list[object] = [objective, hosts]
    matrices: list[Matrix] = []
    if objective != "bandwidth" and cluster.rtt is not None:
        percentiles = sorted(cluster.rtt.rtt_us)
        parts.append(["rtt", *percentiles])
        matrices += [cluster.rtt.rtt_us[each] for each in percentiles]
    if objective != "latency" and cluster.bandwidth is not None:
        parts.append("bandwidth")
        matrices.append(cluster.bandwidth.gbit_s)
    if objective == "contention":
        parts.append(encode(cluster.groups))
        if cluster.uplinks is not None:
            measured: Sequence[object] = [*cluster.uplinks.uplinks, *cluster.uplinks.links]
            parts.append(encode(measured))
        if cluster.links is not None:
            parts.append(encode(cluster.links))
    found = hashlib.sha256(json_text(parts).encode())
    for matrix in matrices:
        found.update(_row_sums(matrix).astype("<u8").tobytes())
    return f"sha256:{found.hexdigest()}"


def _row_sums(matrix: Matrix) -> npt.NDArray[np.uint64]:
    """Return a checksum of each row of a matrix, (N,), which is faster than hashing all bytes."""
    weights = _ODD * np.arange(1, 2 * len(matrix), 2, dtype=np.uint64)
    sums = np.empty(len(matrix), dtype=np.uint64)
    for start in range(0, len(matrix), _ROWS):
        rows = matrix[start : start + _ROWS].astype(np.float64)
        # What is unknown is one value, whatever bits stand for it.
        rows[np.isnan(rows)] = -1.0
        sums[start : start + _ROWS] = rows.view(np.uint64) @ weights
    return sums


def is_made_from(order: Order, cluster: Cluster) -> bool:
    """Return whether an order was computed from this cluster's hosts and readings."""
    return order.made_from == order_basis(cluster, order.objective)
