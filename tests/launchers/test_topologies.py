"""Slurm's topology files, as literals that follow topology.conf(5) and topology.yaml(5)."""

from __future__ import annotations

import pytest
import yaml

from plink.base.errors import WrongUseError
from plink.deploy import launchers
from plink.deploy.launchers import TOPOLOGIES
from plink.formats.hosts import Group, Host

HOSTS = [Host(name, "10.0.0.1") for name in ("c", "a", "d", "b", "e")]
GROUPS = [Group("rack1", ["a", "b", "c"]), Group("rack2", ["e", "d"])]

TREE = """\
SwitchName=rack1 Nodes=c,a,b
SwitchName=rack2 Nodes=d,e
SwitchName=plink-root Switches=rack1,rack2
"""

BLOCK = """\
BlockName=rack1 Nodes=c,a,b
BlockName=rack2 Nodes=d,e
BlockSizes=2
"""

TREE_YAML = """\
- topology: plink
  cluster_default: true
  tree:
    switches:
      - switch: "plink-root"
        children: "rack1,rack2"
      - switch: "rack1"
        nodes: "c,a,b"
      - switch: "rack2"
        nodes: "d,e"
"""

BLOCK_YAML = """\
- topology: plink
  cluster_default: true
  block:
    block_sizes:
      - 2
    blocks:
      - block: "rack1"
        nodes: "c,a,b"
      - block: "rack2"
        nodes: "d,e"
"""

TEXTS = {
    "slurm-tree": TREE,
    "slurm-block": BLOCK,
    "slurm-tree-yaml": TREE_YAML,
    "slurm-block-yaml": BLOCK_YAML,
}


def test_every_topology_has_a_text_here() -> None:
    assert list(TOPOLOGIES) == list(TEXTS)


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    assert launchers.render(name, HOSTS, GROUPS) == TEXTS[name]


def test_yaml_is_yaml_whatever_the_names_look_like() -> None:
    groups = [Group("1e3", ["no", "007"]), Group("null", ["on"])]
    hosts = [Host(name, "10.0.0.1") for name in ("007", "no", "on")]
    (tree,) = yaml.safe_load(launchers.render("slurm-tree-yaml", hosts, groups))
    assert tree["tree"]["switches"] == [
        {"switch": "plink-root", "children": "1e3,null"},
        {"switch": "1e3", "nodes": "007,no"},
        {"switch": "null", "nodes": "on"},
    ]


def test_one_group_needs_no_switch_above_it() -> None:
    hosts = [Host("a", "10.0.0.1"), Host("b", "10.0.0.2")]
    text = launchers.render("slurm-tree", hosts, [Group("rack1", ["b", "a"])])
    assert text == "SwitchName=rack1 Nodes=a,b\n"


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(
    ("hosts", "groups", "said"),
    [
        (["a"], [], "Slurm needs groups of hosts, but the file has none"),
        (
            ["a", "b"],
            [Group("r", ["a"])],
            "Slurm needs every host in a group, and 'b' is not in one",
        ),
        (
            ["a"],
            [Group("r,s", ["a"])],
            "Slurm cannot take the group 'r,s', which cannot name a switch or block",
        ),
        (
            ["a"],
            [Group("plink-root", ["a"])],
            "Slurm cannot take the group 'plink-root', which cannot name a switch or block",
        ),
        (
            ["a[1-2]"],
            [Group("r", ["a[1-2]"])],
            "Slurm cannot take the host 'a[1-2]', which cannot name a node",
        ),
        (
            ["a:1"],
            [Group("r", ["a:1"])],
            "Slurm cannot take the host 'a:1', which cannot name a node",
        ),
    ],
)
def test_refusals(name: str, hosts: list[str], groups: list[Group], said: str) -> None:
    with pytest.raises(WrongUseError) as caught:
        launchers.render(name, [Host(host, "10.0.0.1") for host in hosts], groups)
    assert str(caught.value).startswith(said)
