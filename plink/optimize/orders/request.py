"""Request for an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from plink.base.size import DEFAULT_SIZE_BYTES
from plink.files.mesh import Mesh
from plink.solvers.collectives.algorithm import Algorithm
from plink.solvers.limits.deadline import Deadline
from plink.solvers.search import Solution

if TYPE_CHECKING:
    from plink.solvers.exact.prove import Engine

DistanceSource = Literal["estimate", "readings"]

# The share of the time limit for pricing random orders; and what that may take after an interrupt.
RANDOM_SHARE = 0.05
_AFTER_INTERRUPT_S = 0.1

# What pricing them may take where no time is left: a single one says little.
_LEAST_RANDOM_S = 0.05


def random_deadline(limit_s: float, found: Solution) -> Deadline:
    """Return the deadline for pricing random orders after a search."""
    limit_s = min(limit_s, _AFTER_INTERRUPT_S) if found.is_interrupted else limit_s
    return Deadline(max(_LEAST_RANDOM_S, limit_s))


@dataclass(frozen=True)
class OrderRequest:
    """Request for an order: the algorithm, its objective, and limits of the search.

    Args:
        algorithm: a name of `plink.solvers.collectives.registry`.
        objective: `latency`, `contention` or `bandwidth`; None for contention where the groups'
            uplinks are known, else latency, and bandwidth where no round-trip time is known.
        size_bytes: size of the buffer, for contention.
        percentile: of round-trip times, which one stands for a pair; None for the cluster's choice.
        distances: `estimate` of pairs whose readings disagree, from their groups, or `readings` as
            they are.
        ranks: how many; None for as many as there are slots. Hosts that are not needed are chosen.
        slots: slots of every host; None for the cluster's.
        is_interleaved: the ranks of a host need not be adjacent.
        time_limit_s: for all of it: the search, the bound, the check of the gain, and what stands
            beside the order.
        prove_s: for an exact engine afterwards, 0 for none.
        engine: which one.
        threads: searches at the same time.
        seed: decides every choice by chance; 0 to 2^63 - 1.
        mesh: mesh of the ranks, whose dimensions run in place of one algorithm.
        own: an algorithm that has no name there, in place of one: what a trace sends.
        executor: what runs `restarts` searches of `steps` each, whatever time they take: `local`,
            `dask://HOST:PORT` or `ray://HOST:PORT`; None for searches that end with the time limit.
        restarts: how many, each from a seed of its own.
        steps: moves that each tries; a ring's search ends by itself.
    """

    algorithm: str = "ring"
    objective: str | None = None
    size_bytes: int = DEFAULT_SIZE_BYTES
    percentile: float | None = None
    distances: DistanceSource = "estimate"
    ranks: int | None = None
    slots: int | None = None
    is_interleaved: bool = False
    time_limit_s: float = 2.0
    prove_s: float = 0.0
    engine: Engine = "cp-sat"
    threads: int = 1
    seed: int = 0
    mesh: Mesh | None = None
    own: Algorithm | None = None
    executor: str | None = None
    restarts: int = 8
    steps: int = 1_000_000
