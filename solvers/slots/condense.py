"""Forms over the hosts in an order, in place of their ranks.

Between ranks of one host there is no distance. So where all hosts take as many ranks, the distances
that a round waits for are those between hosts alone.
"""

from __future__ import annotations

import numpy as np

from solvers.collectives.form import RoundsForm, TreesForm, WeightedRound
from solvers.collectives.merged import merged
from solvers.slots.layout import Ranks

# The parent of what is in no tree.
IDLE = -2


def condensed(form: RoundsForm, place_of: Ranks, places: int) -> RoundsForm:
    """The rounds between the places of an order of hosts; places without a rank are idle.

    Args:
        form: over ranks.
        place_of: (R,) of every rank.
        places: how many there are.
    """
    rounds = [WeightedRound(place_of[step.edges], step.weight) for step in form.rounds]
    return merged(RoundsForm(places, rounds))


def padded(form: RoundsForm | TreesForm, places: int) -> RoundsForm | TreesForm:
    """The same form over more places, of which those beyond its ranks are idle."""
    if isinstance(form, RoundsForm):
        return RoundsForm(places, form.rounds)
    idle = np.full(places - form.ranks, IDLE, dtype=np.intp)
    return TreesForm(places, [np.concatenate([tree, idle]) for tree in form.parents])
