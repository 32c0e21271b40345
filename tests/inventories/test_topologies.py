"""Topologies as topograph, Slurm and Kubernetes have them: texts of topograph's tests and pages."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.measure.listed import read_hosts
from plink.measure.probing.group_list import read_given_groups, read_groups
from plink.probes.errors import HostListError
from plink.probes.inventories.topologies import parse_topology

# pkg/translate/output_test.go: shortNameExpectedResult, testTreeConfig, testBlockConfigDiffNumNodes
DEEP = """\
# switch.3.1=hpcislandid-1
SwitchName=switch.3.1 Switches=switch.2.[1-2]
# switch.2.1=network-block-1
SwitchName=switch.2.1 Switches=switch.1.1
# switch.2.2=network-block-2
SwitchName=switch.2.2 Switches=switch.1.2
# switch.1.1=local-block-1
SwitchName=switch.1.1 Nodes=node-1
# switch.1.2=local-block-2
SwitchName=switch.1.2 Nodes=node-2
"""
TREE = """\
SwitchName=S1 Switches=S[2-3]
SwitchName=S2 Nodes=Node[201-202],Node205
SwitchName=S3 Nodes=Node[304-306]
"""
BLOCK = """\
BlockName=B1 Nodes=Node[104-106]
BlockName=B2 Nodes=Node[201-202],Node[205-206]
BlockSizes=2,4
"""
# pkg/translate/yaml_test.go: TestMixedYamlTopology, without its third and fourth
YAML = """\
- topology: topo1
  clusterDefault: false
  tree:
    switches:
        - switch: IB2
          children: S1
        - switch: S1
          children: S3
        - switch: S3
          nodes: Node[201,205]
- topology: topo4
  clusterDefault: false
  block:
    blockSizes:
        - 2
    blocks:
        - block: block1
          nodes: Node[301-303]
- topology: topo5
  clusterDefault: true
  flat: true
"""
# docs/engines/graph.md, with another instance
GRAPH: dict[str, Any] = {
    "instances": [
        {
            "id": "I21",
            "type": "H100",
            "network_layers": ["leaf-a", "spine-a"],
            "attributes": {"nvlink": "nvl-1"},
        },
        {"id": "I22", "network_layers": ["leaf-b", "spine-a"]},
    ]
}


def nodes(*labels: dict[str, str]) -> dict[str, Any]:
    """As `kubectl get nodes -o json` lists them."""
    items = [
        {"kind": "Node", "metadata": {"name": f"n{number}", "labels": each}}
        for number, each in enumerate(labels)
    ]
    return {"kind": "List", "items": items}


NVIDIA = "network.topology.nvidia.com"
LABELLED = {
    "topograph before 1.0": (
        {
            f"{NVIDIA}/{tier}": name
            for tier, name in (("leaf", "s1"), ("spine", "s2"), ("core", "s3"))
        }
        | {f"{NVIDIA}/accelerator": "nvl1"},
        ("s3", "s2", "s1"),
    ),
    "topograph since 1.0": (
        {f"fabric.topograph.run/tier-{tier}": f"s{tier}" for tier in (0, 1, 2, 10)},
        ("s10", "s2", "s1", "s0"),
    ),
    "an accelerator alone": ({f"{NVIDIA}/accelerator": "nvl1"}, ("nvl1",)),
    "AWS": (
        {f"topology.k8s.aws/network-node-layer-{layer}": f"nn-{layer}" for layer in (1, 2, 3)},
        ("nn-1", "nn-2", "nn-3"),
    ),
}


def paths(text: str) -> dict[str, Sequence[str]]:
    found = parse_topology(text.encode(), "t")
    assert found is not None
    return dict(found.paths)


def test_trees_and_blocks_of_slurm() -> None:
    assert paths(DEEP) == {
        f"node-{number}": ("switch.3.1", f"switch.2.{number}", f"switch.1.{number}")
        for number in (1, 2)
    }
    assert paths(TREE)["Node205"] == ("S1", "S2")
    assert paths(BLOCK)["Node206"] == ("B2",)


def test_topology_yaml() -> None:
    below = {f"Node{number}": ("IB2", "S1", "S3") for number in (201, 205)}
    assert paths(YAML) == below | {f"Node{number}": ("block1",) for number in (301, 302, 303)}


def test_the_graph_engine() -> None:
    assert paths(json.dumps(GRAPH)) == {"I21": ("spine-a", "leaf-a"), "I22": ("spine-a", "leaf-b")}


@pytest.mark.parametrize("kind", LABELLED)
def test_labels_of_nodes(kind: str) -> None:
    labels, path = LABELLED[kind]
    assert paths(json.dumps(nodes(labels, {"kubernetes.io/hostname": "n1"}))) == {"n0": path}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=c Nodes=n\n", None),
        ("SwitchName=a Switches=a\nSwitchName=a Nodes=n\n", "t: the switch 'a' is below itself"),
        ("- topology: x\n  flat: true\n", "t: no switch or block of the topology has hosts"),
        (json.dumps({"instances": [{"network_layers": 3}]}), "t: instances[0] has no id, or no"),
    ],
)
def test_what_is_wrong_is_said(text: str, said: str | None) -> None:
    if said is None:
        assert paths(text) == {"n": ("c",)}
        return
    with pytest.raises(HostListError) as caught:
        parse_topology(text.encode(), "t")
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("text", ["n1\nn2\n", "{}", '{"format": "plink.cluster"}', "[gpu]\nn1\n"])
def test_what_is_none_is_left_to_others(text: str) -> None:
    assert parse_topology(text.encode(), "t") is None


@given(st.text(alphabet='SwitchName=sNode[1-2],\n -:topology{}"', max_size=80))
def test_any_text_is_a_topology_or_not(text: str) -> None:
    try:
        found = parse_topology(text.encode(), "t")
    except HostListError:
        return
    assert found is None or found.paths


@contextmanager
def topograph(answers: Sequence[tuple[int, str]]) -> Iterator[str]:
    """A stand-in for topograph's server: what it answers, one request after the other."""
    waiting = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/v1/topology?uid=1"
            status, text = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"topograph:http://127.0.0.1:{server.server_port}/v1/topology?uid=1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_server_is_waited_for() -> None:
    with topograph([(202, ""), (200, TREE)]) as named:
        found = read_hosts(named)
        groups = read_groups(named, ["Node201", "Node304", "Node305"], "c.json")
    names = ["Node201", "Node202", "Node205", "Node304", "Node305", "Node306"]
    assert [host.name for host in found.hosts] == names
    # A topology is of the whole cluster; here two hosts of it are asked for.
    assert {group.name: group.hosts for group in groups} == {
        "S2": ["Node201"],
        "S3": ["Node304", "Node305"],
    }


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        (404, "request ID 1 not found", "the server answers 404: request ID 1 not found"),
        (200, "OK", "is not a topology in a format that plink knows"),
    ],
)
def test_a_server_that_has_none(status: int, text: str, said: str) -> None:
    with topograph([(status, text)]) as named, pytest.raises(HostListError) as caught:
        read_hosts(named)
    assert str(caught.value) == f"{named}: {said}"


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(HostListError, match="the server cannot be reached"):
        read_hosts("topograph:http://127.0.0.1:1/v1/topology?uid=1")


def test_positions_have_all_switches_above(tmp_path: Any) -> None:
    file = tmp_path / "topology.conf"
    file.write_text(DEEP)
    groups = read_groups(str(file), ["node-1", "node-2"], "c", are_positions=True)
    assert [group.name for group in groups] == [
        "switch.3.1/switch.2.1/switch.1.1",
        "switch.3.1/switch.2.2/switch.1.2",
    ]


def test_a_named_topology_has_its_domains(tmp_path: Any) -> None:
    file = tmp_path / "topology.conf"
    file.write_text("BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n3\n")
    for path in (str(file), f"topograph:{file}"):
        groups, domains = read_given_groups(path, ["n1", "n2", "n3"], "c")
        assert [group.name for group in groups] == ["b1", "b2"]
        assert domains == {"n1": "b1", "n2": "b1", "n3": "b2"}
