"""The tree from which partitions are cut."""

from __future__ import annotations

import numpy as np

from plink.solvers.groups.partitions import Pairs, tree_distances


def test_groups_that_never_met_are_as_far_as_the_nearest_third_puts_them() -> None:
    units = np.repeat(np.arange(3), 2)
    logs = np.where(units[:, None] == units[None, :], 1.0, 2.0)
    logs[:2, 2:4] = logs[2:4, :2] = 3.0
    is_measured = ~np.eye(6, dtype=bool)
    is_measured[:2, 4:] = is_measured[4:, :2] = False
    logs[~is_measured] = 0.0
    # The least distance of two groups, 2, is taken off.
    expected = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(tree_distances(Pairs(logs, is_measured, units)), expected)
