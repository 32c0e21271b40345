"""What stands in for the tuner: they change the plan every window."""

from __future__ import annotations

import numpy as np

from engine.forests import binary_tree, chains, random_forest, stars
from plink.autotune.tuner.interface import Action, Decision, Window
from plink.autotune.tuner.masters import Masters
from plink.formats.plan import Plan
from plink.plans.forest import Forest

# What an iteration of a real training in the tests takes at least.
PAUSE_S = 0.002

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


class Reshaping:
    """Takes plans of other shapes in turn: a flat one at first."""

    def __init__(self, plan: Plan) -> None:
        self.plan = 0
        ranks = plan.forest.ranks
        turned = plan.forest.weights + np.arange(ranks)
        self._forests = [
            stars(ranks),
            chains(ranks),
            binary_tree(ranks),
            Forest(turned, plan.forest.reduce_parents, plan.forest.broadcast_parents),
            random_forest(1, ranks, 2),
        ]

    def decide(self, now_s: float, window: Window) -> Decision:
        # All buckets have one size, so that only the optimizer's steps tell iterations.
        assert window.iteration_s.min() >= PAUSE_S
        self.plan += 1
        forest = self._forests[self.plan % len(self._forests)]
        return Decision(Action.FINETUNE, "time for a change", self.plan, NO_MASTERS, forest)
