"""Machines as kubectl and the clouds' own tools list them; texts shortened, not changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.inventories.kinds import parse_hosts


def node(name: str, address: str, ready: str = "True", gpus: str | None = None) -> dict[str, Any]:
    allocatable = {"cpu": "127610m"} | ({} if gpus is None else {"nvidia.com/gpu": gpus})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"labels": {"kubernetes.io/hostname": name}, "name": name},
        "status": {
            "addresses": [
                {"address": "198.51.100.7", "type": "ExternalIP"},
                {"address": address, "type": "InternalIP"},
                {"address": name, "type": "Hostname"},
            ],
            "allocatable": allocatable,
            "conditions": [
                {"status": "False", "type": "MemoryPressure"},
                {"status": ready, "type": "Ready"},
            ],
        },
    }


def pod(name: str, address: str | None, phase: str) -> dict[str, Any]:
    status = {"phase": phase, **({} if address is None else {"podIP": address})}
    return {"kind": "Pod", "metadata": {"name": name}, "status": status}


def instance(dns: str, address: str, state: str = "running") -> dict[str, Any]:
    return {
        "InstanceId": "i-0abcd",
        "PrivateDnsName": dns,
        "PrivateIpAddress": address,
        "PublicIpAddress": "198.51.100.9",
        "State": {"Code": 16, "Name": state},
    }


def virtual_machine(name: str, status: str, address: str) -> dict[str, Any]:
    interfaces = [
        {"name": "nic0", "networkIP": address, "accessConfigs": [{"natIP": "198.51.100.1"}]},
        {"name": "nic1", "networkIP": "10.9.0.1"},
    ]
    return {"kind": "compute#instance", "name": name, "networkInterfaces": interfaces} | {
        "status": status
    }


def addresses_of(name: str, address: str) -> dict[str, Any]:
    network = {"privateIpAddresses": [address], "publicIpAddresses": []}
    return {"virtualMachine": {"name": name, "network": network, "resourceGroup": "rg"}}


NODES = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        node("gpu-b", "10.0.0.2", gpus="8"),
        node("gpu-c", "10.0.0.3", ready="Unknown"),
        node("gpu-a", "10.0.0.1", gpus="0"),
    ],
}
PODS = {
    "kind": "List",
    "items": [
        pod("w-1", "10.1.0.2", "Running"),
        pod("w-2", None, "Pending"),
        pod("w-0", "10.1.0.1", "Running"),
    ],
}
AWS = {
    "Reservations": [
        {"Instances": [instance("ip-10-0-0-5.ec2.internal", "10.0.0.5")]},
        {"Instances": [instance("", "10.0.0.7"), instance("gone", "10.0.0.8", "terminated")]},
    ]
}
GCP = [
    virtual_machine("vm-2", "RUNNING", "10.128.0.2"),
    virtual_machine("vm-3", "TERMINATED", "10.128.0.3"),
    virtual_machine("vm-1", "RUNNING", "10.128.0.1"),
]
AZURE = [
    {"name": "az1", "powerState": "VM running", "privateIps": "10.4.0.4,10.5.0.4"},
    {"name": "az2", "powerState": "VM deallocated", "privateIps": "10.4.0.5"},
    {"name": "az3", "powerState": "VM running", "privateIps": ""},
]
AZURE_ADDRESSES = [addresses_of("az1", "10.4.0.4"), addresses_of("az2", "10.4.0.5")]


def hosts(data: Any) -> list[tuple[str, str | None, int]]:
    found = parse_hosts(json.dumps(data, indent=4).encode(), "listing.json")
    return [(host.name, host.ssh_address, host.slots) for host in found]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (NODES, [("gpu-b", "10.0.0.2", 8), ("gpu-a", "10.0.0.1", 1)]),
        (NODES | {"kind": "NodeList"}, [("gpu-b", "10.0.0.2", 8), ("gpu-a", "10.0.0.1", 1)]),
        (PODS, [("w-1", "10.1.0.2", 1), ("w-0", "10.1.0.1", 1)]),
        (AWS, [("ip-10-0-0-5.ec2.internal", "10.0.0.5", 1), ("10.0.0.7", "10.0.0.7", 1)]),
        (GCP, [("vm-2", "10.128.0.2", 1), ("vm-1", "10.128.0.1", 1)]),
        (AZURE, [("az1", "10.4.0.4", 1), ("az3", None, 1)]),
        (AZURE_ADDRESSES, [("az1", "10.4.0.4", 1), ("az2", "10.4.0.5", 1)]),
    ],
)
def test_listings(data: Any, expected: list[tuple[str, str | None, int]]) -> None:
    assert hosts(data) == expected


def test_the_place_names_the_entry() -> None:
    found = parse_hosts(json.dumps(AWS).encode(), "aws.json")
    assert found[1] == ListedHost(
        "10.0.0.7", ssh_address="10.0.0.7", place="aws.json: Reservations[1].Instances[0]"
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "l.json: is not a JSON listing of machines that plink knows"),
        ({"items": 3}, "l.json: is not a JSON listing of machines that plink knows"),
        ({"items": [3]}, "l.json: items[0] is not a JSON object"),
        ([{"colour": "red"}], "l.json: items[0] is not a machine of a known kind"),
        ({"Reservations": [{}]}, "l.json: is not a JSON listing of machines that plink knows"),
        ([{"privateIps": ""}], "l.json: items[0]: the listed machine has no name"),
        ([{"privateIps": "", "name": "-oProxyCommand=id"}], "l.json: items[0]: '-oProxyCommand"),
        ([{"privateIps": "", "name": "a:b"}], "l.json: items[0]: 'a:b' is not a host name"),
        ([], "l.json: lists no host"),
    ],
)
def test_refusals(data: Any, said: str) -> None:
    with pytest.raises(HostListError) as caught:
        parse_hosts(json.dumps(data).encode(), "l.json")
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("content", [b"{", b"[{]", b"{" * 100_000, b'[{"a": ' * 100_000, b"{\xff"])
def test_broken_json(content: bytes) -> None:
    with pytest.raises(HostListError, match="not valid JSON"):
        parse_hosts(content, "l.json")


def test_a_bracket_may_open_an_address() -> None:
    found = parse_hosts(b"[2001:db8::1]:2222\n[2001:db8::2]\n", "hosts.txt")
    assert [host.name for host in found] == ["2001:db8::1", "2001:db8::2"]


KEYS = st.sampled_from(
    [
        *["items", "kind", "metadata", "name", "status", "addresses", "Reservations", "Instances"],
        *["networkInterfaces", "privateIps", "virtualMachine", "network", "allocatable", "type"],
    ]
)
VALUES = st.recursive(
    st.none() | st.integers() | st.sampled_from(["Node", "Pod", "a", "b", "10.0.0.1", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES.filter(lambda value: isinstance(value, (dict, list))))
def test_any_json_is_read_or_refused(data: Any) -> None:
    try:
        found = parse_hosts(b" " + json.dumps(data).encode(), "l.json")
    except HostListError:
        return
    assert len(found) >= 2
