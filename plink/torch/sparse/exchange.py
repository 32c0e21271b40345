"""Exchange of a step: the important chunks of gradients, and the norms of all chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.distributed import AllreduceOptions, DistBackendError, ProcessGroup, ReduceOp

from plink.torch.sparse.part import Part, Rule
from plink.torch.sparse.refusals import OptionCheck
from plink.training.sparse.chunks import Chosen
from plink.training.sparse.selection import Norms


@dataclass(frozen=True)
class Exchanged:
    """Result of an exchange; the same on all ranks.

    Args:
        norms: (C,), of the chunks of all parts, one part behind the other.
        is_finite: no rank had a gradient that is infinite or no number.
    """

    norms: Norms
    is_finite: bool


def exchange(
    parts: Sequence[Part],
    sent: Sequence[Chosen],
    rule: Rule,
    scale: float,
    *,
    options: Mapping[str, float],
    group: ProcessGroup,
) -> Exchanged:
    """Send the chosen chunks and all norms; write the means over ranks into the pools.

    Norms of chunks that are held back go out at once with the chunks that are sent, whose norms
    each rank then computes by itself: they are equal anyway. Divided by N and summed over N ranks
    they would be what they are here. What is not finite makes a norm that is not, on all ranks.

    Args:
        parts: with this rank's gradients in their pools.
        sent: for each part the chunks that are.
        rule: of the step.
        scale: of the gradients.
        options: of the step, which all ranks must have alike.
        group: of the ranks.

    Raises:
        DistBackendError: a rank is lost; pools are as they were.
        WrongUseError: an option differs, on all ranks; pools are as they were.
    """
    ranks = group.size()
    for part, chosen in zip(parts, sent, strict=True):
        part.take(chosen, scale, rule)
    messages = [
        part.message(chosen, scale / ranks, rule) for part, chosen in zip(parts, sent, strict=True)
    ]
    works = [_sum(message, group) for message in messages]
    # On the device of the first: the engine reduces tensors of one device at a time.
    norms = torch.zeros(sum(len(part.chunks) for part in parts), device=parts[0].device)
    views = torch.split(norms, [len(part.chunks) for part in parts])
    for part, chosen, view in zip(parts, sent, views, strict=True):
        part.measure_held(view, chosen, rule)
    works.append(_sum(norms, group))
    check = OptionCheck(options, parts[0].device)
    works.append(_reduce(check.tensor, ReduceOp.MAX, group))
    try:
        for work in works:
            work.wait()
    except RuntimeError as error:
        raise DistBackendError(str(error)) from None
    check.verify()
    for part, chosen, message, view in zip(parts, sent, messages, views, strict=True):
        part.receive(message, chosen)
        part.measure_sent(view, chosen, ranks / scale)
    found = norms.cpu().numpy().astype(np.float64)
    return Exchanged(found, bool(np.isfinite(found).all()))


def _sum(tensor: Tensor, group: ProcessGroup) -> Any:
    return _reduce(tensor, ReduceOp.SUM, group)


def _reduce(tensor: Tensor, op: Any, group: ProcessGroup) -> Any:
    options = AllreduceOptions()
    options.reduceOp = op
    return group.allreduce([tensor], options)
