"""What a small order imports: SciPy and the like take longer than all else."""

from __future__ import annotations

import subprocess
import sys

from benchkit.limited_orders import cluster_of
from plink.files import cluster as cluster_file

ORDERED = """
import sys
from plink.cli import main
sys.argv = ["plink", "order", {path!r}, "--algo", {algorithm!r}, "--objective", {objective!r}]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(" ".join(sys.modules))
"""

SLOW = {"scipy", "sklearn", "torch", "z3", "ortools", "paramiko", "pandas", "matplotlib", "plotly"}
NOT_NEEDED = {"plink.deploy.launchers", "plink.optimize.executors"}


def test_an_order_of_few_hosts_imports_nothing_slow(tmp_path):
    path = str(tmp_path / "cluster.json")
    cluster_file.write(path, cluster_of(8))
    for algorithm, objective in (
        ("ring", "latency"),
        ("halving-doubling", "contention"),
        ("tree", "bandwidth"),
    ):
        script = ORDERED.format(path=path, algorithm=algorithm, objective=objective)
        ended = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        loaded = set(ended.stdout.splitlines()[-1].split())
        assert "plink" in loaded
        assert not {name.partition(".")[0] for name in loaded} & SLOW, (algorithm, objective)
        assert not loaded & NOT_NEEDED, (algorithm, objective)
        if objective == "latency":
            assert not loaded & {"plink.model.network", "numpy.ma"}
