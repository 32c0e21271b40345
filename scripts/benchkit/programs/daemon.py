"""A daemon of one job until it is terminated, for benchmarks: `timed` or `cycling`.

A JSON object on standard input says which `kind`, the `plan`, the `secret` and where to listen; a
line on standard output says the port. `timed` has the real tuner, and says when all ranks have
joined and after each window how long its decision took; `log` is where its log goes, or null.
`cycling` takes the next of its `forests` after every window.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.daemon.server import Served, Server
from plink.autotune.log.journal import LogJournal
from plink.autotune.log.replay import tuner_of
from plink.autotune.protocol.messages import Join, Report
from plink.autotune.tuner.interface import Action, Decision, TunerOptions, Window
from plink.autotune.tuner.masters import Masters
from plink.formats import plan as plan_file
from plink.formats.plan import Plan
from plink.plans.forest import Forest, make_forest

_NO_MASTERS = Masters(np.ones(1), np.ones(1))


class TimedJob(Job):
    """A job that says how long its decisions take."""

    def joined(self, now_s: float, join: Join) -> Outgoing:
        """As `Job`."""
        outgoing = super().joined(now_s, join)
        if self.status.ranks_there == self.ranks:
            print(json.dumps({"at_s": time.time()}), flush=True)
        return outgoing

    def reported(self, now_s: float, rank: int, report: Report) -> Outgoing:
        """As `Job`."""
        windows, began_s = self.status.windows, time.perf_counter()
        outgoing = super().reported(now_s, rank, report)
        if self.status.windows > windows:
            took_s = time.perf_counter() - began_s
            most_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            told = {"at_s": time.time(), "took_s": took_s, "plans": len(outgoing)}
            print(json.dumps({**told, "most_bytes": 1024 * most_kb}), flush=True)
        return outgoing


class Cycle:
    """A tuner that takes one forest after the other."""

    def __init__(self, forests: list[Forest]) -> None:
        self.plan = 0
        self._forests = forests

    def decide(self, _now_s: float, _window: Window) -> Decision:
        """The next one."""
        self.plan += 1
        forest = self._forests[self.plan % len(self._forests)]
        return Decision(Action.FINETUNE, "time for a change", self.plan, _NO_MASTERS, forest)


def job_of(task: Mapping[str, Any], plan: Plan) -> Job:
    """The job that is asked for."""
    if task["kind"] == "timed":
        journal = LogJournal(task["log"]) if task["log"] else None
        return TimedJob("job", plan, lambda plan: tuner_of(plan, TunerOptions()), journal)
    forests = [
        make_forest(each["weights"], each["reduce"], each["broadcast"]) for each in task["forests"]
    ]
    return Job("job", plan, lambda _: Cycle(forests))


def main() -> None:
    """Serve."""
    task = json.loads(sys.stdin.readline())
    plan = plan_file.read_plan(task["plan"])
    served = Served(job_of(task, plan), task["secret"].encode())
    asyncio.run(_serve({"job": served}, task["address"]))


async def _serve(jobs: dict[str, Served], address: str) -> None:
    server = Server(jobs, lambda text: print(text, file=sys.stderr))
    acceptor = await server.listen(address, 0)
    print(acceptor.address[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    main()
