"""What orders of large clusters take of the memory: a matrix in the file, and few copies of it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchkit import datacenters
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement

HOSTS, FEW = 1536, 16

# A process begins with the peak of the one that starts it, so that this has to be a small one.
PEAK_OF = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def write(path: Path, hosts: int, *, has_gaps: bool) -> None:
    rng = np.random.default_rng(hosts)
    distance = datacenters.unequal(hosts, hosts).distance
    readings = distance * rng.uniform(1.0, 1.02, distance.shape)
    if has_gaps:
        gaps = np.triu(rng.random(readings.shape) < 0.1, 1)
        readings[gaps | gaps.T] = np.nan
    np.fill_diagonal(readings, np.nan)
    once = np.ones(readings.shape, dtype=np.int8)
    rtt = RttMeasurement(
        tool="simulated", rtt_us={10.0: readings}, reading=10.0, samples=once, losses=once - 1
    )
    names = [f"h{number}" for number in range(hosts)]
    cluster_file.write_cluster(str(path), Cluster([Host(name, name) for name in names], rtt=rtt))


def peak_mib(path: Path, *options: str) -> float:
    order = ["order", str(path), "--time-limit", "0.3", "-o", str(path.with_suffix(".json"))]
    command = [sys.executable, "-m", "plink", *order, *options]
    done = subprocess.run(
        [sys.executable, "-c", PEAK_OF, *command], capture_output=True, text=True, check=True
    )
    return int(done.stdout) / 1024


@pytest.fixture(scope="module")
def idle_mib(tmp_path_factory: pytest.TempPathFactory) -> float:
    few = tmp_path_factory.mktemp("few") / "few.npz"
    write(few, FEW, has_gaps=True)
    return peak_mib(few, "--algo", "tree")


@pytest.mark.parametrize(
    ("options", "has_gaps", "most_copies"),
    [
        (["--algo", "tree", "--slots", "2"], False, 4.0),
        # Which pairs are missing, and what they are filled with, takes almost four by itself.
        (["--algo", "ring"], True, 4.5),
    ],
)
def test_an_order_takes_few_copies_of_the_matrix(
    tmp_path: Path, idle_mib: float, options: list[str], has_gaps: bool, most_copies: float
) -> None:
    many = tmp_path / "many.npz"
    write(many, HOSTS, has_gaps=has_gaps)
    more_mib = peak_mib(many, *options) - idle_mib
    assert more_mib / (HOSTS**2 * 8 / 2**20) <= most_copies
