"""A run of the tests takes one thread a process where it computes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from threadpoolctl import threadpool_info

SHOWN = """
import numpy
from threadpoolctl import threadpool_info
print(*(pool["num_threads"] for pool in threadpool_info()))
"""


def test_numpy_was_imported_after_it_had_been_said() -> None:
    assert np.linalg.norm([3.0, 4.0]) == 5.0
    assert {pool["num_threads"] for pool in threadpool_info()} == {1}


def test_what_tests_start_takes_one_too() -> None:
    done = subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"1"}
