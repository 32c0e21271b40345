"""`plink simulate`, and `plink order --trace`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.base.size import DEFAULT_SIZE_BYTES
from plink.cli import run
from plink.formats import cluster as cluster_file
from plink.formats import order as order_file
from plink.simulate.datacentres import racks
from plink.simulate.simgrid import program
from plink.simulate.traces import files
from plink.solvers.collectives.registry import find

needs_simgrid = pytest.mark.needs("simgrid")


@pytest.fixture
def simgrid() -> None:
    """Skip where there is no SimGrid."""
    try:
        program.simulator()
    except PlinkError as error:
        pytest.skip(str(error))


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """Of four racks of four hosts in a bad sequence."""
    found = racks(4, 4, rate_gbit_s=10, hop_us=5, oversubscription=4).cluster
    name = str(tmp_path / "cluster.json")
    cluster_file.write_cluster(name, found)
    return name


def test_an_order_is_traced_by_hosts(cluster: str, tmp_path: Path) -> None:
    order = str(tmp_path / "order.json")
    assert run(["order", cluster, "--algo", "gloo-ring", "--time-limit", "0.1", "-o", order]) == 0
    out = str(tmp_path / "job.goal")
    assert run(["simulate", order, "--cluster", cluster, "--trace", "goal", "-o", out]) == 0
    found = files.read(out)
    names = cluster_file.read_cluster(cluster).names
    ranked = [names.index(host.name) for host in order_file.read_order(order).hosts]
    expected = np.zeros((16, 16))
    expected[np.ix_(ranked, ranked)] = (
        find("gloo-ring").table(16, DEFAULT_SIZE_BYTES).bytes_between()
    )
    assert np.allclose(found.bytes_between(), expected, atol=64)


def test_a_plan_is_traced(cluster: str, tmp_path: Path) -> None:
    plan, out = str(tmp_path / "plan.json"), str(tmp_path / "plan.et")
    assert run(["plan", cluster, "--size", "1MB", "--kind", "2lha", "-o", plan]) == 0
    assert run(["simulate", plan, "--cluster", cluster, "--trace", "chakra", "-o", out]) == 0
    found = files.read(str(tmp_path / "plan.0.et"))
    # Up and down 15 edges each, whatever the trees.
    assert found.bytes_sent == pytest.approx(2 * 15 * 1_000_000, rel=1e-3)


def test_ranks_are_placed_for_what_a_trace_sends(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ranks r and r + 4, r + 8, r + 12 talk to each other, and to nobody else."""
    lines = ["num_ranks 16"]
    for rank in range(16):
        lines.append(f"rank {rank} {{")
        for other in range(rank % 4, 16, 4):
            if other != rank:
                lines += [f"send 1000000b to {other}", f"recv 1000000b from {other}"]
        lines.append("}")
    trace, order = tmp_path / "job.goal", str(tmp_path / "order.json")
    trace.write_text("\n".join(lines))
    assert run(["order", cluster, "--trace", str(trace), "--time-limit", "0.5", "-o", order]) == 0
    found = order_file.read_order(order)
    assert found.algorithm == "trace"
    number = [int(host.name[1:]) for host in found.hosts]
    for first in range(4):
        assert len({number[rank] // 4 for rank in range(first, 16, 4)}) == 1
    assert found.cost.cost_us < 0.5 * found.cost.random_us
    capsys.readouterr()
    assert run(["order", cluster, "--trace", str(trace), "--algo", "ring"]) == 2
    assert "--algo and --trace exclude each other" in capsys.readouterr().err


@needs_simgrid
@pytest.mark.usefixtures("simgrid")
def test_algorithms_in_orders(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--racks", "4", "--hosts", "4", "--oversubscription", "4", "--size", "1MB"]
    algorithms = ["--algo", "openmpi-ring", "--algo", "smpi:lr", "--algo", "plan:2lha"]
    assert run(["simulate", *asked, *algorithms, "--search", "0.2", "--json"]) == 0
    ring, real, plan = json.loads(capsys.readouterr().out)["rows"]
    for row in (ring, real):
        assert row["gain"] > 2.0
        assert row["order"]["simulated_s"] <= 1.02 * row["given"]["simulated_s"]
        assert row["order"]["predicted_s"] == pytest.approx(row["order"]["simulated_s"], rel=0.1)
    assert plan["given"] is plan["random"] is None
    assert plan["order"]["simulated_s"] < 0.01
    assert run(["simulate", *asked, "--algo", "openmpi-ring", "--search", "0"]) == 0
    said = capsys.readouterr().out
    assert "4 racks of 4 hosts, 10 Gbit/s, uplinks 4:1: 1 MB on 16 hosts" in said.replace("\n", " ")


@needs_simgrid
@pytest.mark.usefixtures("simgrid")
def test_a_cluster_file_an_order_a_plan_and_a_trace(
    cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order, plan = str(tmp_path / "order.json"), str(tmp_path / "plan.json")
    trace = str(tmp_path / "t.goal")
    assert run(["order", cluster, "--algo", "gloo-ring", "--time-limit", "0.1", "-o", order]) == 0
    assert run(["plan", cluster, "--size", "1MB", "-o", plan]) == 0
    small = ["--size", "1MB", "--search", "0.02", "--random", "1", "--json"]
    assert run(["simulate", order, "--cluster", cluster, "--trace", "goal", "-o", trace]) == 0
    capsys.readouterr()
    for file, hosts in ((cluster, 16), (order, 16), (plan, 16), (trace, 16)):
        given = [] if file == cluster else ["--cluster", cluster]
        assert run(["simulate", file, *given, *small]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["hosts"] == hosts
        assert all(row["order"]["simulated_s"] > 0 for row in found["rows"])


@needs_simgrid
@pytest.mark.usefixtures("simgrid")
def test_what_takes_too_long_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--racks", "8", "--hosts", "8", "--algo", "openmpi-ring", "--search", "0"]
    assert run(["simulate", *asked, "--timeout", "0.01", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["given"]["simulated_s"] is None
    assert row["gain"] is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "there is no network to simulate"),
        (["--racks", "2", "--dragonfly", "1,1,1,2"], "--racks and --dragonfly exclude each other"),
        (["--racks", "2", "--cluster", "c.json"], "--racks and --cluster exclude each other"),
        (["--racks", "2", "--trace", "goal"], "--trace FORMAT and -o FILE are only given together"),
        (
            ["--fat-tree", "4,4:1,4", "--hosts", "3"],
            "--hosts needs --racks",
        ),
        (["c.json", "--rate", "40"], "--rate needs --racks"),
        (["--rows", "4"], "--rows needs --racks"),
        (["--racks", "4", "--row-oversubscription", "4"], "--row-oversubscription needs --rows"),
        (["--fat-tree", "4,4"], "a fat tree of '4,4'"),
        (["--fat-tree", "4,x:1,1"], "the fat tree has '4,x'"),
        (["--dragonfly", "4,4"], "a dragonfly of '4,4'"),
        (["--racks", "2", "--collective", "all-gather"], "--collective applies only to a plan"),
        (["--racks", "2", "--algo", "smpi:nothing"], "SMPI has no all-reduce called 'nothing'"),
        (["--racks", "2", "--algo", "smpi:lr", "--size", "9GB"], "SMPI counts at most 8,589,934,"),
        (["--racks", "2", "--algo", "nothing"], "there is no algorithm 'nothing'"),
        (["--racks", "3", "--algo", "halving-doubling"], "power of two"),
    ],
)
def test_wrong_use_is_a_sentence(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", *words]) == 2
    assert says in capsys.readouterr().err


def test_what_measures_rates_is_said_as_it_is_typed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = racks(1, 2, rate_gbit_s=10, hop_us=5).cluster
    name = str(tmp_path / "cluster.json")
    cluster_file.write_cluster(name, replace(found, uplinks=None))
    for words in (["simulate", name], ["fit", name, "--client", "gloo"]):
        assert run(words) == 2
        said = capsys.readouterr().err
        assert "holds no rates of links" in said
        assert f"plink probe --resume {name} --tool uplinks measures it" in said


@pytest.mark.usefixtures("simgrid")
@needs_simgrid
def test_a_job_is_tuned(cluster: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", cluster, "--tuner", "g1:0.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["tuned"]
    assert found["tuned_s"] < 0.85 * found["changed_s"]
    assert found["tuned_s"] < 1.1 * found["fresh_s"]
    assert found["recovered_s"] == pytest.approx(found["before_s"], rel=0.05)
    assert "g1" in found["plans"][0]["reason"] or "group 1" in found["plans"][0]["reason"]
    assert run(["simulate", cluster, "--tuner", "nothing"]) == 0
    assert "no new plans" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tuner", "n99:0.5"], "no host or group"),
        (["--tuner", "h01"], "no change"),
        (["--tuner", "h01:0"], "no change"),
        (["--tuner", "h01:0.4", "--algo", "gloo-ring"], "exclude"),
    ],
)
def test_a_change_that_is_none(
    cluster: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", cluster, *words]) == 2
    assert said in capsys.readouterr().err
