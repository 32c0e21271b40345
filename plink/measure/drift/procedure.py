"""Steps of a drift check: measure a sample, measure suspect pairs once more, judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from plink.base.replacing import replace
from plink.files.matrices import Matrix
from plink.measure.drift.judge import (
    Baseline,
    DriftJudgement,
    common_factor,
    judge,
    nearer_to_file,
)
from plink.measure.drift.sample import Mask, Pair, both_ways_us, more_partners, pairs_to_check

# What seems to have changed is measured again so often, and counts only if it stays so.
_CONFIRMATIONS = 2
# Hosts that seem to have changed get so many times the partners before they are named.
_MORE_PARTNERS = 3
# Pairs that did not change are measured again too, for the common factor: about so many.
_CONTROLS = 32


def measure_and_judge(
    file: Baseline,
    is_comparable: Mask,
    measure: Callable[[Sequence[Pair]], Matrix],
    *,
    partners: int,
    seed: int,
) -> DriftJudgement | None:
    """Measure some pairs again and compare them with the file's readings.

    Args:
        file: what its unchanged pairs are expected to take.
        is_comparable: (N, N) which pairs can be measured again.
        measure: measures pairs in both directions, (N, N) in µs, NaN where it could not.
        partners: of every host, how many are measured again at least.
        seed: decides which.

    Returns:
        what was found; None where there is no pair to measure.
    """
    file_us, ceilings = file.times_us, file.ceilings
    times_us = both_ways_us(np.where(is_comparable, file_us, np.nan))
    pairs = pairs_to_check(times_us, partners, seed)
    if not pairs:
        return None
    first_us = measure(pairs)
    found = judge(file_us, first_us, ceilings)
    # Each run has its own common factor: the hosts may be busy in one and idle in the next.
    common, steady_us = found.common_factor, first_us / found.common_factor
    for _ in range(_CONFIRMATIONS):
        if not found.changed:
            break
        controls = found.unchanged[:: max(1, len(found.unchanged) // _CONTROLS)]
        more = more_partners(times_us, _suspects(found), pairs, _MORE_PARTNERS * partners, seed)
        pairs = sorted({*pairs, *more})
        again_us = measure(sorted({*found.changed, *controls, *more}))
        factor = common_factor(file_us, again_us, controls) or common
        steady_us = nearer_to_file(file_us, steady_us, again_us / factor)
        found = judge(file_us, steady_us, ceilings)
    return replace(found, common_factor=common)


def _suspects(found: DriftJudgement) -> list[int]:
    """Return the hosts that seem to have changed, or else all hosts with a changed pair."""
    named = {host for change in found.changes for host in change.hosts}
    return sorted(named or {host for pair in found.changed for host in pair})
