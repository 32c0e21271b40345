"""The log of a simulated job: a host is throttled, and restored."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from plink.autotune.log.records import LogWriter, Start
from plink.autotune.log.replay import tuner_of
from plink.autotune.tuner.interface import TunerOptions
from plink.autotune.tuner.snapshot import to_json
from plink.formats.plan import Plan, PlanRank
from plink.simulate.jobs import Job, Noise, first_forest
from plink.simulate.network import even

USUAL = even(4)
SLOW = USUAL.with_host(0, 0.4)
NAMES = ("n0", "n1", "n2", "n3")
SIZE_BYTES = 102_000_000

# The host is throttled in these windows.
THROTTLED = range(10, 25)
WINDOWS = 45


def plan_of_log(names: Sequence[str] = NAMES) -> Plan:
    """The job's."""
    ranks = [PlanRank(name, f"10.0.0.{rank + 1}") for rank, name in enumerate(names)]
    return Plan("flat", ranks, first_forest(USUAL), SIZE_BYTES)


def write_log(path: Path, max_bytes: int = 1 << 30, plan: Plan | None = None) -> int:
    """Write it; how many plans the job had after its first."""
    plan = plan or plan_of_log()
    job = Job(noise=Noise(), seed=3)
    tuner = tuner_of(plan, TunerOptions())
    writer = LogWriter(str(path), Start(plan, TunerOptions()), max_bytes)
    forest, plans = plan.forest, 0
    for number in range(WINDOWS):
        window = job.window(tuner.plan, forest, SLOW if number in THROTTLED else USUAL)
        decision = tuner.decide(5.0 * number, window)
        if decision.forest is not None:
            forest, plans = decision.forest, plans + 1
        if writer.write(5.0 * number, window, decision):
            writer.restart(Start(plan, TunerOptions(), to_json(tuner)))
    return plans


def damage(log: Path, line: int, change: Callable[[dict[str, Any]], None]) -> None:
    """Write a line of a log anew, changed."""
    lines = log.read_text().splitlines()
    data = json.loads(lines[line])
    change(data)
    lines[line] = json.dumps(data)
    log.write_text("\n".join(lines) + "\n")
