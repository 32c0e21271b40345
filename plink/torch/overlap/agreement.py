"""Messages of ranks between two passes: measurements, and the decision of rank 0.

Two collectives of a few kilobytes at the end of a window, and nothing else of the planner's is ever
sent while a job trains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed import ProcessGroup, ReduceOp

from plink.training.overlap.profile import Floats


@dataclass(frozen=True)
class Measured:
    """Measurements of one window, of one rank or of all ranks together.

    Args:
        ready_s: (L,) when each gradient is ready; of all ranks together the latest.
        durations_s: (S, C) what collectives took; together the least.
        iteration_s: the median; together that of the slowest.
        is_frozen: on any rank.
        is_counted: timings have S rows of C; together on all ranks.
    """

    ready_s: Floats
    durations_s: Floats
    iteration_s: float
    is_frozen: bool
    is_counted: bool


def together(own: Measured, group: ProcessGroup) -> Measured:
    """Combine all ranks' measurements in one minimum; values to be maximised are negated.

    Every rank calls it at the same place among its collectives, with arrays of the same shape.
    """
    flags = [-own.iteration_s, -float(own.is_frozen), float(own.is_counted)]
    sent = torch.from_numpy(np.concatenate((flags, -own.ready_s, own.durations_s.ravel())))
    dist.all_reduce(sent, ReduceOp.MIN, group)
    found = sent.numpy()
    gradients = own.ready_s.size
    return Measured(
        -found[3 : 3 + gradients],
        found[3 + gradients :].reshape(own.durations_s.shape),
        float(-found[0]),
        bool(found[1] < 0.0),
        bool(found[2] > 0.0),
    )


@dataclass(frozen=True)
class Told:
    """Decision of rank 0 that all ranks are told.

    Args:
        order: of gradients, by their first places; empty where nothing changes.
        cuts: behind which of them.
        passes: that the next window has.
        wants_probes: all ranks are to probe now.
    """

    order: tuple[int, ...]
    cuts: tuple[int, ...]
    passes: int
    wants_probes: bool


def broadcast_decision(own: Told | None, gradients: int, group: ProcessGroup) -> Told:
    """Broadcast rank 0's decision and return it on all ranks.

    Args:
        own: of rank 0; None on the others.
        gradients: L.
        group: of the ranks.
    """
    sent = torch.zeros(3 + 2 * gradients, dtype=torch.int64)
    if own is not None:
        order, cuts = list(own.order), list(own.cuts)
        sent[:3] = torch.tensor([len(cuts), own.passes, int(own.wants_probes)])
        sent[3 : 3 + len(order)] = torch.tensor(order, dtype=torch.int64)
        sent[3 + gradients : 3 + gradients + len(cuts)] = torch.tensor(cuts, dtype=torch.int64)
    dist.broadcast(sent, group=group, group_src=0)
    found: Sequence[int] = sent.tolist()
    count = found[0]
    return Told(
        tuple(found[3 : 3 + gradients]) if count else (),
        tuple(found[3 + gradients : 3 + gradients + count]),
        found[1],
        bool(found[2]),
    )
