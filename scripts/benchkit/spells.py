"""Upper bound of the gain by recognising spells of slow cores, from the true racks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchkit.drawn_groups import discover_groups
from benchkit.drawn_labs import FOUND, NO_RACKS, RecordedLab, read_labs
from benchkit.drawn_networks import Matrix
from benchkit.report import Report
from plink.solvers.groups.agreement import adjusted_mutual_information
from plink.solvers.groups.grouping import separate_alone
from plink.solvers.groups.levels import choose_level

# A reading is slow that is so many times the median of the pairs between the same two racks.
_SLOW = 1.15
_HEADER = ("labs", "number", "pairs", "slow in a half", "slow in both", "right", "right if mended")


def report_spells(files: Sequence[Path], report: Report) -> None:
    """Print in how many recorded labs racks are found, as read and with slow readings mended.

    Only who knows the racks can mend all of them: no method that recognises spells can do better.

    Args:
        files: as `write_labs` keeps labs.
        report: where it is printed.
    """
    report.table(_HEADER, [_row(path) for path in files], "spells of slow cores")


def _row(path: Path) -> list[object]:
    labs = [lab for lab in read_labs(path) if lab.kind != NO_RACKS]
    pairs = slow_once = slow_twice = right = right_mended = 0
    for lab in labs:
        halves_us = np.stack([np.fmin(half_us, half_us.T) for half_us in lab.halves_us])
        least_us, most_us = np.fmin(*halves_us), np.fmax(*halves_us)
        mended_us, bounds_us = _mend(least_us, lab)
        pairs += len(lab.racks) * (len(lab.racks) - 1) // 2
        slow_once += int(np.triu(most_us > bounds_us, 1).sum())
        slow_twice += int(np.triu(least_us > bounds_us, 1).sum())
        right += _are_racks_found(least_us, lab)
        right_mended += _are_racks_found(mended_us, lab)
    return [path.stem, len(labs), pairs, slow_once, slow_twice, right, right_mended]


def _mend(readings_us: Matrix, lab: RecordedLab) -> tuple[Matrix, Matrix]:
    """Return readings with the slow ones as others of the same racks are, and what none exceeds.

    Returns:
        (N, N) readings in µs, and (N, N) for each pair above the diagonal what is slow beyond it.
    """
    mended_us, bounds_us = readings_us.copy(), np.full(readings_us.shape, np.inf)
    rack_of = np.array(lab.racks)
    chance = np.random.default_rng(lab.seed)
    for one, other in itertools.combinations_with_replacement(sorted(set(lab.racks)), 2):
        across = np.outer(rack_of == one, rack_of == other)
        between = np.triu(across | across.T, 1)
        if between.any():
            bound_us = _SLOW * np.nanmedian(readings_us[between])
            slow = between & (readings_us > bound_us)
            usual_us = readings_us[between & (readings_us <= bound_us)]
            mended_us[slow] = chance.choice(usual_us, int(slow.sum()))
            bounds_us[between] = bound_us
    above = np.triu(mended_us, 1)
    return above + above.T, bounds_us


def _are_racks_found(readings_us: Matrix, lab: RecordedLab) -> bool:
    levels = discover_groups(readings_us).levels
    if not levels:
        return False
    labels = separate_alone(choose_level(levels).labels).tolist()
    return bool(adjusted_mutual_information(labels, lab.racks) >= FOUND)
