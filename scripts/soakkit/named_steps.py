"""What ranks agree on by name in a soak: functions of the seed and a number only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# Whole numbers so small that every sum of few ranks is exact in all of these.
DTYPES = ("float32", "float64", "float16", "bfloat16", "int32", "int64")
_VALUES = 17
_SMALL_ITEMS = 64
MOST_ROUNDS = 8

# The first word of a seed is its purpose.
_EPOCH, _ROUND, _VALUE = range(10, 13)


@dataclass(frozen=True)
class Named:
    """One all-reduce by name, of a tensor or of a group.

    Args:
        name: of it.
        dtype: of all its tensors.
        op: `sum`, `max` or `avg`.
        items: of each tensor.
        is_grouped: announced as a group, also where it has one tensor.
    """

    name: str
    dtype: str
    op: str
    items: tuple[int, ...]
    is_grouped: bool


@dataclass(frozen=True)
class NamedEpoch:
    """The life of one group.

    Args:
        rounds: how long it is.
        machine: `native` or `python`, which may differ from rank to rank.
        control: how ranks agree, the same on all.
        tensors: how many names there are.
        joins: of each rank, after how many more steps it joins at the end; None where none does.
    """

    rounds: int
    machine: str
    control: dict[str, Any]
    tensors: int
    joins: tuple[int, ...] | None


def named_epoch(seed: int, epoch: int, rank: int, ranks: int) -> NamedEpoch:
    """Group `epoch`, as a rank sees it."""
    rng = np.random.default_rng([_EPOCH, seed, epoch])
    control: dict[str, Any] = {
        "mode": str(rng.choice(["tree", "tree", "full", "full-tree", "bitvector"])),
        "cycle_ms": float(rng.choice([1.0, 3.0])),
        "fusion_bytes": int(rng.choice([1, 10_000, 64 << 20])),
        "cache": int(rng.choice([1, 4, 1024])),
    }
    if control["mode"] != "tree":
        control["sleep"] = str(rng.choice(["local", "global(3)"]))
    if control["mode"] == "bitvector" and control["sleep"] == "local":
        control["sync"] = str(rng.choice(["blocking", "nonblocking"]))
    joins = tuple(int(steps) for steps in rng.integers(0, 4, ranks))
    return NamedEpoch(
        int(rng.integers(1, MOST_ROUNDS + 1)),
        "python" if np.random.default_rng([_EPOCH, seed, epoch, rank]).random() < 0.3 else "native",
        control,
        int(rng.integers(1, 40)),
        joins if rng.random() < 0.5 else None,
    )


def named_round(seed: int, number: int, tensors: int, most_bytes: int) -> list[Named]:
    """All that is announced in a round; a shape changes now and then."""
    steps = []
    for i in range(tensors):
        lasting = np.random.default_rng([_ROUND, seed, tensors, i])
        changing = np.random.default_rng([_ROUND, seed, number, i])
        rng = changing if changing.random() < 0.05 else lasting
        count = int(rng.integers(2, 5)) if rng.random() < 0.2 else 1
        most_items = max(1, most_bytes // 8 // count)
        items = []
        for _ in range(count):
            kind = rng.random()
            if kind < 0.05:
                items.append(0)
            elif kind < 0.5:
                items.append(int(rng.integers(1, _SMALL_ITEMS)))
            else:
                items.append(int(np.exp(rng.uniform(0.0, np.log(most_items)))))
        dtype = str(rng.choice(DTYPES))
        op = str(rng.choice(["sum", "sum", "max"] if "int" in dtype else ["sum", "avg", "max"]))
        steps.append(Named(f"t{i}", dtype, op, tuple(items), count > 1 or rng.random() < 0.05))
    return steps


def value_of(seed: int, number: int, name: str, rank: int) -> int:
    """What a rank contributes, in all items."""
    rng = np.random.default_rng([_VALUE, seed, number, int(name[1:]), rank])
    return int(rng.integers(_VALUES))


def result_of(op: str, values: list[int]) -> float:
    """What all have afterwards; who has joined contributed 0."""
    if op == "max":
        return max(values)
    return sum(values) / (len(values) if op == "avg" else 1)
