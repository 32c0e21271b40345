"""Convert forests over ranks to forests over members (workers, ports of servers), and back.

Members stand rank by rank, a rank's ports in their order; a rank without ports is one member. A
route has of each rank one member at most, and does without the others (`ABSENT`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.plans.check import Ports
from plink.plans.forest import ABSENT, Forest, Parents
from plink.plans.measures import measure

Indices = npt.NDArray[np.intp]


def list_member_ranks(ports_of: Sequence[int]) -> Indices:
    """Return the rank of each member (a port of a rank, or a rank without ports), shape (M,)."""
    counts = np.maximum(np.asarray(ports_of, dtype=np.intp), 1)
    return np.repeat(np.arange(len(counts)), counts)


def split_by_port(forest: Forest, route_ports: Ports | None, ports_of: Sequence[int]) -> Forest:
    """Convert a forest over ranks to one over members: workers, and each port of servers.

    Args:
        forest: over P ranks.
        route_ports: (R, P) the port by which each rank takes part; None for the first.
        ports_of: (P,) how many ports each rank has.
    """
    rank_of = list_member_ranks(ports_of)
    first = np.searchsorted(rank_of, np.arange(forest.ranks))
    by = first[None, :] + (0 if route_ports is None else route_ports)
    at = np.broadcast_to(by, forest.reduce_parents.shape)

    def spread(parents: Parents) -> Parents:
        trees = np.full((forest.routes, len(rank_of)), ABSENT, dtype=np.int32)
        above = np.where(
            parents >= 0, np.take_along_axis(at, np.maximum(parents, 0), axis=1), parents
        )
        np.put_along_axis(trees, at, above.astype(np.int32), axis=1)
        return trees

    return Forest(forest.weights, spread(forest.reduce_parents), spread(forest.broadcast_parents))


def merge_ports(members: Forest, rank_of: Indices) -> tuple[Forest, Ports]:
    """Convert a forest over members to one over P ranks; return it with the used ports, (R, P).

    Args:
        members: a forest over M members.
        rank_of: (M,) the rank of each, in order.

    Raises:
        ValueError: a route has two members of a rank.
    """
    ranks = int(rank_of.max()) + 1
    first = np.searchsorted(rank_of, np.arange(ranks))
    is_part = (members.reduce_parents != ABSENT) | (members.broadcast_parents != ABSENT)
    ports: Ports = np.zeros((members.routes, ranks), dtype=np.int32)
    route, member = np.nonzero(is_part)
    if len(np.unique(route * ranks + rank_of[member])) < len(route):
        raise ValueError("a route uses two ports of one rank, expected at most one")
    ports[route, rank_of[member]] = member - first[rank_of[member]]

    def gather(parents: Parents) -> Parents:
        trees = np.full((members.routes, ranks), ABSENT, dtype=np.int32)
        route, member = np.nonzero(parents != ABSENT)
        above = parents[route, member]
        trees[route, rank_of[member]] = np.where(above >= 0, rank_of[np.maximum(above, 0)], above)
        return trees

    forest = Forest(
        members.weights, gather(members.reduce_parents), gather(members.broadcast_parents)
    )
    return forest, ports


def bytes_by_port(
    forest: Forest, route_ports: Ports | None, ports_of: Sequence[int], size_bytes: float
) -> list[list[tuple[float, float]]]:
    """Return (sent, received) bytes of each port of each rank in one all-reduce.

    Args:
        forest, route_ports, ports_of: as for `split_by_port`.
        size_bytes: size of the buffer, in bytes.
    """
    measures = measure(split_by_port(forest, route_ports, ports_of), size_bytes)
    both = list(zip(measures.sent_bytes.tolist(), measures.received_bytes.tolist(), strict=True))
    ends = np.cumsum(np.maximum(np.asarray(ports_of, dtype=np.intp), 1)).tolist()
    return [both[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
