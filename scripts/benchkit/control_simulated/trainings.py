"""Trees, costs and trainings that the simulated points of training-control have in common."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from plink.plans.forest import NO_PARENT
from plink.simulate.control.costs import Costs, Often
from plink.simulate.control.data import DataPlane
from plink.simulate.control.iterations import Iteration
from plink.simulate.control.native_training import NativeTraining
from plink.simulate.control.workload import Workload
from plink.training.control.settings import Settings
from plink.training.control.shape import Place, places

# As `control_parents` has it, where no plan says how hosts are wired.
MOST_CHILDREN = 8
# Of small messages on a supercomputer's network, and what a processor does for each.
NETWORK = Costs(latency_s=2e-6, step_s=5e-7, in_s=3e-7, out_s=1e-7)
FIRST_ITERATIONS = 1


@dataclass(frozen=True)
class Means:
    """Over iterations.

    Args:
        took_s: an iteration.
        reduced_s: in which an all-reduce was under way.
        buffers: in an iteration.
        root_bytes: that the root heard in an iteration.
    """

    took_s: float
    reduced_s: float
    buffers: float
    root_bytes: float


def places_of(ranks: int, *, is_flat: bool = False) -> list[Place]:
    """Nobody serves more than eight others, or rank 0 all."""
    width = ranks if is_flat else MOST_CHILDREN
    return places([NO_PARENT, *((rank - 1) // width for rank in range(1, ranks))])


def training_of(
    mode: str,
    ranks: int,
    workload: Workload,
    *,
    costs: Costs = NETWORK,
    data: DataPlane,
    settings: Settings,
    oversleep: Often | None = None,
    spinning: float = 0.0,
    is_flat: bool = False,
    seed: int = 0,
) -> NativeTraining:
    """Of `tree`, `bitvector`, `full` or `full-tree`."""
    return NativeTraining(
        "full" if mode == "full-tree" else mode,
        places_of(ranks, is_flat=is_flat or mode == "full"),
        workload,
        costs,
        data,
        settings=settings,
        oversleep=oversleep,
        spinning=spinning,
        seed=seed,
    )


def means(training: NativeTraining, iterations: int) -> Means:
    """After the first iteration, in which names are new."""
    training.run(FIRST_ITERATIONS)
    heard = training.heard_bytes(0)
    return means_of(training.run(iterations), (training.heard_bytes(0) - heard) / iterations)


def means_of(iterations: Sequence[Iteration], root_bytes: float = 0.0) -> Means:
    """Of these."""
    return Means(
        statistics.mean(one.took_s for one in iterations),
        statistics.mean(one.reduced_s for one in iterations),
        statistics.mean(len(one.released) for one in iterations),
        root_bytes,
    )
