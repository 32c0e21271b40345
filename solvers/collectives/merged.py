"""A form with every round once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from solvers.collectives.form import RoundsForm, WeightedRound


def merged(form: RoundsForm) -> RoundsForm:
    """The same costs from fewer rounds.

    Rounds with the same pairs become one, with their weights added up. Pairs are of two different
    ranks, each once, the lower rank first. Rounds without pairs or weight are left out.
    """
    weight_of: dict[bytes, float] = {}
    edges_of: dict[bytes, npt.NDArray[np.intp]] = {}
    for step in form.rounds:
        edges = np.sort(np.asarray(step.edges, dtype=np.intp).reshape(-1, 2), axis=1)
        edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
        if len(edges) > 0 and step.weight > 0.0:
            key = edges.tobytes()
            edges_of[key] = edges
            weight_of[key] = weight_of.get(key, 0.0) + step.weight
    return RoundsForm(
        form.ranks, [WeightedRound(edges, weight_of[key]) for key, edges in edges_of.items()]
    )
