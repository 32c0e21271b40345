"""Whether a server in every rack pays (Luo 2020, §2.3), and what links say of it.

The paper adds up what this project's engine and hub overlap: it compares the sharded servers'
cross-rack time with that of aggregation in the rack *plus* that between racks. Both are given.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Racks:
    """Equal racks, each with a server. Rates are of one direction.

    Args:
        racks: R, at least 2.
        workers: N, of each rack.
        worker_bits_s: B_Wkr, a worker's link.
        server_bits_s: B_PBox, all ports of a rack's server.
        core_bits_s: B_Core, what a rack's uplink carries.
    """

    racks: int
    workers: int
    worker_bits_s: float
    server_bits_s: float
    core_bits_s: float


@dataclass(frozen=True)
class Verdict:
    """Verdict of the paper's inequality, and what links need at least, for the whole model.

    Args:
        sharded_s: the left side: workers of all racks with servers of all racks, across.
        rack_s: of the right side: aggregation in a rack.
        between_s: C of the right side: between racks.
        is_better: whether the hierarchy is better by the inequality.
        crossover_bits_s: the uplink below which it is.
        links_sharded_s: the busiest link of sharded servers, push and pull overlapped.
        links_hierarchy_s: that of the hierarchy, its traffic between racks included.
        links_two_level_s: that of two-level aggregation between the workers, without servers.
    """

    sharded_s: float
    rack_s: float
    between_s: float
    is_better: bool
    crossover_bits_s: float
    links_sharded_s: float
    links_hierarchy_s: float
    links_two_level_s: float


def judge_racks(racks: Racks, model_bytes: float) -> Verdict:
    """Return the inequality for a model, and the busiest links.

    N (R-1) / (R B_Core) > max(N / B_PBox, 1 / B_Wkr) + C, with C = (R-1) / (R min(B_PBox, B_Core)).
    It counts one direction; the other takes as long at the same time.
    """
    bits, others = 8.0 * model_bytes, (racks.racks - 1) / racks.racks
    sharded = racks.workers * others / racks.core_bits_s
    in_rack = max(racks.workers / racks.server_bits_s, 1.0 / racks.worker_bits_s)
    between = others / min(racks.server_bits_s, racks.core_bits_s)
    all_workers = racks.racks * racks.workers
    return Verdict(
        sharded_s=bits * sharded,
        rack_s=bits * in_rack,
        between_s=bits * between,
        is_better=sharded > in_rack + between,
        crossover_bits_s=_crossover_bits_s(racks, in_rack, others),
        # Gradients and values of the others' shards share a direction of the uplink.
        links_sharded_s=bits * max(2.0 * sharded, in_rack),
        links_hierarchy_s=bits
        * max(
            2.0 * others / racks.core_bits_s,
            (racks.workers + 2.0 * others) / racks.server_bits_s,
            1.0 / racks.worker_bits_s,
        ),
        links_two_level_s=bits
        * max(
            2.0 * others / racks.core_bits_s,
            2.0 * (all_workers - 1) / all_workers / racks.worker_bits_s,
        ),
    )


def _crossover_bits_s(racks: Racks, in_rack: float, others: float) -> float:
    """Return the uplink rate at which both sides are equal; C depends on rates below a server's."""
    below = (racks.workers - 1) * others / in_rack
    if below <= racks.server_bits_s:
        return below
    return racks.workers * others / (in_rack + others / racks.server_bits_s)
