"""Networks that change under a job: what is done to a lab, and how it is undone."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from benchkit.labs import BenchLab
from labkit.bound import BOUND
from labkit.holder import PROGRAM
from labkit.process_faults import slow_down
from labkit.registry import ROOT_REGISTRY, Registry

# What is left of a throttled link (Luo 2020, §6.2.6: 2 of 5 Gbit/s).
THROTTLED = 0.4
UPLINK_THROTTLED = 0.4
# More, or without a limit, would at times lock new connections out of the drop-tail queue for good.
FLOWS = 4
COMPETING = 0.5
STEPS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
STEP_S = 12.0

Change = Callable[[BenchLab, Sequence[str], float], AbstractContextManager[None]]
"""Takes a lab, its hosts by rank and their rate in bit/s; the lab is changed in the context."""


@dataclass(frozen=True)
class Scenario:
    """A change, and where it happens.

    Args:
        name: on the command line.
        text: in tables.
        change: None: nothing happens.
        hosts: ranks that it concerns, whose shares a search for the best static plan varies.
        racks: of the lab; several have a plan of two levels.
        hosts_per_rack: of the lab.
        size_bytes: of an iteration's gradients; None: as --scale says.
    """

    name: str
    text: str
    change: Change | None
    hosts: Sequence[int] = ()
    racks: int = 1
    hosts_per_rack: int = 8
    size_bytes: int | None = None


@contextmanager
def _throttled_host(lab: BenchLab, hosts: Sequence[str], rate_bits_s: float) -> Iterator[None]:
    set_rate(lab, hosts[3], THROTTLED * rate_bits_s)
    try:
        yield
    finally:
        set_rate(lab, hosts[3], rate_bits_s)


@contextmanager
def _host_at_60_mbit(lab: BenchLab, hosts: Sequence[str], rate_bits_s: float) -> Iterator[None]:
    set_rate(lab, hosts[3], 60e6)
    try:
        yield
    finally:
        set_rate(lab, hosts[3], rate_bits_s)


@contextmanager
def _throttled_uplink(lab: BenchLab, hosts: Sequence[str], rate_bits_s: float) -> Iterator[None]:
    rack = lab.racks[hosts[0]]
    set_rate(lab, rack, UPLINK_THROTTLED * uplink_bits_s(rate_bits_s))
    try:
        yield
    finally:
        set_rate(lab, rack, uplink_bits_s(rate_bits_s))


@contextmanager
def _competing_flow(lab: BenchLab, hosts: Sequence[str], rate_bits_s: float) -> Iterator[None]:
    source, target = hosts[2], hosts[5]
    server = subprocess.Popen(
        [*BOUND, *lab.command_on(target), "iperf3", "-s"], stdout=subprocess.DEVNULL
    )
    client = None
    try:
        each = f"{COMPETING * rate_bits_s / FLOWS:.0f}"
        command = ["iperf3", "-c", lab.addresses[target], "-t", "3600", "-P", str(FLOWS)]
        command += ["-b", each, "-l", "16K"]
        while client is None or client.poll() is not None:
            client = subprocess.Popen(
                [*BOUND, *lab.command_on(source), *command],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            # It ends at once where the server does not listen yet.
            time.sleep(1.0)
        yield
    finally:
        for process in (client, server):
            if process is not None:
                process.kill()
                process.wait()


@contextmanager
def _busy_processor(lab: BenchLab, hosts: Sequence[str], _: float) -> Iterator[None]:
    remedy = slow_down(Registry(ROOT_REGISTRY).find(lab.name), hosts[3])
    try:
        yield
    finally:
        remedy()


@contextmanager
def _slow_drift(lab: BenchLab, hosts: Sequence[str], rate_bits_s: float) -> Iterator[None]:
    try:
        for step in STEPS:
            set_rate(lab, hosts[3], step * rate_bits_s)
            if step != STEPS[-1]:
                time.sleep(STEP_S)
        yield
    finally:
        set_rate(lab, hosts[3], rate_bits_s)


def set_rate(lab: BenchLab, element: str, bits_s: float) -> None:
    """Shape a host's link or a rack's uplink."""
    rate = f"{bits_s / 1e6:g}mbit"
    subprocess.run([*PROGRAM, "set", "--name", lab.name, element, "--rate", rate], check=True)


def uplink_bits_s(rate_bits_s: float) -> float:
    """The uplink of a rack of two hosts: half of what these carry."""
    return rate_bits_s


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("throttled-host", "a host at 40 %", _throttled_host, [3]),
        Scenario(
            "throttled-uplink",
            "4 racks of 2: an uplink at 40 %",
            _throttled_uplink,
            [0, 1],
            racks=4,
            hosts_per_rack=2,
        ),
        Scenario("competing-flow", "4 TCP flows that want half of a link", _competing_flow, [2, 5]),
        Scenario("busy-processor", "a host's processes run a quarter", _busy_processor, [3]),
        Scenario("slow-drift", "a host falls to 40 % step by step", _slow_drift, [3]),
        Scenario("small", "4 MB: a host at 60 Mbit/s", _host_at_60_mbit, [3], size_bytes=4_000_000),
        Scenario("tiny", "1 MB: a host at 60 Mbit/s", _host_at_60_mbit, [3], size_bytes=1_000_000),
        Scenario("quiet", "nothing happens", None),
    )
}
