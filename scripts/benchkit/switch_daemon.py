"""A daemon that changes a job's plan after every window, until it is terminated.

A JSON object on standard input says where to listen, and the plans; a line on standard output says
the port.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from benchkit.serving import serve
from plink.autotune.daemon.job import Job
from plink.autotune.tuner.interface import Action, Decision, Window
from plink.autotune.tuner.masters import Masters
from plink.files import plan as plan_file
from plink.files.plan import Plan
from plink.plans.forest import Forest, make_forest

_NO_MASTERS = Masters(np.ones(1), np.ones(1))


class Cycle:
    """Takes one shape after the other."""

    def __init__(self, forests: list[Forest]) -> None:
        self.plan = 0
        self._forests = forests

    def decide(self, _now_s: float, _window: Window) -> Decision:
        """The next one."""
        self.plan += 1
        forest = self._forests[self.plan % len(self._forests)]
        return Decision(Action.FINETUNE, "time for a change", self.plan, _NO_MASTERS, forest)


def main() -> None:
    """Serve."""
    task = json.loads(sys.stdin.readline())
    plan, _ = plan_file.read(task["plan"])
    forests = [
        make_forest(each["weights"], each["reduce"], each["broadcast"]) for each in task["forests"]
    ]

    def decider(_plan: Plan) -> Cycle:
        return Cycle(forests)

    serve(Job("job", plan, decider), task["secret"], task["address"])


if __name__ == "__main__":
    main()
