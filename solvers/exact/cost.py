"""The latency form of a collective's cost, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from solvers.collectives.form import Form, RingForm, RoundsForm

Matrix = npt.NDArray[np.float64]


def latency_cost(form: Form, distance: Matrix, order: Sequence[int]) -> float:
    """What an order costs (Luo 2020, §5.2.1).

    Args:
        form: what is summed up.
        distance: (N, N).
        order: a permutation of the N hosts, `order[rank]` = host.
    """
    hosts = np.asarray(order, dtype=np.intp)
    if isinstance(form, RingForm):
        return math.fsum(distance[hosts, np.roll(hosts, -1)].tolist())
    if isinstance(form, RoundsForm):
        return math.fsum(
            step.weight * float(distance[hosts[step.edges[:, 0]], hosts[step.edges[:, 1]]].max())
            for step in form.rounds
            if len(step.edges) > 0
        )
    return max((_deepest(parents, distance, hosts) for parents in form.parents), default=0.0)


def _deepest(parents: npt.NDArray[np.intp], distance: Matrix, hosts: npt.NDArray[np.intp]) -> float:
    greatest = 0.0
    for leaf in range(len(parents)):
        path, rank = 0.0, leaf
        while parents[rank] >= 0:
            path += float(distance[hosts[rank], hosts[parents[rank]]])
            rank = int(parents[rank])
        greatest = max(greatest, path)
    return greatest
