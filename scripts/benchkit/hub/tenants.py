"""Services that share a server's port: how evenly, by weight, beside many workers and bad ones.

What is shared are the port's two directions while all have work for them. So bytes are counted at
the server, in a window in which all services are under way, each way by itself: iterations would
tell more of how long a lone worker's last values take to come than of what the port was given to.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchkit.hub.crowd import Crowd
from benchkit.hub.placements import keys_of
from benchkit.hub.setting import RATE_MBIT, SIZE_BYTES, Rack, Setting, setting
from benchkit.report import Report

TENANTS = 8
_LEAD_S = 0.1
# Until windows have opened and all are in the middle of an iteration.
_WARM_UP_S = 1.0
_SERVER = "r0s0"
_HEADER = ("tenants", "shares in, %", "shares out, %", "in and out, Mbit/s")


@dataclass(frozen=True)
class Tenant:
    """A service of the comparison.

    Args:
        name: of it.
        workers: how many it has, each on a host of its own.
        size_bytes: of its values.
        way: `flood` where they are of bad faith.
        worker: options of each worker.
        service: its options.
        is_killed: its workers are, when the window begins.
    """

    name: str
    workers: int = 1
    size_bytes: int = SIZE_BYTES
    way: str = "hub"
    worker: dict[str, Any] = field(default_factory=dict)
    service: dict[str, Any] = field(default_factory=dict)
    is_killed: bool = False


@dataclass(frozen=True)
class Carried:
    """What a port carried in the window.

    Args:
        ways: in and out; of each the bytes of every tenant.
        seconds: the window.
        said: by the first worker of every tenant that was not killed.
    """

    ways: tuple[list[int], list[int]]
    seconds: float
    said: list[dict[str, Any]]

    def shares(self, way: int) -> list[float]:
        """Of what was carried that way."""
        return [bytes_ / max(1, sum(self.ways[way])) for bytes_ in self.ways[way]]

    def mbit(self, way: int) -> float:
        """Carried that way in a second, by all."""
        return sum(self.ways[way]) * 8e-6 / self.seconds

    def row(self, name: str) -> Sequence[str]:
        """Of the table."""
        listed = [", ".join(f"{100 * share:.1f}" for share in self.shares(way)) for way in (0, 1)]
        return name, *listed, f"{self.mbit(0):.0f}, {self.mbit(1):.0f}"


def run(seconds: float, report: Report) -> None:
    """Measure and print."""
    with setting([Rack(TENANTS + 1, [[RATE_MBIT]])]) as there:
        rows = []

        def measured(title: str, tenants: Sequence[Tenant]) -> Carried:
            found = _measure_carried(there, tenants, seconds)
            rows.append(found.row(title))
            return found

        equal = measured("8 equal", [Tenant(f"equal-{number}") for number in range(TENANTS)])
        both = [equal.shares(way) for way in (0, 1)]
        report.at_least("8 equal tenants: Jain's index", 0.98, min(map(jain, both)))
        least = min(map(min, both)) * TENANTS
        report.at_least("8 equal tenants: least over a fair share", 0.95, least)
        heavy = measured(
            "weights 1 and 2", [Tenant("light"), Tenant("heavy", service={"weight": 2.0})]
        )
        off = max(abs(heavy.shares(way)[1] / heavy.shares(way)[0] / 2 - 1) for way in (0, 1))
        report.at_most("weights 2:1: off by", 5, 100 * off, "%")
        # So that iterations of both carry the same.
        many = measured(
            "1 and 8 workers", [Tenant("few"), Tenant("many", TENANTS, SIZE_BYTES // TENANTS)]
        )
        gain = max(many.shares(way)[1] * 2 - 1 for way in (0, 1))
        report.at_most("eight times the connections gain", 5, 100 * gain, "%")
        _bad_faith(measured, report)
    report.table(_HEADER, rows, "Tenants")


def _bad_faith(measured: Any, report: Report) -> None:
    honest = [Tenant(f"honest-{number}") for number in range(3)]
    for what in ("replays", "garbage"):
        found = measured(
            f"3 and one that floods: {what}",
            [*honest, Tenant("flood", way="flood", worker={"what": what})],
        )
        report.at_least(f"flooded with {what}: others' least share", 0.95, _least(found, 4, 3))
        if what == "garbage":
            is_cut = bool(found.said[-1]["is_cut"])
            report.at_least("garbage: the connections are cut", 1, is_cut)
    found = measured("3 and one that is killed", [*honest, Tenant("killed", is_killed=True)])
    report.at_least("one is killed: others' least share", 0.95, _least(found, 3, 3))
    total = min(found.mbit(way) for way in (0, 1)) / RATE_MBIT
    report.at_least("one is killed: of the port's rate", 0.9, total)


def _least(found: Carried, tenants: int, honest: int) -> float:
    """The least of the honest, over a fair share among so many."""
    return min(min(found.shares(way)[:honest]) for way in (0, 1)) * tenants


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 where all are equal (Jain, Chiu and Hawe 1984)."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def _measure_carried(there: Setting, tenants: Sequence[Tenant], seconds: float) -> Carried:
    crowds: list[Crowd] = []
    taken = 0
    for tenant in tenants:
        crowds.append(there.crowd.only(taken, tenant.workers))
        taken += tenant.workers
        there.open_hub(
            tenant.name,
            [_SERVER],
            keys_of(tenant.size_bytes // 4),
            crowd=crowds[-1],
            worker=tenant.worker,
            way=tenant.way,
            optimizer="momentum",
            **tenant.service,
        )
    names = [tenant.name for tenant in tenants]
    at_s = time.monotonic() + _LEAD_S
    until_s = at_s + _WARM_UP_S + seconds
    for name, crowd in zip(names, crowds, strict=True):
        crowd.tell(do="repeat", name=name, at_s=at_s, until_s=until_s)
    time.sleep(at_s + _WARM_UP_S - time.monotonic())
    for tenant, crowd in zip(tenants, crowds, strict=True):
        if tenant.is_killed:
            crowd.kill()
    before = there.status(_SERVER, names)
    time.sleep(max(0.0, until_s - time.monotonic()))
    after = there.status(_SERVER, names)
    standing = [pair for pair in zip(tenants, crowds, strict=True) if not pair[0].is_killed]
    # They have compared all bits by then.
    said = [crowd.answers()[0] for _, crowd in standing]
    for tenant, crowd in standing:
        crowd.close(tenant.name)
    for name in names:
        there.delete_hub(name, [_SERVER])
    ways = [
        [
            int(late[way]) - int(early[way])
            for early, late in zip(before["services"], after["services"], strict=True)
        ]
        for way in ("bytes_in", "bytes_out")
    ]
    return Carried((ways[0], ways[1]), after["at_s"] - before["at_s"], said)
