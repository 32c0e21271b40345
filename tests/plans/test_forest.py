"""The arrays of a forest."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from plans.strategies import two_by_two
from plink.plans.forest import make_forest


def test_arrays_are_as_the_engine_takes_them():
    forest = make_forest([1, 3], [[-1, 0], [1, -1]], [[-1, 0], [1, -1]])
    assert forest.weights.dtype == np.float64
    for parents in (forest.reduce_parents, forest.broadcast_parents):
        assert parents.dtype == np.int32
        assert parents.flags.c_contiguous
        assert parents.shape == (2, 2)
    assert (forest.routes, forest.ranks) == (2, 2)
    assert forest.shares.tolist() == [0.25, 0.75]


def test_a_process_that_trains_imports_little_for_it():
    program = (
        "import sys, numpy; before = set(sys.modules)\n"
        "import plink.plans.check, plink.plans.forest, plink.plans.measures, plink.formats.plan\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True
    )
    assert set(done.stdout.split()) - sys.stdlib_module_names <= {
        "plink",
        "numpy",
        "msgspec",
        "typing_extensions",
    }


def test_two_by_two_is_what_its_name_says():
    forest = two_by_two()
    assert (forest.reduce_parents < 0).sum(axis=1).tolist() == [1, 1, 1, 1]
    assert np.argmin(forest.reduce_parents, axis=1).tolist() == [0, 1, 2, 3]
