"""What stands in for the tuner: it changes the plan every window."""

from __future__ import annotations

import numpy as np

from plink.autotune.tuner.decision import Action, Decision
from plink.autotune.tuner.masters import Masters
from plink.autotune.tuner.window import Window
from plink.files.plan import Plan
from plink.plans.forest import Forest

NO_MASTERS = Masters(np.ones(1), np.ones(1))


class Switching:
    """Weighs the routes anew after every window."""

    def __init__(self, plan: Plan) -> None:
        self.plan = 0
        self._forest = plan.forest

    def decide(self, now_s: float, window: Window) -> Decision:
        assert window.plan == self.plan
        assert len(window.iteration_s)
        self.plan += 1
        weights = np.roll(np.arange(1.0, self._forest.routes + 1), self.plan)
        forest = Forest(weights, self._forest.reduce_parents, self._forest.broadcast_parents)
        return Decision(Action.FINETUNE, "time for a change", self.plan, NO_MASTERS, forest)
