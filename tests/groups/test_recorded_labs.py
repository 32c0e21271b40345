"""Groups in readings of labs drawn at random, which scripts/bench discovery recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchkit.drawn_labs import RecordedLab, read_labs, write_labs
from plink.solvers.groups.agreement import adjusted_mutual_information, affinity
from plink.solvers.groups.grouping import separate_alone
from plink.solvers.groups.levels import choose_level, discover

HERE = Path(__file__).parent
NAMES = ("quiet_labs", "busy_labs", "loaded_labs")
LABS = {name: read_labs(HERE / f"recorded_{name}.npz") for name in NAMES}
NO_RACKS = "no racks"


def least(lab: RecordedLab):
    both = np.fmin(*lab.halves_us)
    found = np.fmin(both, both.T)
    np.fill_diagonal(found, 0.0)
    return found


def found_in(lab: RecordedLab, matrix=None) -> float | None:
    """The adjusted mutual information of groups and racks; None where no groups are claimed."""
    levels = discover(least(lab) if matrix is None else matrix).levels
    if not levels:
        return None
    labels = separate_alone(choose_level(levels).labels).tolist()
    return adjusted_mutual_information(labels, lab.racks)


def with_racks(name):
    return [lab for lab in LABS[name] if lab.kind != NO_RACKS]


def without_racks(name):
    return [lab for lab in LABS[name] if lab.kind == NO_RACKS]


@pytest.mark.parametrize("name", LABS)
def test_racks_are_found_in_nine_of_ten_labs(name):
    labs = with_racks(name)
    right = [found_in(lab) for lab in labs]
    assert sum(found is not None and found >= 0.95 for found in right) >= 0.9 * len(labs)


@pytest.mark.parametrize("name", LABS)
def test_structure_is_claimed_in_one_of_twenty_labs_without_any(name):
    labs = without_racks(name)
    assert sum(found_in(lab) is not None for lab in labs) <= 0.05 * len(labs)


@pytest.mark.parametrize("name", LABS)
def test_readings_order_triplets_rightly(name):
    accuracies = []
    for lab in with_racks(name):
        places = [(rack, host) for host, rack in enumerate(lab.racks)]
        accuracies.append(affinity(np.fmin(*lab.halves_us), places).accuracy)
    assert np.mean(accuracies) >= 0.99


@pytest.mark.parametrize("name", LABS)
def test_readings_dealt_to_other_pairs_show_no_groups(name):
    claims = []
    for number, lab in enumerate(with_racks(name)):
        matrix = least(lab)
        above = np.triu_indices(len(matrix), 1)
        shuffled = np.zeros_like(matrix)
        shuffled[above] = np.random.default_rng(number).permutation(matrix[above])
        claims.append(found_in(lab, shuffled + shuffled.T) is not None)
    assert sum(claims) <= 0.1 * len(claims)


def test_labs_come_back_as_they_were_kept(tmp_path: Path):
    halves = np.array([[[np.nan, 20.01], [21.0, np.nan]], [[np.nan, 22.5], [np.nan, np.nan]]])
    lab = RecordedLab(7, "racks", ["r1", "r2"], halves)
    write_labs(tmp_path / "labs.npz", [lab, lab])
    first, second = read_labs(tmp_path / "labs.npz")
    assert (first.seed, first.kind, first.racks) == (7, "racks", ["r1", "r2"])
    assert np.allclose(second.halves_us, halves, equal_nan=True)
