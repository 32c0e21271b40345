"""What every run of the tests begins with: one thread a process, and signals that are heard."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

SHOWN = """
import numpy
from threadpoolctl import threadpool_info
print(*(pool["num_threads"] for pool in threadpool_info()))
"""


def test_numpy_was_imported_after_it_had_been_said() -> None:
    assert np.linalg.norm([3.0, 4.0]) == 5.0
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert {pool["num_threads"] for pool in pools} == {1}


def test_what_tests_start_takes_one_too() -> None:
    done = subprocess.run([sys.executable, "-c", SHOWN], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"1"}


def test_what_tests_start_hears_signals_that_the_run_was_told_to_ignore(tmp_path: Path) -> None:
    told = (
        "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, "
        "signal.getsignal(signal.SIGHUP) is signal.SIG_DFL)"
    )
    (tmp_path / "test_it.py").write_text(
        "import os, signal, subprocess, sys\n"
        "def test_it():\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        f"    told = subprocess.check_output([sys.executable, '-c', {told!r}])\n"
        "    assert told == b'True True\\n'\n"
    )
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT HUP; exec "$@"', "sh", *pytest_here, "-n", "1", tmp_path],
        cwd=Path(__file__).parents[1],
        env={name: value for name, value in os.environ.items() if name != "PLINK_TEST_FAST"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout
