"""Ways to average gradients: DistributedDataParallel's and plink's, each on a group of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import plink.torch
from benchkit.overlap.paced import Paced
from plink.torch.overlap.planning import Planning, PlanningOptions
from plink.training.overlap import heuristics
from plink.training.overlap.asc import asc
from plink.training.overlap.asc_printed import asc_printed
from plink.training.overlap.candidates import candidates, fewest_within
from plink.training.overlap.network import Network
from plink.training.overlap.optimal import optimal
from plink.training.overlap.profile import Profile
from plink.training.overlap.schedule import Schedule

GLOO, ONE, TWO = "Gloo", "plink, one in flight", "plink"
DDP, DDP_ON_GLOO = "DDP on plink", "DDP on Gloo"
MG, OPTIMAL_ONE, OPTIMAL = "mg-wfbp", "optimal, one in flight", "optimal"
FP16, POWER_SGD, LAZY, ASC = "fp16 hook", "PowerSGD rank 1", "lazy, a tenth", "asc"
WFBP, AUTO = "wfbp, one in flight", "auto"
WHOLE_MB = 1e6
# Of DistributedDataParallel's first bucket in the others.
FIRST_SHARE = heuristics.DDP_FIRST_BUCKET_BYTES / heuristics.DDP_BUCKET_BYTES
# Parts of all bytes for which lazy all-reduce waits.
SWEEP = (1, 2, 3, 5, 7, 10, 14, 20, 40)
PLANNED_LAZY = "lazy, planned"
# Shi et al. (2021), section III.
PAPERS_GAMMA = 1.5
# By the print's equations nothing may begin in no time.
LEAST_STARTUP_S = 1e-6


@dataclass(frozen=True)
class Way:
    """How gradients are averaged.

    Args:
        name: of it.
        group: `GLOO`, `ONE` or `TWO`.
        schedule: of `plink.torch.DataParallel`; None for DistributedDataParallel.
        hook: of DistributedDataParallel's communication: `fp16` or a rank of PowerSGD.
    """

    name: str
    group: str
    schedule: Schedule | str | None = None
    hook: str | int | None = None

    @property
    def is_lossless(self) -> bool:
        """Whether averages are those of what was computed."""
        return self.hook is None


def of_ddp() -> list[Way]:
    """Those that keep PyTorch's."""
    return [
        Way(DDP_ON_GLOO, GLOO),
        Way(DDP, TWO),
        Way(FP16, TWO, hook="fp16"),
        Way(POWER_SGD, TWO, hook=1),
        Way("PowerSGD rank 4", TWO, hook=4),
    ]


def schedules_by_name(profile: Profile, network: Network, bucket_bytes: int) -> dict[str, Way]:
    """All schedules of a profile on a network, by name.

    Args:
        profile: of the backward pass.
        network: what collectives take.
        bucket_bytes: of DistributedDataParallel's, scaled as the network is.
    """
    total = profile.total_bytes
    buckets = heuristics.ddp(profile, bucket_bytes, int(FIRST_SHARE * bucket_bytes))
    wfbp = heuristics.wfbp(profile)
    schedules: Mapping[str, Schedule] = {
        WFBP: wfbp,
        "wfbp, two": Schedule(wfbp.cuts, 2),
        "single": heuristics.single(profile),
        "buckets as DDP's, one": Schedule(buckets.cuts, 1),
        "buckets as DDP's, two": buckets,
        MG: heuristics.mg_wfbp(profile, network),
        LAZY: heuristics.lazy(profile, total / 10, 2),
        "lazy, a third": heuristics.lazy(profile, total / 3, 2),
        "asc, as printed": asc_printed(
            profile, max(LEAST_STARTUP_S, network.startup_s), network.s_per_byte, PAPERS_GAMMA
        ),
        ASC: asc(profile, network),
        OPTIMAL_ONE: optimal(profile, network, 1),
        OPTIMAL: optimal(profile, network, 2),
    }
    found = {
        name: Way(name, ONE if schedule.in_flight == 1 else TWO, schedule)
        for name, schedule in schedules.items()
    }
    return {**found, AUTO: Way(AUTO, TWO, "auto")}


def lazies(profile: Profile, network: Network) -> dict[str, Way]:
    """A sweep over what lazy all-reduce waits for, and what is planned for the network, by name.

    Args:
        profile: of the backward pass.
        network: what collectives take.
    """
    total = profile.total_bytes
    found = candidates(profile, network, 2, "lazy")
    planned = fewest_within(found, 0.01 * found[0].communicated_s)
    schedules = {f"lazy, 1/{part}": heuristics.lazy(profile, total / part, 2) for part in SWEEP}
    schedules[PLANNED_LAZY] = planned.schedule
    return {name: Way(name, TWO, schedule) for name, schedule in schedules.items()}


class Trainer:
    """A module whose gradients are averaged in one way.

    Args:
        module: of this rank.
        way: the same on all ranks.
        groups: by name.
        bucket_mb: of DistributedDataParallel.
    """

    def __init__(
        self, module: Paced, way: Way, groups: Mapping[str, Any], bucket_mb: float
    ) -> None:
        self._bare = module
        group = groups[way.group]
        if way.schedule is not None:
            schedule: Any = way.schedule
            if schedule == AUTO:
                # Its beginning is as long as the network, too.
                options = PlanningOptions(bucket_bytes=int(bucket_mb * 2**20))
                schedule = Planning(AUTO, group, torch.device("cpu"), options)
            self.module: nn.Module = plink.torch.DataParallel(
                module, schedule=schedule, group=group
            )
            return
        # PowerSGD begins collectives when others have ended: with several buckets ranks would not
        # begin them in one order. PyTorch's type says that caps are whole numbers; they need not.
        caps_mb: Any = (
            [WHOLE_MB] if isinstance(way.hook, int) else [FIRST_SHARE * bucket_mb, bucket_mb]
        )
        wrapped = DistributedDataParallel(
            module, process_group=group, bucket_cap_mb_list=caps_mb, gradient_as_bucket_view=True
        )
        if way.hook == "fp16":
            wrapped.register_comm_hook(group, default_hooks.fp16_compress_hook)
        elif way.hook is not None:
            state = powerSGD_hook.PowerSGDState(
                group, matrix_approximation_rank=int(way.hook), start_powerSGD_iter=2
            )
            wrapped.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        self.module = wrapped

    def is_average(self, ranks: int) -> bool:
        """Whether all gradients are the averages of so many ranks."""
        return self._bare.is_average(ranks)
