"""Time of the daemon's decisions where very many ranks report.

The daemon with the real tuner is a process of its own; the ranks are connections of this one, which
prove the secret, report at once after every window, and take the plans that come. One rank of a
flat plan is throttled after the eighth window, so that a new plan is decided. Times are from when
the last rank has said its report.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import secrets
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchkit.plans import write_plan
from benchkit.processes import Process, next_line, own_daemon
from benchkit.report import Report
from benchkit.reporting_ranks import ReportingRank, all_of, payloads, window_of
from plink.autotune.protocol.identity import identity
from plink.formats.plan import Plan, PlanRank
from plink.plans.forest import Forest
from plink.plans.measures import bytes_between
from plink.plans.regroup import flat

EXAMPLE = "--ranks 100 --windows 10 --json ranks.json"
QUICK = "--ranks 50 --windows 12"
SIZE_BYTES = 102_000_000
THROTTLED_AFTER = 8
MIB = float(1 << 20)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--ranks", type=int, default=1000, help="that report")
    parser.add_argument("--windows", type=int, default=14, help="that they report of")
    parser.add_argument("--log", help="have the daemon write its log, too")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    forest = flat(arguments.ranks)
    named = [PlanRank(f"h{rank}", "192.0.2.1") for rank in range(arguments.ranks)]
    with tempfile.TemporaryDirectory(prefix="plink-ranks-") as folder:
        path = write_plan(Plan("flat", named, forest, SIZE_BYTES), Path(folder, "plan.json"))
        secret = secrets.token_hex()
        task = {
            "kind": "timed",
            "plan": str(path),
            "secret": secret,
            "log": arguments.log,
            "address": "127.0.0.1",
        }
        with own_daemon(task) as (daemon, port):
            found = asyncio.run(
                measure_windows(daemon, port, forest, secret.encode(), arguments.windows)
            )
    report.measured = found
    show(found, report)


async def measure_windows(
    daemon: Process, port: int, forest: Forest, secret: bytes, windows: int
) -> dict[str, Any]:
    """Return the seconds of each window."""
    random = np.random.default_rng(0)
    in_force = identity(0, forest)
    ranks = [ReportingRank(rank, forest.ranks, secret) for rank in range(forest.ranks)]
    began_s = time.time()
    for rank in ranks:
        await rank.join(port, in_force)
    # What is reported while ranks still join is forgotten.
    joined = json.loads(await asyncio.to_thread(next_line, daemon))
    joined_s = joined["at_s"] - began_s
    found: dict[str, Any] = {"ranks": len(ranks), "joined_s": joined_s, "windows": []}
    for number in range(windows):
        slow = 2.5 if number >= THROTTLED_AFTER and not in_force.number else 1.0
        sent_bytes = bytes_between(forest, SIZE_BYTES)
        said = payloads(window_of(sent_bytes, slow, random), in_force, number)
        began_s = time.time()
        await all_of(ranks, said)
        said_s = time.time()
        decided = json.loads(await asyncio.to_thread(next_line, daemon))
        window = {
            "report_bytes": statistics.mean(map(len, said)),
            "reported_s": said_s - began_s,
            "decision_s": decided["at_s"] - said_s,
            "decider_s": decided["took_s"],
            "most_bytes": decided["most_bytes"],
            "plan_s": None,
        }
        if decided["plans"]:
            await asyncio.gather(*(rank.hear(reads=rank is ranks[0]) for rank in ranks))
            window["plan_s"] = max(rank.plan_at_s for rank in ranks) - said_s
            new = ranks[0].plan
            if new is not None:
                in_force, forest = new.identity, new.forest
        found["windows"].append(window)
    for rank in ranks:
        rank.close()
    return found


def show(found: dict[str, Any], report: Report) -> None:
    """Print the table."""
    windows = found["windows"]
    plans_s = [window["plan_s"] for window in windows if window["plan_s"] is not None]

    def shown(name: str) -> list[str]:
        values = [window[name] for window in windows]
        return [f"{statistics.median(values):.2f} s", f"{max(values):.2f} s"]

    rows = [
        ["all have joined", f"{found['joined_s']:.2f} s", ""],
        ["all reports are sent", *shown("reported_s")],
        ["from the last report to the decision", *shown("decision_s")],
        ["of that the last report, the window and the tuner", *shown("decider_s")],
        ["from the last report until every rank has a new plan", *_of(plans_s)],
    ]
    report.table([f"{found['ranks']} ranks, {len(windows)} windows", "median", "most"], rows)
    most = max(window["most_bytes"] for window in windows) / MIB
    size = statistics.mean(window["report_bytes"] for window in windows)
    report.say(
        f"{len(plans_s)} new plans; a report has {size:.0f} bytes; the daemon took {most:.0f} MiB"
    )
    slowest_s = max(window["decision_s"] for window in windows)
    report.at_most("a decision", 1.0, slowest_s, "s")


def _of(plans_s: list[float]) -> list[str]:
    if not plans_s:
        return ["none", "none"]
    return [f"{statistics.median(plans_s):.2f} s", f"{max(plans_s):.2f} s"]
