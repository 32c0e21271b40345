"""Every tool meets every fault: the rest is measured, the failing are named, nothing is left.

A row of `TOOLS` is all that a tool needs. Faults that do not concern each other share a run. What
the connections do, the tools share, and one of them tries it, as echo does for dpdk, which has the
same coordinator; `scripts/bench faults --each` tries every kind with any tool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchkit.fault_runs import (
    must_be_named,
    probe_with_faults,
    seconds_until_clean,
    spared_pairs,
)
from labkit.faults import KINDS, Fault
from support.fake_python import SLOW, fake_python
from support.lab import Lab
from support.pairs import pairs_among
from support.require import require_iperf3, require_scapy

pytestmark = pytest.mark.lab


def some(names: Sequence[str]) -> list[Fault]:
    """Programs that end or stand still, and packets that do not arrive while SSH does."""
    return [
        Fault(names[0], 1, "kill"),
        Fault(names[1], 1, "freeze"),
        Fault(names[2], 1, "mute"),
        Fault(names[3], 0, "one-way", (names[4],)),
    ]


def without_freeze(names: Sequence[str]) -> list[Fault]:
    """The same but for programs that stand still."""
    return [fault for fault in some(names) if fault.kind != "freeze"]


def halves(names: Sequence[str]) -> list[Fault]:
    """Two halves that cannot reach each other, and a connection that ends."""
    return [Fault(names[0], 1, "partition", tuple(names[2::2])), Fault(names[1], 2, "cut")]


def leaving(names: Sequence[str]) -> list[Fault]:
    """Hosts that are gone altogether, for good or for a while, and programs that are slow."""
    return [
        Fault(names[0], 1, "thaw"),
        Fault(names[1], 0, "slow"),
        Fault(names[2], 2, "blink"),
        Fault(names[3], 2, "silence"),
        Fault(names[4], 3, "down"),
    ]


Script = Callable[[Sequence[str]], list[Fault]]


@dataclass(frozen=True)
class Tried:
    """A tool, its options for a run that is long enough to be disturbed, and what it meets."""

    tool: str
    options: Sequence[object]
    scripts: Sequence[Script] = (some,)
    require: Callable[[], None] = lambda: None
    # What stands for Python on the hosts (`support.fake_python`).
    python: str | None = None
    within_s: float = 90.0
    # On a busy machine an agent may not run, or hear of its turn, for as long as half a second.
    timeout_s: float = 1.0


TOOLS = [
    Tried(
        "echo",
        ("--count", 2000, "--passes", 1, "--concurrency", 2),
        (some, halves, leaving),
        timeout_s=2.0,
    ),
    # A transfer that stands still ends as an fping does.
    Tried("fping", ("--count", 20, "--passes", 1, "--concurrency", 2), (without_freeze,)),
    Tried("iperf3", ("--direction", "both", "--concurrency", 3), require=require_iperf3),
    # A worker that stands still is given up after 15 s; `tests/trace/test_tool.py` has one.
    Tried("trace", ("--count", 2), (without_freeze,), require=require_scapy, python=SLOW),
]


def test_every_kind_of_fault_is_tried() -> None:
    names = [f"n{number}" for number in range(6)]
    tried = {fault.kind for script in TOOLS[0].scripts for fault in script(names)}
    assert tried == set(KINDS)


@pytest.mark.parametrize(
    ("tried", "script_for"),
    [
        pytest.param(tried, script, id=f"{tried.tool}-{script.__name__}")
        for tried in TOOLS
        for script in tried.scripts
    ],
)
def test_faults_cost_what_they_concern(
    lab: Lab, tmp_path: Path, tried: Tried, script_for: Script
) -> None:
    tried.require()
    script, out = script_for(lab.names), tmp_path / "c.json"
    options = ["--tool", tried.tool, "--timeout", tried.timeout_s, *tried.options]
    if tried.python is not None:
        lines = dict.fromkeys(lab.names, tried.python)
        options += ["--remote-python", fake_python(tmp_path / "python", lines)]
    outcome = probe_with_faults(lab.dir, script, out, *options, timeout_s=tried.within_s)
    assert "Traceback" not in outcome.complaint
    assert "fault not reached" not in outcome.complaint
    assert "fault failed" not in outcome.complaint
    assert spared_pairs(lab.names, script) <= outcome.measured, outcome.complaint
    missing = pairs_among(lab.names) - outcome.measured
    assert outcome.code == 3, outcome.complaint
    assert missing
    assert set(must_be_named(script)) <= outcome.failed, outcome.complaint
    assert [pair for pair in missing if not outcome.failed & set(pair)] == []
    assert seconds_until_clean(lab.dir, limit_s=75) is not None
