"""Labs for predictions: 17 to 24 hosts, unequal racks, uneven uplinks, half of them with rows."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_HOSTS = (17, 24)
_OF_A_RACK = (2, 6)
_HOST_MBIT = (300, 400, 500)
# What uplinks carry, in shares of a host's rate.
_UPLINK_SHARES = (0.75, 1.0, 1.5, 2.0)
_ROW_SHARES = (1.0, 1.5, 2.0, 3.0)
_HOPS = (1, 4)

# `labkit.building` gives every shaped link such a bucket.
BURST_BYTES = 256 * 1024
# One way, in a rack, in a row, between rows; times of large buffers hardly depend on it.
LATENCY_US = (8, 14, 20)


@dataclass(frozen=True)
class AccuracyLab:
    """A drawn lab.

    Args:
        seed: that it was drawn by.
        host_mbit: of every host's link.
        rows: [row][rack]: hosts.
        uplink_mbit: of the racks of each row.
        row_mbit: of each row's uplink; None where racks stand right below the spine.
        hops: extra switches above a rack.
    """

    seed: int
    host_mbit: int
    rows: Sequence[Sequence[int]]
    uplink_mbit: Sequence[int]
    row_mbit: Sequence[int | None]
    hops: int

    @property
    def hosts(self) -> int:
        """How many."""
        return sum(map(sum, self.rows))

    def __str__(self) -> str:
        """For a table."""
        parts = [
            f"{','.join(map(str, racks))} at {uplink}" + (f" below {row}" if row else "")
            for racks, uplink, row in zip(self.rows, self.uplink_mbit, self.row_mbit, strict=True)
        ]
        return f"{'; '.join(parts)}; hosts {self.host_mbit}"

    def options(self, folder: Path) -> list[str]:
        """What `lab up` takes; its file is written into the folder."""
        rows = [
            {
                "racks": list(racks),
                "uplink_rate": f"{uplink}mbit",
                "row_uplink_rate": f"{row}mbit" if row else "none",
                "row_hops": 1 if row else 0,
                "hops": self.hops,
            }
            for racks, uplink, row in zip(self.rows, self.uplink_mbit, self.row_mbit, strict=True)
        ]
        path = folder / f"lab-{self.seed}.json"
        path.write_text(json.dumps({"host_rate": f"{self.host_mbit}mbit", "rows": rows}))
        return ["--topology", str(path), "--seed", str(self.seed)]

    def description(self, racks: Mapping[str, str], given: Sequence[str]) -> str:
        """The network as `plink predict --network` takes it, hosts in the given order.

        Args:
            racks: of each host, `r1` and so on, as the lab numbers them through its rows.
            given: all hosts.
        """
        names = sorted(set(racks.values()), key=lambda name: int(name[1:]))
        row_of = [row for row, sizes in enumerate(self.rows) for _ in sizes]
        lines = [
            f'hosts = "{",".join(given)}"',
            f"latency_us = {list(LATENCY_US)}",
            f"host_gbit_s = {self.host_mbit / 1e3}",
            f"burst_bytes = {BURST_BYTES}",
        ]
        for name, row in zip(names, row_of, strict=True):
            hosts = ",".join(host for host in given if racks[host] == name)
            lines += ["[[groups]]", f'name = "{name}"', f'hosts = "{hosts}"']
            lines += [f"uplink_gbit_s = {self.uplink_mbit[row] / 1e3}"]
        for row, carried in enumerate(self.row_mbit):
            own = [name for name, number in zip(names, row_of, strict=True) if number == row]
            lines += ["[[rows]]", f'name = "row{row + 1}"', f"groups = {json.dumps(own)}"]
            lines += [f"uplink_gbit_s = {carried / 1e3}"] if carried else []
        return "\n".join(lines) + "\n"


def draw(seed: int) -> AccuracyLab:
    """A lab by its seed."""
    chance = random.Random(seed)
    host_mbit = chance.choice(_HOST_MBIT)
    racks: list[int] = []
    while not _HOSTS[0] <= sum(racks) <= _HOSTS[1] or len(set(racks)) < 2:
        racks = [chance.randint(*_OF_A_RACK) for _ in range(chance.randint(4, 7))]
    has_rows = chance.random() < 0.5
    parts = 2 if has_rows else min(len(racks), 3)
    cuts = sorted(chance.sample(range(1, len(racks)), parts - 1))
    rows = [racks[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(racks)], strict=True)]
    uplinks = [round(host_mbit * chance.choice(_UPLINK_SHARES)) for _ in rows]
    carried: list[int | None] = [
        round(host_mbit * chance.choice(_ROW_SHARES)) if has_rows else None for _ in rows
    ]
    return AccuracyLab(seed, host_mbit, rows, uplinks, carried, chance.randint(*_HOPS))
