"""Judge whether a server in every rack pays, by the paper (Luo 2020, §2.3) and by the links.

The paper adds up what this project's engine and hub overlap: it compares the sharded servers'
cross-rack time with that of aggregation in the rack *plus* that between racks. Both are given.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import asdict

from plink.formats.limits import Amount, Positive
from plink.formats.structs import Output


class Racks(Output, frozen=True):
    """Equal racks, each with a server. Rates are of one direction.

    Attributes:
        racks: number of racks, R
        workers: number of workers in each rack, N
        worker_bits_s: rate of a worker's link, B_Wkr, in bit/s
        server_bits_s: rate of all ports of a rack's server, B_PBox, in bit/s
        core_bits_s: rate of a rack's uplink, B_Core, in bit/s
    """

    racks: Annotated[int, Meta(ge=2)]
    workers: Positive
    worker_bits_s: Amount
    server_bits_s: Amount
    core_bits_s: Amount


class RacksVerdict(Racks, frozen=True):
    """Equal racks with a server in each; times are of the whole model.

    Attributes:
        sharded_s: time of sharded servers across racks, the inequality's left side, in s
        rack_s: time of aggregation in a rack, of its right side, in s
        between_s: time of aggregation between racks, C of its right side, in s
        is_better: whether aggregation by racks is better by the inequality
        crossover_bits_s: rate of an uplink below which it is, in bit/s
        links_sharded_s: time of sharded servers by the busiest link, push and pull overlapped, in s
        links_hierarchy_s: time of aggregation by racks by the busiest link, in s
        links_two_level_s: time of two levels between the workers without servers by the busiest
            link, in s
    """

    sharded_s: Amount
    rack_s: Amount
    between_s: Amount
    is_better: bool
    crossover_bits_s: Amount
    links_sharded_s: Amount
    links_hierarchy_s: Amount
    links_two_level_s: Amount


def judge_racks(racks: Racks, model_bytes: float) -> RacksVerdict:
    """Compare a server in each rack with sharded servers, by the inequality and by the links.

    N (R-1) / (R B_Core) > max(N / B_PBox, 1 / B_Wkr) + C, with C = (R-1) / (R min(B_PBox, B_Core)).
    It counts one direction; the other takes as long at the same time.
    """
    bits, others = 8.0 * model_bytes, (racks.racks - 1) / racks.racks
    sharded = racks.workers * others / racks.core_bits_s
    in_rack = max(racks.workers / racks.server_bits_s, 1.0 / racks.worker_bits_s)
    between = others / min(racks.server_bits_s, racks.core_bits_s)
    all_workers = racks.racks * racks.workers
    return RacksVerdict(
        **asdict(racks),
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
    """Return the uplink rate at which both sides are equal, in bit/s.

    C depends on the uplink's rate only where that is below the rate of a server.
    """
    below = (racks.workers - 1) * others / in_rack
    if below <= racks.server_bits_s:
        return below
    return racks.workers * others / (in_rack + others / racks.server_bits_s)
