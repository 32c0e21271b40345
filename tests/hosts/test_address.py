"""The choice of the address that traffic uses, host by host as they come."""

from __future__ import annotations

import ipaddress

import pytest

from plink.probes.errors import HostError
from plink.probes.hosts.address import InterfaceAddress, choose_address

LO = InterfaceAddress("lo", "127.0.0.1")
LO6 = InterfaceAddress("lo", "::1")
DOCKER = InterfaceAddress("docker0", "172.17.0.1")
BRIDGE = InterfaceAddress("br-0123456789ab", "172.18.0.1")
LIBVIRT = InterfaceAddress("virbr0", "192.168.122.1")
ETH0 = InterfaceAddress("eth0", "10.0.3.7")
ETH0_6 = InterfaceAddress("eth0", "2001:db8::7")
ETH0_LOCAL = InterfaceAddress("eth0", "fe80::1")
ETH0_METADATA = InterfaceAddress("eth0", "169.254.10.1")
ETH1 = InterfaceAddress("eth1", "10.1.3.7")
ETH1_6 = InterfaceAddress("eth1", "fd00::7")
PUBLIC = InterfaceAddress("eth0", "203.0.113.7")
PUBLIC_2 = InterfaceAddress("eth1", "198.51.100.7")
UNNAMED = InterfaceAddress("", "10.0.3.7")

REACHED = "was reached at 203.0.113.99 and has several addresses of its own: "

CONTAINERS = [DOCKER, BRIDGE, LIBVIRT]


@pytest.mark.parametrize(
    ("candidates", "ssh_address", "chosen"),
    [
        ([LO, ETH0], "10.0.3.7", ETH0),
        ([LO, ETH0, ETH1], "10.1.3.7", ETH1),
        ([LO, ETH0, ETH0_6], "2001:db8:0::0007", ETH0_6),
        ([LO, ETH0], "::ffff:10.0.3.7", ETH0),
        ([LO, PUBLIC, ETH1], "203.0.113.7", PUBLIC),
        # Public and translated, or by a name, or through a tunnel.
        ([LO, LO6, ETH0, ETH0_LOCAL], "203.0.113.99", ETH0),
        ([LO, ETH0, *CONTAINERS], "203.0.113.99", ETH0),
        ([LO, ETH0, ETH0_METADATA], "203.0.113.99", ETH0),
        ([LO, ETH0, ETH1_6], "203.0.113.99", ETH0),
        ([LO, ETH0, PUBLIC_2], "203.0.113.99", ETH0),
        ([LO, ETH1_6, PUBLIC], "203.0.113.99", ETH1_6),
        ([LO, ETH0], "127.0.0.1", ETH0),
        ([LO, ETH0], "gpu7.example.org", ETH0),
        ([LO, PUBLIC], "gpu7.example.org", PUBLIC),
        ([UNNAMED], "203.0.113.99", UNNAMED),
    ],
)
def test_default(
    candidates: list[InterfaceAddress], ssh_address: str, chosen: InterfaceAddress
) -> None:
    assert choose_address(candidates, ssh_address) == chosen
    assert choose_address(candidates[::-1], ssh_address) == chosen


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        (
            [LO, ETH0, ETH1],
            REACHED + "eth0 10.0.3.7, eth1 10.1.3.7",
        ),
        (
            [LO, PUBLIC, PUBLIC_2],
            REACHED + "eth0 203.0.113.7, eth1 198.51.100.7",
        ),
        (
            [LO, DOCKER],
            "has no address that other hosts can reach (it has lo 127.0.0.1, docker0 172.17.0.1)",
        ),
        ([], "has no address that other hosts can reach (it reports no address)"),
    ],
)
def test_default_refuses_to_guess(candidates: list[InterfaceAddress], message: str) -> None:
    with pytest.raises(HostError) as caught:
        choose_address(candidates, "203.0.113.99", host="gpu7")
    assert str(caught.value) == message
    assert caught.value.host == "gpu7"
    assert "network" in (caught.value.hint or "")
    assert "interface" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("network", "interface", "chosen"),
    [
        ("10.0.0.0/16", None, ETH0),
        ("10.1.0.0/16", None, ETH1),
        ("fd00::/8", None, ETH1_6),
        ("172.16.0.0/12", "docker0", DOCKER),
        ("127.0.0.0/8", None, LO),
        ("10.0.0.0/8", "eth1", ETH1),
        (None, "eth1", ETH1),
        (None, "docker0", DOCKER),
        (None, "lo", LO),
    ],
)
def test_named_network_or_interface(
    network: str | None, interface: str | None, chosen: InterfaceAddress
) -> None:
    candidates = [LO6, LO, ETH1_6, ETH0_LOCAL, ETH0, ETH1, DOCKER]
    found = choose_address(
        candidates, "10.0.3.7", ipaddress.ip_network(network) if network else None, interface
    )
    assert found == chosen


def test_an_interface_prefers_what_can_be_routed() -> None:
    assert choose_address([ETH0_LOCAL, ETH0_6], "x", interface="eth0") == ETH0_6
    assert choose_address([ETH0_METADATA, ETH0_6], "x", interface="eth0") == ETH0_6
    assert choose_address([ETH0_LOCAL], "x", interface="eth0") == ETH0_LOCAL


@pytest.mark.parametrize(
    ("network", "interface", "message"),
    [
        ("10.9.0.0/16", None, "has no address in 10.9.0.0/16 (it has lo 127.0.0.1, "),
        ("172.16.0.0/12", None, "has no address in 172.16.0.0/12 (it has lo 127.0.0.1, "),
        ("10.0.0.0/8", None, "has several addresses in 10.0.0.0/8: eth0 10.0.3.7, eth1 10.1.3.7"),
        ("0.0.0.0/0", None, "has several addresses in 0.0.0.0/0: eth0 10.0.3.7, eth1 10.1.3.7"),
        ("2001:db8::/32", None, "has no address in 2001:db8::/32 (it has lo 127.0.0.1, "),
        (None, "ib0", "has no address on interface ib0 (it has lo 127.0.0.1, eth0 10.0.3.7, "),
        ("10.0.0.0/16", "eth1", "has no address in 10.0.0.0/16 (it has eth1 10.1.3.7)"),
    ],
)
def test_named_network_or_interface_that_the_host_lacks(
    network: str | None, interface: str | None, message: str
) -> None:
    with pytest.raises(HostError) as caught:
        choose_address(
            [LO, ETH0, ETH1, DOCKER],
            "10.0.3.7",
            ipaddress.ip_network(network) if network else None,
            interface,
        )
    assert str(caught.value).startswith(message)
    assert caught.value.host == "10.0.3.7"


def test_a_long_list_of_addresses_is_cut() -> None:
    many = [InterfaceAddress(f"eth{n}", f"10.0.{n}.1") for n in range(100)]
    with pytest.raises(HostError) as caught:
        choose_address(many, "203.0.113.99")
    assert str(caught.value).endswith("eth2 10.0.2.1, ...")
