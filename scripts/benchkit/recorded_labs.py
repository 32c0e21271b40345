"""Readings of labs, kept small, so that groups are looked for without noise of the day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

# Readings are kept as whole numbers of this many µs; 0 is one that is missing.
_STEP_US = 0.01
_MOST = 65535


@dataclass(frozen=True)
class RecordedLab:
    """A lab's readings and its truth.

    Args:
        seed: that it was drawn by.
        kind: as `random_labs` calls it.
        racks: each host's.
        halves_us: (2, N, N) the least readings of the odd passes and of the even ones, NaN where
            there are none.
    """

    seed: int
    kind: str
    racks: Sequence[str]
    halves_us: npt.NDArray[np.float64]


def write_labs(path: Path, labs: Sequence[RecordedLab]) -> None:
    """Keep labs in one compressed file."""
    arrays: dict[str, Any] = {}
    for number, lab in enumerate(labs):
        steps = np.clip(np.rint(np.nan_to_num(lab.halves_us) / _STEP_US), 0, _MOST)
        arrays[f"{number}-halves"] = steps.astype(np.uint16)
        arrays[f"{number}-racks"] = np.array(lab.racks)
        arrays[f"{number}-what"] = np.array([str(lab.seed), lab.kind])
    np.savez_compressed(path, **arrays)


def read_labs(path: Path) -> list[RecordedLab]:
    """What `write_labs` kept."""
    with np.load(path, allow_pickle=False) as kept:
        count = sum(name.endswith("-what") for name in kept.files)
        labs = []
        for number in range(count):
            seed, kind = kept[f"{number}-what"].tolist()
            steps = kept[f"{number}-halves"]
            halves = np.where(steps == 0, np.nan, steps * _STEP_US)
            labs.append(RecordedLab(int(seed), kind, kept[f"{number}-racks"].tolist(), halves))
    return labs
