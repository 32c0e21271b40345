"""Every tool meets every fault: the rest is measured, the failing are named, nothing is left.

A row of `TOOLS` is all that a tool needs. Faults that do not concern each other share a run.
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
    spared,
)
from labkit.faults import KINDS, Fault
from support.lab import Lab

pytestmark = pytest.mark.lab


@dataclass(frozen=True)
class Tried:
    """A tool, its options for a run that is long enough to be disturbed, and how long it may take.

    `but` are the kinds that do not harm it.
    """

    options: Sequence[object]
    within_s: float = 60.0
    but: frozenset[str] = frozenset()


TOOLS = {
    "echo": Tried(("--count", 2000, "--timeout", 0.5)),
    "fping": Tried(("--count", 20, "--timeout", 0.5)),
}


def programs(names: Sequence[str]) -> list[Fault]:
    """Programs and connections that end or stand still."""
    return [Fault(names[0], 1, "kill"), Fault(names[1], 2, "cut"), Fault(names[2], 1, "freeze")]


def traffic(names: Sequence[str]) -> list[Fault]:
    """Packets that do not arrive, with SSH and without."""
    return [
        Fault(names[0], 1, "silence"),
        Fault(names[1], 1, "mute"),
        Fault(names[2], 0, "one-way", (names[3],)),
    ]


def halves(names: Sequence[str]) -> list[Fault]:
    """Two halves that cannot reach each other."""
    return [Fault(names[0], 1, "partition", tuple(names[2::2]))]


def passing(names: Sequence[str]) -> list[Fault]:
    """What is soon over, or only slow, and a host that leaves in the last round."""
    return [
        Fault(names[0], 1, "thaw"),
        Fault(names[1], 0, "slow"),
        Fault(names[2], 2, "blink"),
        Fault(names[3], 4, "down"),
    ]


SCRIPTS: list[Callable[[Sequence[str]], list[Fault]]] = [programs, traffic, halves, passing]


def test_every_kind_of_fault_is_tried() -> None:
    names = [f"n{number}" for number in range(6)]
    assert {fault.kind for script in SCRIPTS for fault in script(names)} == set(KINDS)


@pytest.mark.parametrize("script_for", SCRIPTS, ids=lambda script: script.__name__)
@pytest.mark.parametrize("tool", TOOLS)
def test_faults_cost_what_they_concern(
    lab: Lab,
    tmp_path: Path,
    tool: str,
    script_for: Callable[[Sequence[str]], list[Fault]],
) -> None:
    tried, out = TOOLS[tool], tmp_path / "c.json"
    script = [fault for fault in script_for(lab.names) if fault.kind not in tried.but]
    options = ("--tool", tool, *tried.options)
    outcome = probe_with_faults(lab.dir, script, out, *options, timeout_s=tried.within_s)
    assert "Traceback" not in outcome.complaint
    assert "fault not reached" not in outcome.complaint
    named = must_be_named(script)
    assert outcome.code in ((3,) if named else (0, 3)), outcome.complaint
    assert [host for host in named if not outcome.names(host)] == [], outcome.complaint
    assert spared(lab.names, script) <= outcome.measured, outcome.complaint
    assert seconds_until_clean(lab.dir, limit_s=75) is not None
