"""`plink export --format` and `plink group --given`: topologies out and in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plink.base.errors import WrongUseError
from plink.cli import run
from plink.deploy import topologies
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.groups import Grouping, Partition
from plink.formats.hosts import Group, Host
from plink.probes.inventories.topologies import parse_topology

HOSTS = [Host(name, f"10.0.0.{number}") for number, name in enumerate("abcdef", start=1)]
LEVELS = [[["a", "b", "c", "d"], ["e", "f"]], [["a", "b"], ["c", "d"], ["e", "f"]]]
GROUPS = [Group(f"g{number}", hosts) for number, hosts in enumerate(LEVELS[1])]
NESTED = Cluster(
    HOSTS, groups=GROUPS, grouping=Grouping("levels", "raw", levels=list(map(Partition, LEVELS)))
)
GIVEN = Cluster(HOSTS, groups=[Group("rack1", ["a", "b", "c"]), Group("rack2", ["d", "e", "f"])])

CONF = """\
SwitchName=leaf-1 Nodes=a,b
SwitchName=leaf-2 Nodes=c,d
SwitchName=leaf-3 Nodes=e,f
SwitchName=spine-1 Switches=leaf-1,leaf-2
SwitchName=spine-2 Switches=leaf-3
SwitchName=plink-root Switches=spine-1,spine-2
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nested_tiers_are_a_tree_of_switches() -> None:
    assert topologies.render_slurm(NESTED) == CONF


def test_topograph_has_the_nearest_switch_first() -> None:
    instances = json.loads(topologies.render_topograph(NESTED))["instances"]
    assert instances[2] == {"id": "c", "network_layers": ["leaf-2", "spine-1"]}
    assert [instance["id"] for instance in instances] == list("abcdef")


@pytest.mark.parametrize("name", topologies.FORMATS)
@pytest.mark.parametrize("cluster", [NESTED, GIVEN])
def test_what_is_written_is_read_again(name: str, cluster: Cluster) -> None:
    found = parse_topology(topologies.FORMATS[name](cluster).encode(), "t")
    assert found is not None
    by_switch: dict[str, list[str]] = {}
    for host, path in found.paths.items():
        by_switch.setdefault(path[-1], []).append(host)
    assert sorted(by_switch.values()) == sorted(list(group.hosts) for group in cluster.groups)
    if cluster is GIVEN:
        assert set(by_switch) == {"rack1", "rack2"}


def test_without_groups_there_is_none() -> None:
    with pytest.raises(WrongUseError, match="has no groups, from which a topology could be made"):
        topologies.render_slurm(Cluster(HOSTS))


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    cluster_file.write_cluster("c.json", NESTED)
    assert run(["export", "c.json", "--format", "slurm-topology", "-o", "topology.conf"]) == 0
    assert Path("topology.conf").read_text() == CONF
    assert run(["export", "c.json", "--format", "topograph", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [len(tier) for tier in shown["tiers"]] == [3, 2]
    assert run(["export", "c.json", "--format", "topograph", "--unit", "ms"]) == 2
    assert "--unit applies to --format csv, not to topograph" in capsys.readouterr().err


def test_a_topology_is_taken_over(capsys: pytest.CaptureFixture[str]) -> None:
    cluster_file.write_cluster("c.json", Cluster(HOSTS))
    Path("t.conf").write_text("SwitchName=s1 Nodes=a,b,z\nSwitchName=s2 Nodes=c,d,e\n")
    assert run(["group", "c.json", "--given", "t.conf", "-o", "g.json"]) == 3
    assert "1 host in no group of t.conf: f" in capsys.readouterr().err
    found = cluster_file.read_cluster("g.json")
    assert {group.name: list(group.hosts) for group in found.groups} == {
        "s1": ["a", "b"],
        "s2": ["c", "d", "e"],
    }
    assert found.grouping is None
    assert run(["group", "c.json", "--given", "t.conf", "--k", "2"]) == 2
    assert "--k applies to finding groups" in capsys.readouterr().err
