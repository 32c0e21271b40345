"""Topologies as schedulers and clouds print them, given as groups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plink.base.errors import WrongUseError
from plink.measure.probing.group_list import read_groups
from plink.probes.inventories.kinds import parse_hosts

TREE = """\
SwitchName=top-1 Level=1 LinkSpeed=1 Nodes=bm[001-006] Switches=leaf-[1-2]
SwitchName=leaf-1 Level=0 LinkSpeed=1 Nodes=bm[001-003]
SwitchName=leaf-2 Level=0 LinkSpeed=1 Nodes=bm[004-006] Switches=
"""
BLOCKS = """\
BlockName=b1 BlockIndex=0 Nodes=bm[001-003] BlockSize=3
BlockName=b2 BlockIndex=1 Nodes=bm[004-006] BlockSize=3
AggregatedBlock=b[1-2] BlockIndex=2 Nodes=bm[001-006] BlockSize=6
"""
BESIDE = """\
SwitchName=s1 Nodes=bm[001-003],login[1-2]
SwitchName=s2 Nodes=bm[004-006],login1,store Comment=x
"""
EC2 = {
    "Instances": [
        {"InstanceId": f"bm00{number}", "NetworkNodes": ["n1", "n2", leaf], "ZoneId": "z"}
        for number, leaf in enumerate(["l1", "l1", "l1", "l2", "l2", "l2"], start=1)
    ]
}
AZURE = [
    {"blockname": "block1", "size": 3, "nodelist": ["bm001", "bm002", "bm003"]},
    {"blockname": "block2", "size": 3, "nodelist": "bm[004-006]"},
]


def nodes(labels: list[dict[str, str]]) -> dict[str, object]:
    items = [
        {"kind": "Node", "metadata": {"name": f"bm00{number}", "labels": found}}
        for number, found in enumerate(labels, start=1)
    ]
    return {"kind": "List", "items": items}


def oci(block: str, number: int) -> dict[str, str]:
    parts = {"hpc_island": "i", "network_block": "n", "local_block": block, "host": f"h{number}"}
    return {f"oci.oraclecloud.com/rdma.{name}_id": value for name, value in parts.items()}


OCI = nodes([oci(block, number) for number, block in enumerate("aaabbb")])
HOSTS = [f"bm00{number}" for number in range(1, 7)]


@pytest.mark.parametrize(
    "text", [TREE, BLOCKS, BESIDE, *(json.dumps(data) for data in (EC2, AZURE, OCI))]
)
def test_the_lowest_level_makes_the_groups(text: str, tmp_path: Path) -> None:
    (tmp_path / "topology").write_text(text)
    groups = read_groups(str(tmp_path / "topology"), HOSTS, "list")
    assert [list(group.hosts) for group in groups] == [HOSTS[:3], HOSTS[3:]]


def test_a_node_of_the_network_below_two_others_is_one(tmp_path: Path) -> None:
    data = {"Instances": [dict(each) for each in EC2["Instances"]]}
    data["Instances"][5]["NetworkNodes"] = ["n1", "n3", "l2"]
    (tmp_path / "topology").write_text(json.dumps(data))
    groups = read_groups(str(tmp_path / "topology"), HOSTS, "list")
    assert [list(group.hosts) for group in groups] == [HOSTS[:3], HOSTS[3:]]


def test_a_measured_host_below_two_switches_is_named_with_both(tmp_path: Path) -> None:
    (tmp_path / "topology").write_text(BESIDE)
    with pytest.raises(WrongUseError) as caught:
        read_groups(str(tmp_path / "topology"), [*HOSTS, "login1"], "list")
    assert all(name in str(caught.value) for name in ("login1", "s1", "s2"))


def test_such_a_host_is_listed_once() -> None:
    listed = [host.name for host in parse_hosts(BESIDE.encode(), "topology")]
    assert sorted(listed) == sorted([*HOSTS, "login1", "login2", "store"])


def test_labels_that_plink_does_not_know_are_named(tmp_path: Path) -> None:
    labels = {"a/b": "1", "c/d": "2", "e/f": "3", "example.com/rack": "r1"}
    (tmp_path / "nodes.json").write_text(json.dumps(nodes([labels] * 6)))
    with pytest.raises(WrongUseError) as caught:
        read_groups(str(tmp_path / "nodes.json"), HOSTS, "list")
    assert str(caught.value.hint) == "there are: a/b, c/d, e/f and 1 more"
