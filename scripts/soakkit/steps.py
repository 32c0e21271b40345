"""The steps of all ranks: functions of the seed and a number only, so that ranks agree and
a run can be repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plink.engine import Forest
from soakkit.forests import any_forest

ITEM_BYTES = {
    "float32": 4,
    "float64": 8,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "int64": 8,
}
OPS = ("sum", "mean", "min", "max")
SMALL_ITEMS = 64
MOST_DEPTH = 8
# After so many collectives all ranks wait for theirs, and vote on whether to continue.
ROUND_STEPS = 25
MOST_ROUNDS = 12

# The first word of a seed is its purpose.
_STEP, _ROUND, _EPOCH, _SWITCH = range(4)


@dataclass(frozen=True)
class Step:
    """One collective, and what is done before it.

    Args:
        number: counted over all engines of the run.
        dtype: of the items.
        op: the operation.
        items: how many.
        switch: how many collectives later another plan is to count; None for no new plan.
    """

    number: int
    dtype: str
    op: str
    items: int
    switch: int | None


@dataclass(frozen=True)
class Epoch:
    """The life of one engine.

    Args:
        rounds: how long it is.
        forest: its first plan.
        options: of the engine, the same on every rank.
    """

    rounds: int
    forest: Forest
    options: dict[str, Any]


def step_of(seed: int, number: int, most_bytes: int) -> Step:
    """Collective `number`; half of the buffers have a size of any magnitude, some are empty."""
    rng = np.random.default_rng([_STEP, seed, number])
    dtype = str(rng.choice(list(ITEM_BYTES)))
    ops = (*OPS, "and") if dtype.startswith("int") else OPS
    most_items = most_bytes // ITEM_BYTES[dtype]
    kind = rng.random()
    if kind < 0.04:
        items = 0
    elif kind < 0.25:
        items = int(rng.integers(1, SMALL_ITEMS))
    else:
        items = int(np.exp(rng.uniform(0.0, np.log(most_items))))
    switch = int(rng.integers(4)) if rng.random() < 0.08 else None
    return Step(number, dtype, str(rng.choice(ops)), items, switch)


def forest_of(seed: int, number: int, ranks: int) -> Forest:
    """The plan that step `number` installs."""
    return any_forest(np.random.default_rng([_SWITCH, seed, number]), ranks)


def depth_of(seed: int, number: int) -> int:
    """How many collectives may be in flight in the round that begins with `number`."""
    return int(np.random.default_rng([_ROUND, seed, number]).integers(1, MOST_DEPTH + 1))


def epoch_of(seed: int, epoch: int, ranks: int) -> Epoch:
    """The options of engine `epoch`."""
    rng = np.random.default_rng([_EPOCH, seed, epoch])
    options = {
        "workers": (None, 1, 2, 3)[int(rng.integers(4))],
        "chunk_bytes": (None, None, 4096, 50_000, 1 << 20)[int(rng.integers(5))],
        "deterministic": bool(rng.integers(2)),
        "send_buffer_bytes": (None, None, 16_384, 1 << 20)[int(rng.integers(4))],
        "shared_memory": bool(rng.integers(2)),
        "spin_us": (None, 0.0, 50.0, 5_000.0)[int(rng.integers(4))],
    }
    return Epoch(int(rng.integers(1, MOST_ROUNDS + 1)), any_forest(rng, ranks), options)
