"""The autotuner's daemon, which says of each window how long it took to decide.

A JSON object on standard input says the plan, the secret and the log; a line on standard output the
port, one when all ranks have joined, and one after each window the time of its decision.
"""

from __future__ import annotations

import json
import resource
import sys
import time

from benchkit.serving import serve
from plink.autotune.daemon.job import Job, Outgoing
from plink.autotune.log.journal import LogJournal
from plink.autotune.log.replay import tuner_of
from plink.autotune.protocol.messages import Join, Report
from plink.autotune.tuner.interface import TunerOptions
from plink.autotune.tuner.tuner import Tuner
from plink.files import plan as plan_file
from plink.files.plan import Plan


class TimedJob(Job):
    """A job that tells what it does."""

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


def decider(plan: Plan) -> Tuner:
    """The real one."""
    return tuner_of(plan, TunerOptions())


def main() -> None:
    """Serve."""
    task = json.loads(sys.stdin.readline())
    plan, _ = plan_file.read(task["plan"])
    journal = LogJournal(task["log"]) if task["log"] else None
    serve(TimedJob("job", plan, decider, journal), task["secret"], "127.0.0.1")


if __name__ == "__main__":
    main()
