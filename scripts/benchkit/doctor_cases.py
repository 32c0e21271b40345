"""Labs drawn for `plink doctor`: their shape, and the one fault that they have, if any."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit import link_faults
from labkit.link_faults import Remedy
from labkit.state import State

HEALTHY = "healthy"
OF_UPLINKS = ("half-duplex uplink", "uplink slow one way", "cross traffic")

_FEWEST_HOSTS, _MOST_HOSTS = 8, 20
# What all hosts send at once, in Mbit/s: two cores carry no more without being the limit.
_MOST_MBIT = 2400
_HOST_MBIT = (100, 150, 200, 300)
# How often a rack has but one host, and how many have more where an uplink is ill.
_WITH_SINGLE, _LEAST_GROUPS = 0.3, 3
# What an uplink carries, in shares of a host's link.
_UPLINK_SHARES = (1.0, 1.5, 2.0, 3.0)


@dataclass(frozen=True)
class DoctorCase:
    """A lab.

    Args:
        seed: that it was drawn by, and that deals its names.
        fault: of `FAULTS`, or `HEALTHY`.
        racks: hosts in each.
        layout: how they are wired, in the words of `lab up --topology`.
        host_mbit: what hosts' links carry.
        is_loaded: whether both processors are kept busy beside it.
    """

    seed: int
    fault: str
    racks: Sequence[int]
    layout: Mapping[str, Any]
    host_mbit: int
    is_loaded: bool = False

    def options(self, folder: Path) -> list[str]:
        """What `lab up` takes; its file is written into the folder."""
        path = folder / "layout.json"
        path.write_text(json.dumps(self.layout))
        return ["--topology", str(path), "--seed", str(self.seed)]

    def __str__(self) -> str:
        """The shape, for a table."""
        levels = 3 if len(self.layout["rows"]) < len(self.racks) else 2
        return f"{','.join(map(str, self.racks))}; {levels} levels; {self.host_mbit} Mbit/s"


@dataclass
class Truth:
    """What was done to a lab.

    Args:
        fault: of `FAULTS`, or `HEALTHY`.
        hosts: that a finding has to name, all of them and no others.
        what: was done, in words.
        hidden: hosts that take no part in the measurement.
    """

    fault: str
    hosts: Sequence[str] = ()
    what: str = ""
    hidden: Sequence[str] = field(default_factory=list)


def draw(seed: int, fault: str, *, is_loaded: bool = False) -> DoctorCase:
    """Two to five racks of two to seven hosts, 8 to 20 in all, on two levels or three.

    Some have a rack of a single host. Where an uplink is to be ill, three racks have several hosts:
    of two uplinks that only see each other nobody can tell which one it is.
    """
    chance = random.Random(f"{seed} {fault}")
    while True:
        racks = [chance.randint(2, 7) for _ in range(chance.randint(2, 5))]
        if len(racks) > 2 and chance.random() < _WITH_SINGLE:
            racks[chance.randrange(len(racks))] = 1
        several = sum(size > 1 for size in racks)
        is_fit = several >= (_LEAST_GROUPS if fault in OF_UPLINKS else 1) and max(racks) >= 3
        if is_fit and _FEWEST_HOSTS <= sum(racks) <= _MOST_HOSTS:
            break
    fitting = [mbit for mbit in _HOST_MBIT if mbit * sum(racks) <= _MOST_MBIT]
    host_mbit = chance.choice(fitting)
    shares = [chance.choice(_UPLINK_SHARES) for _ in racks]
    if chance.random() < 0.5:
        shares = [shares[0]] * len(racks)
    layout: dict[str, Any] = {"host_rate": f"{host_mbit}mbit"}
    if len(racks) >= 4 and chance.random() < 0.6:
        cut = chance.randint(2, len(racks) - 2)
        layout |= {
            "uplink_rate": f"{round(shares[0] * host_mbit)}mbit",
            "hops": chance.randint(2, 3),
            "row_hops": chance.randint(2, 4),
            "row_uplink_rate": f"{round(3 * max(shares) * host_mbit)}mbit",
            "rows": [{"racks": racks[:cut]}, {"racks": racks[cut:]}],
        }
    else:
        hops = [chance.randint(2, 5) for _ in racks]
        if chance.random() < 0.6:
            hops = [hops[0]] * len(racks)
        rows = [
            {"racks": [size], "hops": own, "uplink_rate": f"{round(share * host_mbit)}mbit"}
            for size, own, share in zip(racks, hops, shares, strict=True)
        ]
        layout |= {"row_hops": 0, "row_uplink_rate": "none", "rows": rows}
    return DoctorCase(seed, fault, racks, layout, host_mbit, is_loaded)


@dataclass(frozen=True)
class _Injection:
    """A fault that is being brought about: what it may draw, and what it adds to the truth."""

    case: DoctorCase
    state: State
    chance: random.Random
    stack: ExitStack

    def undo(self, remedy: Remedy) -> None:
        self.stack.callback(remedy)

    def host(self) -> str:
        """Any host of a rack with others."""
        return self.chance.choice([name for hosts in self.racks(2).values() for name in hosts])

    def racks(self, least: int) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for host in self.state.topology.hosts:
            found.setdefault(host.rack, []).append(host.name)
        return {rack: sorted(hosts) for rack, hosts in sorted(found.items()) if len(hosts) >= least}

    def rack(self, least: int = 2) -> tuple[str, list[str]]:
        return self.chance.choice(list(self.racks(least).items()))

    def pair(self) -> tuple[str, str]:
        names = sorted(host.name for host in self.state.topology.hosts)
        one, other = self.chance.sample(names, 2)
        return one, other

    def uplink_mbit(self, rack: str, hosts: Sequence[str]) -> float:
        """What a rack exchanges in one direction when all is well."""
        rates = {switch.name: switch.uplink_rate_bits for switch in self.state.topology.switches}
        own = len(hosts) * self.case.host_mbit
        others = (len(self.state.topology.hosts) - len(hosts)) * self.case.host_mbit
        return min(own, others, (rates[rack] or 1e12) / 1e6)

    def share(self, low: float, high: float) -> float:
        return self.chance.uniform(low, high)


def _slow_nic(of: _Injection) -> Truth:
    host, mbit = of.host(), round(of.share(0.15, 0.6) * of.case.host_mbit)
    of.undo(link_faults.slow_link(of.state, host, mbit))
    return Truth("", [host], f"{host}: {mbit} Mbit/s")


def _slow_one_way(of: _Injection) -> Truth:
    host, mbit = of.host(), round(of.share(0.15, 0.6) * of.case.host_mbit)
    sends = of.chance.random() < 0.5
    of.undo(link_faults.slow_one_way(of.state, host, mbit, sends=sends))
    return Truth("", [host], f"{host} {'sends' if sends else 'receives'} {mbit} Mbit/s")


def _lossy_host(of: _Injection) -> Truth:
    host, share = of.host(), of.share(0.01, 0.08)
    of.undo(link_faults.lose(of.state, host, share))
    return Truth("", [host], f"{host} loses {share:.1%}")


def _policed_host(of: _Injection) -> Truth:
    host, rate = of.host(), of.chance.randint(200, 2000)
    of.undo(link_faults.police(of.state, host, rate, of.chance.randint(10, 40)))
    return Truth("", [host], f"{host}: policer, {rate} packets/s")


def _lossy_pair(of: _Injection) -> Truth:
    (one, other), share = of.pair(), of.share(0.02, 0.1)
    of.undo(link_faults.lose(of.state, one, share, [other]))
    return Truth("", [one, other], f"{other} to {one} loses {share:.1%}")


def _policed_pair(of: _Injection) -> Truth:
    (one, other), rate = of.pair(), of.chance.randint(200, 2000)
    of.undo(link_faults.police(of.state, one, rate, of.chance.randint(10, 40), [other]))
    return Truth("", [one, other], f"{other} to {one}: policer, {rate} packets/s")


def _busy_host(of: _Injection) -> Truth:
    host, share = of.host(), of.share(0.05, 0.15)
    of.undo(link_faults.busy_processor(of.state, host, share))
    return Truth("", [host], f"{host} has {share:.0%} of a core")


def _half_duplex(of: _Injection) -> Truth:
    rack, hosts = of.rack()
    mbit = round(of.share(0.8, 1.0) * of.uplink_mbit(rack, hosts))
    of.undo(link_faults.half_duplex(of.state, rack, mbit))
    return Truth("", hosts, f"uplink of {rack}: {mbit} Mbit/s both ways together")


def _other_mtu(of: _Injection) -> Truth:
    host, mtu_bytes = of.host(), of.chance.choice([1280, 1400, 1450, 1492])
    of.undo(link_faults.other_mtu(of.state, host, mtu_bytes))
    return Truth("", [host], f"{host}: MTU {mtu_bytes}")


def _other_congestion_control(of: _Injection) -> Truth:
    host, name = of.host(), "reno"
    of.undo(link_faults.other_congestion_control(of.state, host, name))
    return Truth("", [host], f"{host}: {name}")


def _uplink_one_way(of: _Injection) -> Truth:
    rack, hosts = of.rack()
    mbit = round(of.share(0.25, 0.6) * of.uplink_mbit(rack, hosts))
    sends = of.chance.random() < 0.5
    of.undo(link_faults.slow_one_way(of.state, rack, mbit, sends=sends))
    return Truth("", hosts, f"{rack} {'sends' if sends else 'receives'} {mbit} Mbit/s")


def _cross_traffic(of: _Injection) -> Truth:
    rack, hosts = of.rack(3)
    hidden = of.chance.choice(hosts)
    of.undo(link_faults.unshape(of.state, hidden))
    of.undo(link_faults.shallow_queue(of.state, rack, of.chance.randint(2, 4)))
    flows, kind = of.chance.randint(3, 6), of.chance.choice(["cubic", "reno"])
    direction = of.chance.choice([[], ["-R"]])
    options = ["-P", str(flows), "-C", kind, *direction]
    of.stack.enter_context(link_faults.cross_traffic(of.state, hidden, options=options))
    where = "into" if direction else "out of"
    return Truth(
        "",
        [host for host in hosts if host != hidden],
        f"{flows} {kind} flows {where} {rack}",
        [hidden],
    )


def _longer_way(of: _Injection) -> Truth:
    host, switches = of.host(), of.chance.randint(8, 14)
    of.undo(link_faults.longer_way(of.state, host, switches))
    return Truth("", [host], f"{host}: {switches} more switches")


FAULTS: Mapping[str, Callable[[_Injection], Truth]] = {
    "slow NIC": _slow_nic,
    "slow one way": _slow_one_way,
    "lossy host": _lossy_host,
    "policed host": _policed_host,
    "lossy pair": _lossy_pair,
    "policed pair": _policed_pair,
    "busy processor": _busy_host,
    "half-duplex uplink": _half_duplex,
    "other MTU": _other_mtu,
    "other congestion control": _other_congestion_control,
    "uplink slow one way": _uplink_one_way,
    "cross traffic": _cross_traffic,
    "longer way": _longer_way,
}


def inject_fault(case: DoctorCase, state: State) -> AbstractContextManager[Truth]:
    """The fault of a case, for the length of a block."""
    return _Injected(case, state)


class _Injected(AbstractContextManager[Truth]):
    def __init__(self, case: DoctorCase, state: State) -> None:
        self._case = case
        self._state = state
        self._stack = ExitStack()

    def __enter__(self) -> Truth:
        if self._case.fault == HEALTHY:
            return Truth(HEALTHY)
        chance = random.Random(f"{self._case.seed} {self._case.fault} fault")
        try:
            truth = FAULTS[self._case.fault](
                _Injection(self._case, self._state, chance, self._stack)
            )
        except BaseException:
            self._stack.close()
            raise
        truth.fault = self._case.fault
        return truth

    def __exit__(self, *_: object) -> None:
        self._stack.close()
