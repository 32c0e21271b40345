"""Ray's nodes call plink, and take ranks in its order, by the lines of the documentation."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from plink.formats import cluster as cluster_file
from support.lab import Lab, lab_cluster
from support.plink_command import plink_here
from support.ray_nodes import HEAD_OPTIONS, ray_node
from support.require import require_engine
from test_docs import CHECKOUT
from torchrun.networks import order_of

pytestmark = [pytest.mark.lab, pytest.mark.needs("ray")]

SECRET = "0123456789abcdef0123456789abcdef"
_RAY_PORT = 6379
_MOST_LINES = 20
_DRIVER_S = 200.0


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """Two hosts of these tests alone: what Ray leaves behind there ends with them."""
    require_engine("ray")
    with lab_cluster(racks=1, hosts=2) as lab:
        yield lab


@pytest.fixture(scope="module")
def ray_address(lab: Lab) -> Iterator[str]:
    """A Ray with a node on every host, the head on the first."""
    addresses: dict[str, str] = lab.truth["addresses"]
    head = lab.names[0]
    joined = f"{addresses[head]}:{_RAY_PORT}"
    # The names of Ray's sockets must stay short.
    with tempfile.TemporaryDirectory(prefix="ray") as folder, ExitStack() as nodes:
        # One after the other: nodes of one folder choose the names of their sockets as they start.
        for host in lab.names:
            first = [*HEAD_OPTIONS, f"--port={_RAY_PORT}", f"--temp-dir={folder}"]
            part = first if host == head else [f"--address={joined}"]
            own = [f"--node-ip-address={addresses[host]}", "--num-cpus=4"]
            log = Path(folder, f"{host}.log")
            enter = partial(lab.command, host)
            nodes.enter_context(ray_node(log, [*part, *own], entry=enter)).wait_until_started()
        yield joined


def lines_for_ray(page_name: str) -> str:
    """What a user pastes."""
    page = (CHECKOUT / "docs" / page_name).read_text()
    found: list[str] = [
        block
        for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        if "import ray" in block
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.timeout(750)  # Nodes of Ray take a minute to start where much else runs.
def test_ray_starts_an_agent_on_every_node(lab: Lab, ray_address: str, tmp_path: Path) -> None:
    place = f"{lab.truth['machine_address']}:7322"
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "secret").chmod(0o600)
    text = lines_for_ray("reaching.md")
    assert len(text.splitlines()) <= _MOST_LINES
    assert "10.0.0.1:7000" in text
    (tmp_path / "call.py").write_text(text.replace("10.0.0.1:7000", place))
    out = tmp_path / "cluster.json"

    ray = ["env", f"RAY_ADDRESS={ray_address}", sys.executable, "call.py"]
    driver = subprocess.Popen(
        lab.command(lab.names[0], ray),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        calling = ("--listen", place, "--secret-file", tmp_path / "secret", "--expect", "2")
        done = plink_here("probe", *calling, "--count", "50", "--passes", "1", "-o", out)
        if done.code != 0:
            driver.kill()
            pytest.fail(f"{done.stderr}\n{driver.communicate()[0]}")
        # Who was there once ends, and the driver with the last of them.
        said = driver.communicate(timeout=100)[0]
        assert driver.returncode == 0, said
    finally:
        driver.kill()
        driver.wait()
    found = cluster_file.read_cluster(str(out))
    assert {host.name: host.address for host in found.hosts} == lab.truth["addresses"]
    assert found.rtt is not None
    assert not found.rtt.failures


def driven(lab: Lab, words: list[str]) -> str:
    """What a driver of Ray prints on the first host; it waits for workers to start."""
    done = subprocess.run(
        lab.command(lab.names[0], words),
        capture_output=True,
        text=True,
        check=False,
        timeout=_DRIVER_S,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


# Continues the lines of the page, in the same driver: workers take seconds to start.
VERIFY = """
import sys
import plink
for worker in workers:
    ray.kill(worker)
order = plink.read(sys.argv[1])
bundles = plink.ray.order(group, order)
for bundles in (bundles, bundles[::-1]):
    ranks = plink.ray.verify(group, bundles, order)
    print([(rank.expected, rank.found, rank.is_kept) for rank in ranks])
"""


@pytest.mark.timeout(750)
def test_bundles_of_a_node_get_adjacent_ranks_and_are_compared_with_an_order(
    lab: Lab, ray_address: str, tmp_path: Path
) -> None:
    names = lab.names[::-1]
    order_of(names).save(tmp_path / "order.json")
    (tmp_path / "actors.py").write_text(lines_for_ray("renumbering.md") + VERIFY)
    words = ["env", f"RAY_ADDRESS={ray_address}", f"PLINK_CACHE={tmp_path}", sys.executable]
    said = driven(lab, [*words, str(tmp_path / "actors.py"), str(tmp_path / "order.json")])
    found, followed, turned = map(ast.literal_eval, said.splitlines()[-3:])
    assert [rank for rank, _ in found] == list(range(8))
    nodes = [address for _, address in found]
    assert sorted(set(nodes)) == sorted(lab.truth["addresses"].values())
    # Ray deals the bundles out in turn; in order a node's are together.
    assert [len(list(same)) for _, same in itertools.groupby(nodes)] == [4, 4]
    assert followed == [(name, name, True) for name in names for _ in range(4)]
    assert turned == [
        (one, other, False) for (one, *_), (other, *_) in zip(followed, followed[::-1], strict=True)
    ]
