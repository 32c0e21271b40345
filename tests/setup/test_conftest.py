"""What every run of the tests begins with: one thread a process, and Ctrl-C that is heard."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from conftest import turned

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


def test_a_run_in_the_background_hears_interrupts(tmp_path: Path) -> None:
    told = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys\n"
        "def test_it():\n"
        f"    assert subprocess.check_output([sys.executable, '-c', {told!r}]) == b'True\\n'\n"
    )
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *pytest_here, tmp_path],
        cwd=Path(__file__).parents[1],
        env={name: value for name, value in os.environ.items() if name != "PLINK_TEST_FAST"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("worker", "order"), [("gw0", "abcdefg"), ("gw1", "cdefgab"), ("gw2", "efgabcd")]
)
def test_each_worker_begins_to_collect_elsewhere(
    monkeypatch: pytest.MonkeyPatch, worker: str, order: str
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "3")
    assert "".join(turned(list("abcdefg"))) == order


def test_a_run_without_workers_collects_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    assert turned([1, 2, 3]) == [1, 2, 3]
