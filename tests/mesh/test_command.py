"""`plink order --mesh`, as a user runs it, and what reads its order file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import plink
from mesh import meshes
from ordering.clusters import cluster_of
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.cli import run
from plink.deploy.launchers import FORMATS
from plink.formats import cluster, document
from plink.formats import order as order_file
from plink.formats.cluster import Cluster, require_rtt
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group

MESH = ["--mesh", "dp=2,pp=4,tp=2", "--traffic", "tp=20GB,dp=halving-doubling:2GB,pp=1GB"]
QUICKLY = ["--time-limit", "0.3"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cluster.write_cluster("c.json", cluster_of(meshes.racks([4, 4, 4, 4], 2)))
    return tmp_path


def test_the_order_file_has_the_mesh_and_what_reads_it_shows_it(folder, capsys):
    assert run(["order", "c.json", *MESH, *QUICKLY, "-o", "o.json"]) == 0
    shown = capsys.readouterr().out
    assert "mesh dp=2,pp=4,tp=2 order of 16 hosts" in shown
    assert "tp ring 20 GB" in shown.replace("\n", " ")
    order = order_file.read_order("o.json")
    assert order.algorithm == "mesh"
    assert order.mesh is not None
    assert order.mesh.text == "dp=2,pp=4,tp=2"
    assert 0.0 < order.cost.lower_bound_us <= order.cost.cost_us < 0.6 * order.cost.random_us
    assert run(["show", "o.json"]) == 0
    assert "mesh dp=2,pp=4,tp=2" in capsys.readouterr().out
    assert run(["predict", "o.json", "--cluster", "c.json", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["algorithm"] for row in rows] == ["mesh", "mesh: dp", "mesh: pp", "mesh: tp"]
    assert rows[0]["order"]["latency_us"] == pytest.approx(order.cost.cost_us)
    assert run(["order", "o.json", "--format", "openmpi"]) == 0
    assert capsys.readouterr().out == FORMATS["openmpi"].render(order.hosts)


def test_without_traffic_every_dimension_carries_the_size(folder):
    order = plink.order(plink.read("c.json"), mesh="dp=8,tp=2", size="3MB", time_limit_s=0.1)
    assert order.mesh is not None
    assert [one.size_bytes for one in order.mesh.dimensions] == [3_000_000, 3_000_000]


def test_the_heaviest_dimension_goes_inside_hosts(folder, capsys):
    mesh = ["--mesh", "dp=8,tp=4", "--traffic", "tp=20GB,dp=1GB", "--slots", "4"]
    assert run(["order", "c.json", *mesh, *QUICKLY, "-o", "o.json"]) == 0
    order = order_file.read_order("o.json")
    assert len(order.hosts) == 8
    assert len(order.unused) == 8
    # What crosses the network is dp alone: eight rings of four hops each way.
    assert order.cost.cost_us < 4 * 8 * 100.0 / 21.0
    assert "neighbours" not in capsys.readouterr().err
    turned = ["--mesh", "tp=4,dp=8", "--traffic", "tp=20GB,dp=1GB", "--slots", "4"]
    assert run(["order", "c.json", *turned, *QUICKLY]) == 0
    assert "a mesh of dp=8,tp=4 would keep that inside hosts" in capsys.readouterr().err
    # A search of so little time finds a good one only where it gets a processor.
    for limit_s in (0.3, 1.0, 30.0):
        limit = ["--time-limit", str(limit_s)]
        assert run(["order", "c.json", *turned, *limit, "--interleave", "-o", "o2.json"]) == 0
        apart = order_file.read_order("o2.json")
        if apart.cost.cost_us < 1.5 * order.cost.cost_us:
            break
    assert apart.host_of_rank is not None
    assert apart.cost.cost_us < 1.5 * order.cost.cost_us


def with_uplinks(known: Cluster) -> Cluster:
    """Four racks, whose uplinks carry a Gbit/s."""
    matrix = np.nan_to_num(require_rtt(known).readings_us)
    left, groups = list(range(16)), []
    while left:
        rack = [host for host in left if matrix[left[0], host] < 50.0]
        groups.append(Group(f"r{len(groups)}", [known.names[host] for host in rack]))
        left = [host for host in left if host not in rack]
    uplinks = [Uplink(group.name, 1.0, 1.0, 4.0) for group in groups]
    measured = UplinkMeasurement(uplinks=uplinks, tool="uplinks")
    return replace(known, groups=groups, uplinks=measured)


def test_by_contention_the_heaviest_dimension_stays_in_racks(folder, capsys):
    cluster.write_cluster("u.json", with_uplinks(cluster.read_cluster("c.json")))
    mesh = ["--mesh", "tp=4,dp=4", "--traffic", "tp=900MB,dp=50MB"]
    assert run(["order", "u.json", *mesh, *QUICKLY, "-o", "o.json"]) == 0
    order = order_file.read_order("o.json")
    assert order.objective == "contention"
    assert order.cost.size_bytes == 950_000_000
    rack_of = {name: group.name for group in order.groups for name in group.hosts}
    placed = np.array([rack_of[name] for name in order.names]).reshape(4, 4)
    assert all(len(set(column)) == 1 for column in placed.T.tolist())
    assert 0.0 < order.cost.lower_bound_us <= order.cost.cost_us < 0.5 * order.cost.random_us
    capsys.readouterr()
    assert run(["predict", "o.json", "--cluster", "u.json", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert rows[0]["order"]["time_s"] == pytest.approx(order.cost.cost_us * 1e-6)


def test_the_library_takes_texts_and_mappings(folder):
    known = plink.MeasuredCluster.read("c.json")
    by_text = plink.order(known, mesh="dp=4,tp=4", traffic="tp=9MB,dp=1MB", time_limit_s=0.3)
    by_name = plink.order(
        known, mesh={"dp": 4, "tp": 4}, traffic={"tp": "9MB", "dp": 1_000_000}, time_limit_s=0.3
    )
    assert by_text.mesh == by_name.mesh
    assert by_text.cost.cost_us == pytest.approx(by_name.cost.cost_us, rel=0.05)
    found = plink.predict(by_text)
    assert found["mesh"].order.latency_us == pytest.approx(by_text.cost.cost_us)
    with pytest.raises(WrongUseError, match="exclude each other"):
        plink.order(known, mesh="dp=4,tp=4", algorithm="tree")
    with pytest.raises(WrongUseError, match="traffic excludes a Mesh object"):
        plink.order(known, mesh=by_text.mesh, traffic="tp=1")
    with pytest.raises(WrongUseError, match="traffic needs mesh"):
        plink.order(known, traffic="tp=1")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--traffic", "tp=1"], "--traffic needs --mesh"),
        (["--mesh", "tp=4", "--algo", "ring"], "exclude each other"),
        (["--mesh", "tp=4", "--traffic", "tp=1", "--size", "1MB"], "exclude each other"),
        (["--mesh", "tp=4", "--ranks", "5"], "has 4 ranks, not 5"),
        (["--mesh", "tp=32"], "32 ranks do not fit on 16 hosts"),
        (["--mesh", "tp=4", "--traffic", "tp=tree:1"], "tree is no algorithm in rounds"),
        (["--mesh", "tp=3", "--traffic", "tp=halving-doubling:1"], "needs a power of two"),
        (["--mesh", "tp=4", "--traffic", "tp=rinng:1"], "did you mean"),
    ],
)
def test_what_cannot_be_is_refused(folder, capsys, options, told):
    assert run(["order", "c.json", *options]) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert "hint:" in shown.err or "needs a power" in shown.err


def test_a_file_whose_mesh_has_other_ranks_is_refused(folder, capsys):
    assert run(["order", "c.json", *MESH, *QUICKLY, "-o", "o.json"]) == 0
    data = json.loads(Path("o.json").read_text())
    data["mesh"]["dimensions"][0]["size"] = 3
    Path("o.json").write_bytes(document.dump(data))
    assert run(["show", "o.json"]) == 2
    assert "the mesh has 24 ranks, but the hosts have 16" in capsys.readouterr().err
    data["algorithm"] = "ring"
    Path("o.json").write_bytes(document.dump(data))
    assert run(["show", "o.json"]) == 2
