"""Labs whose shape is drawn, of which nothing was tuned, and readings of them that are kept."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

# What a lab drawn for discovery looks like, and how often.
KINDS = {"racks": 0.6, "rows of racks": 0.2, "unequal hops": 0.2}
NO_RACKS = "no racks"
# The least agreement (AMI) of groups with the racks where these count as found.
FOUND = 0.95
_MOST_HOSTS = 40
_FEWEST_HOSTS = 5
_HOST_MBIT, _UPLINK_MBIT = 1000, 500

# What a lab drawn for the whole chain looks like: the least and the most.
_CHAIN_MOST_HOSTS = 20
_CHAIN_RACKS = (3, 6)
_CHAIN_HOSTS_OF_RACK = (2, 6)
_CHAIN_HOPS = (2, 5)
_CHAIN_HOST_MBIT = (200, 400)
# What an uplink carries, in shares of a host's rate.
_CHAIN_UPLINK_SHARES = (0.5, 1.0)

# Readings are kept as whole numbers of this many µs; 0 is one that is missing.
_STEP_US = 0.01
_MOST = 65535


@dataclass(frozen=True)
class DrawnLab:
    """A drawn lab.

    Args:
        seed: that it was drawn by, and that deals its names.
        kind: of `KINDS`, or `NO_RACKS`.
        racks: hosts in each.
        hops: extra switches between each rack and the next switch up.
        host_mbit, uplink_mbit: what links carry, in Mbit/s.
        layout: how racks are wired, in the words of `lab up --topology`.
    """

    seed: int
    kind: str
    racks: Sequence[int]
    hops: Sequence[int]
    host_mbit: int
    uplink_mbit: int
    layout: Mapping[str, Any]

    def __str__(self) -> str:
        """Racks and hops, for a table."""
        hops = sorted(set(self.hops))
        span = f"{hops[0]}" if len(hops) == 1 else f"{hops[0]} to {hops[-1]}"
        return f"{','.join(map(str, self.racks))}; {span}"

    def options(self, folder: Path) -> list[str]:
        """Return the options that `lab up` takes; write the file that they name into a folder."""
        path = folder / f"lab-{self.seed}.json"
        rates = {"host_rate": f"{self.host_mbit}mbit", "uplink_rate": f"{self.uplink_mbit}mbit"}
        path.write_text(json.dumps({**rates, **self.layout}))
        return ["--topology", str(path), "--seed", str(self.seed)]


def draw(seed: int) -> DrawnLab:
    """Draw a lab: 2 to 8 racks of 1 to 8 hosts, 5 to 40 hosts in all, 1 to 5 hops apart."""
    chance = random.Random(seed)
    kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
    while True:
        racks = [chance.randint(1, 8) for _ in range(chance.randint(2, 8))]
        has_rows = kind != "rows of racks" or len(racks) >= 4
        if _FEWEST_HOSTS <= sum(racks) <= _MOST_HOSTS and max(racks) > 1 and has_rows:
            break
    layout: dict[str, Any]
    if kind == "rows of racks":
        cut, all_hops = chance.randint(2, len(racks) - 2), chance.randint(1, 3)
        hops = [all_hops] * len(racks)
        rows = [{"racks": racks[:cut]}, {"racks": racks[cut:]}]
        layout = {"hops": all_hops, "row_hops": chance.randint(2, 4), "rows": rows}
    elif kind == "unequal hops":
        hops = [chance.randint(1, 5) for _ in racks]
        each = [{"racks": [size], "hops": own} for size, own in zip(racks, hops, strict=True)]
        layout = {"row_hops": 0, "rows": each}
    else:
        hops = [chance.randint(1, 5)] * len(racks)
        layout = {"hops": hops[0], "racks": racks}
    return DrawnLab(seed, kind, racks, hops, _HOST_MBIT, _UPLINK_MBIT, layout)


def draw_without_racks(seed: int) -> DrawnLab:
    """Four to thirty hosts on one switch."""
    hosts = [random.Random(seed).randint(4, 30)]
    layout = {"hops": 0, "racks": hosts}
    return DrawnLab(seed, NO_RACKS, hosts, [0], _HOST_MBIT, _UPLINK_MBIT, layout)


def draw_for_chain(seed: int) -> DrawnLab:
    """Three to six racks of two to six hosts, at most 20 in all, whose uplinks may be narrower."""
    rng = np.random.default_rng(seed)
    racks = int(rng.integers(_CHAIN_RACKS[0], _CHAIN_RACKS[1] + 1))
    hosts = [_CHAIN_MOST_HOSTS]
    while sum(hosts) > _CHAIN_MOST_HOSTS or len(hosts) < racks:
        hosts = rng.integers(_CHAIN_HOSTS_OF_RACK[0], _CHAIN_HOSTS_OF_RACK[1] + 1, racks).tolist()
    host_mbit = int(rng.choice(_CHAIN_HOST_MBIT))
    uplink_mbit = round(float(rng.choice(_CHAIN_UPLINK_SHARES)) * host_mbit)
    hops = int(rng.integers(_CHAIN_HOPS[0], _CHAIN_HOPS[1] + 1))
    layout = {"hops": hops, "racks": hosts}
    return DrawnLab(seed, "racks", hosts, [hops] * racks, host_mbit, uplink_mbit, layout)


@dataclass(frozen=True)
class RecordedLab:
    """A lab's readings and its truth.

    Args:
        seed: that it was drawn by.
        kind: as `DrawnLab` has it.
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
    """Return the recorded labs of a file that `write_labs` wrote."""
    with np.load(path, allow_pickle=False) as kept:
        count = sum(name.endswith("-what") for name in kept.files)
        labs = []
        for number in range(count):
            seed, kind = kept[f"{number}-what"].tolist()
            steps = kept[f"{number}-halves"]
            halves = np.where(steps == 0, np.nan, steps * _STEP_US)
            labs.append(RecordedLab(int(seed), kind, kept[f"{number}-racks"].tolist(), halves))
    return labs
