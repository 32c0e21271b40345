"""Cost of agents that call plink: to plink and to themselves, all on this machine.

Each agent speaks for a host of its own over loopback. Stand-ins share processes, in which each is a
thread that runs the code of `plink agent`; with `--real` each is a `plink agent`, a process that
takes as much memory as on a host. Seconds count from the start of the callers, with all that Python
has to load there. When all have called they wait, as while others are measured.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchkit import footprint
from benchkit.arguments import numbers
from benchkit.processes import Process, answer, program, start_processes, tell
from benchkit.report import Report

EXAMPLE = "--agents 50 --real"
QUICK = "--agents 20 --idle 1"
HEADER = (
    "agents",
    "processes",
    "all have called, s",
    "plink: processor, s",
    "memory, MB",
    "threads",
    "descriptors",
    "while they wait, % of a core",
    "callers: processor, s",
    "memory, MB",
)
MOST_S, MOST_MB, MOST_IDLE_PERCENT = 60.0, 200.0, 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--agents", type=numbers, default=[250, 1000], help="that call, in turn")
    parser.add_argument("--real", action="store_true", help="a plink agent each, no stand-ins")
    parser.add_argument("--together", type=int, default=250, help="stand-ins in one process")
    parser.add_argument("--idle", type=float, default=10.0, help="seconds that they wait then")
    parser.add_argument("--wait", type=float, default=150.0, help="most seconds until all call")


def run(arguments: argparse.Namespace, report: Report) -> None:
    """Measure and print the table."""
    found = [measure_agents(agents, arguments) for agents in arguments.agents]
    report.measured = found
    report.table(HEADER, map(row_of, found))
    for one in found:
        if one["refused"]:
            report.say(f"turned away: {'; '.join(one['refused'])}")
        report.at_least(f"of {one['agents']} agents have called", one["agents"], one["called"])
    fewest, most = found[0], found[-1]
    report.at_most(f"until {most['agents']} agents have called", MOST_S, most["seconds"], "s")
    report.at_most("the same, memory of plink", MOST_MB, most["memory_mb"], "MB")
    waiting = f"while {fewest['agents']} agents wait"
    report.at_most(waiting, MOST_IDLE_PERCENT, fewest["idle_percent"], "% of a core")


def measure_agents(agents: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the cost of so many agents."""
    secret = secrets.token_hex()
    with start_processes([program("listening")]) as (listener,):
        tell(listener, {"agents": agents, "secret": secret, "wait_s": arguments.wait})
        port, pid = answer(listener)["port"], listener.pid
        before_s, began_s = footprint.processor_s(pid), time.monotonic()
        with calling(agents, port, secret, arguments) as callers:
            found = answer(listener)
            called_s, used_s = time.monotonic(), footprint.processor_s(pid)
            time.sleep(arguments.idle)
            idle_s = footprint.processor_s(pid) - used_s
            return {
                **found,
                "agents": agents,
                "processes": len(callers),
                "seconds": called_s - began_s,
                "processor_s": used_s - before_s,
                "memory_mb": footprint.memory_mb(pid),
                "threads": footprint.threads(pid),
                "descriptors": footprint.descriptors(pid),
                "idle_percent": 100.0 * idle_s / arguments.idle,
                "callers_processor_s": sum(footprint.processor_s(one.pid) for one in callers),
                "callers_memory_mb": sum(footprint.memory_mb(one.pid) for one in callers),
            }


@contextmanager
def calling(
    agents: int, port: int, secret: str, arguments: argparse.Namespace
) -> Iterator[Sequence[Process]]:
    """The processes of so many agents, which call until the block ends."""
    names = [f"host{number:05}" for number in range(agents)]
    if arguments.real:
        with tempfile.TemporaryDirectory(prefix="plink-bench-") as folder:
            file = Path(folder, "secret")
            file.touch(0o600)
            file.write_text(secret)
            agent = [sys.executable, "-m", "plink", "agent", "--secret-file", str(file), "--json"]
            join = ["--join", f"127.0.0.1:{port}"]
            with start_processes([[*agent, *join, "--name", name] for name in names]) as processes:
                yield processes
                for process in processes:
                    process.kill()
        return
    parts = [names[at : at + arguments.together] for at in range(0, agents, arguments.together)]
    with start_processes([program("calling")] * len(parts)) as processes:
        for process, part in zip(processes, parts, strict=True):
            tell(process, {"port": port, "secret": secret, "names": part})
        yield processes


def row_of(found: dict[str, Any]) -> Sequence[object]:
    """A row of the table."""
    return (
        f"{found['agents']:,}",
        found["processes"],
        f"{found['seconds']:.1f}",
        f"{found['processor_s']:.1f}",
        f"{found['memory_mb']:.0f}",
        f"{found['threads']:,}",
        f"{found['descriptors']:,}",
        f"{found['idle_percent']:.1f}",
        f"{found['callers_processor_s']:.1f}",
        f"{found['callers_memory_mb']:.0f}",
    )
