"""What commands import: SciPy, an SSH library and the like take longer than all else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchkit.limited_orders import cluster_of
from plink.formats import cluster as cluster_file

RUN = """
import sys
from plink.cli import main
sys.argv = ["plink", {words}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
"""
MODULES = 'print(" ".join(sys.modules))'


def loaded_by(*words: str) -> set[str]:
    """The modules that were imported once plink has run with these words."""
    return set(said_after(MODULES, *words).split())


def said_after(script: str, *words: str) -> str:
    """The last line that a script prints after plink has run with these words."""
    script = RUN.format(words=", ".join(map(repr, words))) + script
    # The tests limit threads, too.
    free = {name: value for name, value in os.environ.items() if not name.endswith("NUM_THREADS")}
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=free
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()[-1]


SLOW = {"scipy", "sklearn", "torch", "z3", "ortools", "paramiko", "pandas", "matplotlib", "plotly"}
NOT_NEEDED = {"plink.deploy.launchers", "plink.optimize.executors"}


def test_an_order_of_few_hosts_imports_nothing_slow(tmp_path):
    path = str(tmp_path / "cluster.json")
    cluster_file.write_cluster(path, cluster_of(8))
    for algorithm, objective in (
        ("ring", "latency"),
        ("halving-doubling", "contention"),
        ("tree", "bandwidth"),
    ):
        loaded = loaded_by("order", path, "--algo", algorithm, "--objective", objective)
        assert "plink" in loaded
        assert not {name.partition(".")[0] for name in loaded} & SLOW, (algorithm, objective)
        assert not loaded & NOT_NEEDED, (algorithm, objective)
        if objective == "latency":
            assert not loaded & {"plink.model.network", "numpy.ma"}


@pytest.mark.parametrize("command", ["show", "group"])
def test_what_reaches_no_host_imports_no_ssh_and_keeps_to_one_thread(tmp_path, command):
    """Threads of OpenBLAS poll for each other, on a busy machine in vain."""
    path = str(tmp_path / "cluster.json")
    cluster_file.write_cluster(path, cluster_of(8))
    script = """
from threadpoolctl import threadpool_info
blas = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
print(*blas, "paramiko" in sys.modules)
"""
    assert said_after(script, command, path) == "1 False"
