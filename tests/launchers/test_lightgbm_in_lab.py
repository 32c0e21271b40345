"""The real LightGBM takes its ranks from the machine list that plink writes."""

from __future__ import annotations

import importlib.util
import random
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from plink.deploy.launchers import FORMATS
from plink.deploy.launchers.address_lists import FIRST_PORT
from plink.formats.hosts import Host
from support.lab import Lab, lab_cluster

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(importlib.util.find_spec("lightgbm") is None, reason="needs lightgbm"),
]

# A tree on a few rows is enough: the machines meet first, and each says its rank.
WORKER = """\
import sys
# What LightGBM imports where it is installed, and does without: most of a rank's start.
sys.modules.update(dict.fromkeys(["dask", "matplotlib", "pandas", "sklearn"]))
import lightgbm
import numpy
file, ranks, port = open(sys.argv[1]).read(), int(sys.argv[2]), int(sys.argv[3])
# The package for Python takes the lines as one text; LightGBM's own parser reads both.
machines = ",".join(":".join(line.split()) for line in file.splitlines())
x = numpy.random.default_rng(port).random((200, 2))
options = {"tree_learner": "data", "num_machines": ranks, "machines": machines}
options |= {"local_listen_port": port, "time_out": 1, "num_threads": 1, "min_data_in_leaf": 1}
lightgbm.train(options, lightgbm.Dataset(x, x[:, 0]), num_boost_round=1)
"""


@pytest.fixture
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=1, hosts=3) as standing:
        yield standing


def test_ranks_follow_the_list(lab: Lab, tmp_path: Path) -> None:
    names = sorted(lab.names)
    random.Random(4).shuffle(names)
    hosts = [Host(name, lab.truth["addresses"][name]) for name in names]
    hosts[1] = Host(hosts[1].name, hosts[1].address, slots=2)
    file, worker = tmp_path / "machines", tmp_path / "worker.py"
    file.write_text(FORMATS["lightgbm"].render(hosts))
    worker.write_text(WORKER)
    expected = [(host.name, local) for host in hosts for local in range(host.slots)]

    def said(host: str, local_rank: int) -> int:
        port = str(FIRST_PORT + local_rank)
        words = [sys.executable, str(worker), str(file), str(len(expected)), port]
        done = lab.exec(host, words)
        found = re.search(r"Local rank: (\d+), total number of machines: (\d+)", done.stdout)
        assert found is not None, done.stdout + done.stderr
        assert int(found[2]) == len(expected)
        return int(found[1])

    with ThreadPoolExecutor(len(expected)) as executor:
        ranks = list(executor.map(said, *zip(*expected, strict=True)))
    assert ranks == list(range(len(expected)))
