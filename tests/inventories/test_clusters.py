"""AWS ParallelCluster and SkyPilot: what their programs print and write, as their texts have it.

Neither runs here; a stand-in prints what the user guide says that `pcluster` does.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.measure.listed import read_hosts
from plink.probes.errors import HostListError
from plink.probes.inventories.clouds import list_compute_nodes, parse_instances, parse_nodes
from plink.probes.options import SshOptions
from plink.probes.ssh.config import SshConfig


def instance(address: str, node_type: str = "ComputeNode", **more: str) -> dict[str, Any]:
    described = {
        "launchTime": "2022-07-12T17:37:42.000Z",
        "instanceId": "i-021345abcdef6789",
        "publicIpAddress": "198.51.100.44",
        "instanceType": "t2.micro",
        "state": "running",
        "nodeType": node_type,
        "privateIpAddress": address,
    }
    queue = {"queueName": "queue1"} if node_type == "ComputeNode" else {}
    return described | queue | more


FIRST = {
    "nextToken": "more",
    "instances": [
        instance("192.0.2.196", "HeadNode"),
        instance("192.0.2.1"),
        instance("192.0.2.2", state="pending"),
    ],
}
SECOND = {"instances": [instance("192.0.2.3"), instance("192.0.2.4", queueName="queue2")]}


def test_compute_nodes_that_run(tmp_path: Path) -> None:
    file = tmp_path / "instances.json"
    file.write_text(json.dumps({"instances": FIRST["instances"] + SECOND["instances"]}))
    names = [host.name for host in read_hosts(f"pcluster:{file}").hosts]
    assert names == ["192.0.2.1", "192.0.2.3", "192.0.2.4"]
    names = [host.name for host in read_hosts(f"pcluster:{file}:queue1").hosts]
    assert names == ["192.0.2.1", "192.0.2.3"]


def test_a_cluster_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1").write_text(json.dumps(FIRST))
    (tmp_path / "2").write_text(json.dumps(SECOND))
    asked = tmp_path / "asked"
    program = tmp_path / "pcluster"
    program.write_text(
        f'#!/bin/sh\necho "$*" >>{asked}\n'
        f'case "$*" in *"--next-token more"*) cat {tmp_path}/2 ;; *) cat {tmp_path}/1 ;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert [host.name for host in read_hosts("pcluster:cluster-v3:queue1").hosts] == [
        "192.0.2.1",
        "192.0.2.3",
    ]
    words = "describe-cluster-instances --cluster-name cluster-v3 --node-type ComputeNode"
    assert asked.read_text().splitlines() == [words, f"{words} --next-token more"]


@pytest.mark.parametrize(
    ("instances", "queue", "said"),
    [
        ([], "", "pc: none of the 0 compute nodes is running"),
        (
            [instance("192.0.2.1", state="pending")],
            "",
            "pc: none of the 1 compute nodes is running",
        ),
        ([instance("192.0.2.1")], "gpu", "pc: no node of the queue 'gpu' is running"),
        ([instance("192.0.2.1")], "", "pc: 192.0.2.1 is the only host listed"),
        # As an example of the user guide has it.
        (
            [instance("192.0.2.0.196")],
            "",
            "pc: a node's address is '192.0.2.0.196', expected an IP address",
        ),
    ],
)
def test_what_has_no_nodes_is_refused(instances: list[Any], queue: str, said: str) -> None:
    with pytest.raises(HostListError) as caught:
        list_compute_nodes(instances, queue, "pc")
    assert str(caught.value) == said


@given(st.text(max_size=30) | st.just('{"instances": {}}'))
def test_any_text_is_a_page_or_refused(text: str) -> None:
    with pytest.raises(HostListError, match=r"is not the JSON of pcluster|not valid JSON"):
        parse_instances(text.encode(), "pc")


# As SkyPilot's SSHConfigHelper writes it.
NODE = """\
# Added by sky (use `sky stop/down train` to remove)
Host {name}
  HostName {address}
  User ubuntu
  IdentityFile /home/me/.sky/clients/ab12/ssh/sky-key
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile=/dev/null
  GlobalKnownHostsFile=/dev/null
  Port 2222
"""


def test_nodes_of_skypilot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".sky" / "generated" / "ssh"
    folder.mkdir(parents=True)
    names = ["train", *[f"train-worker{number}" for number in (1, 2, 10)]]
    text = "\n".join(NODE.format(name=name, address=f"10.0.0.{i}") for i, name in enumerate(names))
    (folder / "train").write_text(text)
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(f"Include {folder}/*\n\n")
    found = read_hosts("sky:train")
    assert [host.name for host in found.hosts] == names
    # What leads there is in the configuration that SkyPilot includes in the user's own.
    target = SshConfig(SshOptions()).target(found.hosts[3])
    assert (target.hostname, target.port, target.user) == ("10.0.0.3", 2222, "ubuntu")
    assert target.accept_new_host_keys


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("sky:down", "sky:down: there is no file ~/.sky/generated/ssh/down of SkyPilot"),
        ("sky:../x", "sky: '../x' is not a valid name of a SkyPilot cluster"),
    ],
)
def test_a_cluster_that_is_not_there(
    named: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(HostListError) as caught:
        read_hosts(named)
    assert str(caught.value) == said


def test_one_node_is_too_few() -> None:
    with pytest.raises(HostListError, match="train is the only host listed"):
        parse_nodes(NODE.format(name="train", address="10.0.0.1"), "train")
