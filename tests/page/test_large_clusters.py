import numpy as np
import pytest

from plink.formats.matrices import median_blocks


@pytest.mark.parametrize(("size", "per_cell"), [(7, 1), (12, 3), (13, 4), (10, 7)])
def test_a_cell_is_the_median_of_what_was_measured(size: int, per_cell: int) -> None:
    rng = np.random.default_rng(size)
    readings = rng.uniform(1.0, 100.0, (size, size))
    readings[rng.random((size, size)) < 0.3] = np.nan
    readings[:per_cell, :] = np.nan
    np.fill_diagonal(readings, np.nan)
    sequence = rng.permutation(size)
    ordered = readings[np.ix_(sequence, sequence)]
    cells = median_blocks(readings, sequence, per_cell)
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            block = ordered[i * per_cell :][:per_cell, j * per_cell :][:, :per_cell]
            known = block[np.isfinite(block)]
            expected = float(np.median(known)) if known.size else np.nan
            np.testing.assert_equal(cell, expected)
