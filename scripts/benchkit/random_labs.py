"""Labs drawn at random, of shapes that nothing was tuned on."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What a drawn lab looks like, and how often.
KINDS = {"racks": 0.6, "rows of racks": 0.2, "unequal hops": 0.2}
NO_RACKS = "no racks"
_MOST_HOSTS = 40
_FEWEST_HOSTS = 5
_HOST_RATE, _UPLINK_RATE = "1gbit", "500mbit"


@dataclass(frozen=True)
class RandomLab:
    """A drawn lab.

    Args:
        seed: that it was drawn by, and that deals its names.
        kind: of `KINDS`, or `NO_RACKS`.
        racks: hosts in each.
        hops: extra switches between each rack and the next switch up.
        document: as `lab up --topology` takes it.
    """

    seed: int
    kind: str
    racks: Sequence[int]
    hops: Sequence[int]
    document: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Its shape in a few characters."""
        hops = sorted(set(self.hops))
        span = f"{hops[0]}" if len(hops) == 1 else f"{hops[0]} to {hops[-1]}"
        return f"{','.join(map(str, self.racks))}; {span}"

    def write(self, folder: Path) -> Path:
        """The file for `lab up --topology`."""
        path = folder / f"lab-{self.seed}.json"
        path.write_text(json.dumps(self.document))
        return path


def draw(seed: int) -> RandomLab:
    """Two to eight racks of one to eight hosts, five to forty in all, one to five hops."""
    chance = random.Random(seed)
    kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
    while True:
        racks = [chance.randint(1, 8) for _ in range(chance.randint(2, 8))]
        has_rows = kind != "rows of racks" or len(racks) >= 4
        if _FEWEST_HOSTS <= sum(racks) <= _MOST_HOSTS and max(racks) > 1 and has_rows:
            break
    rates = {"host_rate": _HOST_RATE, "uplink_rate": _UPLINK_RATE}
    if kind == "rows of racks":
        cut, hops = chance.randint(2, len(racks) - 2), chance.randint(1, 3)
        rows = [{"racks": racks[:cut]}, {"racks": racks[cut:]}]
        document = {**rates, "hops": hops, "row_hops": chance.randint(2, 4), "rows": rows}
        return RandomLab(seed, kind, racks, [hops] * len(racks), document)
    if kind == "unequal hops":
        several = [chance.randint(1, 5) for _ in racks]
        each: list[dict[str, Any]] = [
            {"racks": [size], "hops": hops} for size, hops in zip(racks, several, strict=True)
        ]
        return RandomLab(seed, kind, racks, several, {**rates, "row_hops": 0, "rows": each})
    hops = chance.randint(1, 5)
    return RandomLab(
        seed, kind, racks, [hops] * len(racks), {**rates, "hops": hops, "racks": racks}
    )


def draw_without_racks(seed: int) -> RandomLab:
    """Four to thirty hosts on one switch."""
    hosts = random.Random(seed).randint(4, 30)
    document = {"host_rate": _HOST_RATE, "uplink_rate": _UPLINK_RATE, "hops": 0, "racks": [hosts]}
    return RandomLab(seed, NO_RACKS, [hosts], [0], document)
