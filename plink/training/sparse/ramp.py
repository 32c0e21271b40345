"""How sparse a step is: dense training at first, from which sparsity grows (section 3.2)."""

from __future__ import annotations

import math

# What a share of chunks may be off by rounding: 0.85 of 20 is 17, not 16.999.
_ROUNDING = 1e-9


def sparsity_at(step: int, sparsity: float, warmup_steps: int) -> float:
    """Return the share of chunks that is held back at a step, the first being 0.

    It grows from 0 by the same amount at each step, and is whole at step `warmup_steps`. The first
    step is dense in any case, since no norms are known before it.
    """
    if step == 0:
        return 0.0
    return sparsity * min(1.0, step / warmup_steps) if warmup_steps else sparsity


def sent_chunks(chunks: int, sparsity: float) -> int:
    """How many chunks are sent: never a smaller share than 1 - `sparsity`, and never none."""
    return max(1, chunks - math.floor(chunks * sparsity + _ROUNDING))
