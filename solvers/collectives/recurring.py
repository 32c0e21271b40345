"""The latency form of rounds in which ranks wait for one another."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from solvers.collectives.form import RoundsForm, WeightedRound
from solvers.collectives.table import Round


def rounds_form(ranks: int, rounds: Iterable[Round]) -> RoundsForm:
    """The form of these rounds: rounds between the same pairs of ranks are one, of their number.

    Every pair is named once, the lower rank first.
    """
    times: dict[bytes, int] = {}
    for step in rounds:
        low = np.minimum(step.sources, step.destinations)
        high = np.maximum(step.sources, step.destinations)
        edges = np.unique(low * ranks + high).astype(np.intp)
        times[edges.tobytes()] = times.get(edges.tobytes(), 0) + 1
    weighted = []
    for key, weight in times.items():
        edges = np.frombuffer(key, dtype=np.intp)
        weighted.append(WeightedRound(np.stack(np.divmod(edges, ranks), axis=1), float(weight)))
    return RoundsForm(ranks, weighted)
