"""The choice of an address on hosts with interfaces of containers, VPNs and fabrics."""

from __future__ import annotations

import pytest

from plink.probes.errors import HostError
from plink.probes.facts import parse_ip_addr
from plink.probes.hosts.address import choose_address, describe_choices

ETH0 = "2: eth0    inet 10.0.3.7/24 brd 10.0.3.255 scope global eth0\n"
ROUTE = "default via 10.0.3.1 dev eth0 proto dhcp metric 100\n"
SECOND = "3: eth1    inet 10.1.3.7/24 scope global eth1\n"
PUBLIC = "203.0.113.99"

BESIDE = {
    "cilium": "9: cilium_host    inet 10.244.1.5/32 scope global cilium_host\n",
    "cilium's pods": "9: lxc_health    inet 10.244.1.6/24 scope global lxc_health\n",
    "calico": "9: vxlan.calico    inet 10.244.7.0/32 scope global vxlan.calico\n",
    "calico over ip": "9: tunl0    inet 10.244.7.0/32 scope global tunl0\n",
    "ovn": "9: ovn-k8s-mp0    inet 10.244.0.2/23 scope global ovn-k8s-mp0\n",
    "weave": "9: weave    inet 10.32.0.1/12 scope global weave\n",
    "tailscale": "9: tailscale0    inet 100.101.1.2/32 scope global tailscale0\n",
    "incus": "9: incusbr0    inet 10.158.1.1/24 scope global incusbr0\n",
    "docker": "9: docker0    inet 172.17.0.1/16 scope global docker0\n",
    "flannel": "9: flannel.1    inet 10.42.0.0/32 scope global flannel.1\n",
    "kube-router": "9: kube-bridge    inet 10.42.1.1/24 scope global kube-bridge\n",
    "wireguard": "9: wg0    inet 10.8.0.3/24 scope global wg0\n",
    "wireguard by kind": "9: office    inet 10.8.0.3/24 scope global\nlink office wireguard\n",
    "openvpn by kind": "9: corp    inet 10.8.0.3/24 scope global corp\nlink corp tun\n",
    "a service's address": "2: eth9    inet 10.0.9.9/32 scope global eth9\n",
}


def chosen(text: str, ssh_address: str = PUBLIC) -> str:
    return choose_address(parse_ip_addr(text), ssh_address).interface


@pytest.mark.parametrize("title", BESIDE)
@pytest.mark.parametrize("route", ["", ROUTE])
def test_a_real_interface_wins(title: str, route: str) -> None:
    assert chosen(ETH0 + BESIDE[title] + route) == "eth0"
    assert chosen(BESIDE[title] + ETH0 + route) == "eth0"


@pytest.mark.parametrize("title", BESIDE)
def test_it_wins_where_ssh_came_by_the_other(title: str) -> None:
    (other, *_) = parse_ip_addr(BESIDE[title])
    assert chosen(ETH0 + BESIDE[title], other.address) == "eth0"


def test_the_default_route_decides_between_real_ones() -> None:
    assert chosen(ETH0 + SECOND + ROUTE) == "eth0"
    assert chosen(ETH0 + SECOND + "default via 10.1.3.1 dev eth1\n" + ROUTE) == "eth1"
    with pytest.raises(HostError):
        chosen(ETH0 + SECOND)


def test_a_bridge_with_the_default_route_is_the_hosts_own() -> None:
    text = "5: br-ex    inet 10.0.3.7/24 scope global br-ex\ndefault via 10.0.3.1 dev br-ex\n"
    assert chosen(text + BESIDE["ovn"]) == "br-ex"


def test_without_a_real_one_what_there_is_is_taken() -> None:
    assert chosen(BESIDE["tailscale"]) == "tailscale0"
    assert chosen("2: eth0    inet 10.244.1.9/32 scope global eth0\n") == "eth0"
    with pytest.raises(HostError):
        chosen(BESIDE["docker"])


def test_a_management_interface_beside_a_fabric_is_said() -> None:
    bond = "2: bond0    inet 100.65.1.2/10 scope global bond0\ndefault via 100.64.0.1 dev bond0\n"
    fabric = "".join(
        f"{number}: hsn{number}    inet 10.253.{number}.2/16 scope global hsn{number}\n"
        for number in range(4)
    )
    found = parse_ip_addr(bond + fabric)
    choice = choose_address(found, "100.65.1.2")
    assert choice.interface == "bond0"
    said = describe_choices({"n1": choice.address}, {"n1": found})
    assert said is not None
    assert all(name in said for name in ("bond0", "hsn0", "hsn1", "hsn2", "1 more"))


def test_a_host_with_one_network_gives_nothing_to_say() -> None:
    found = parse_ip_addr(ETH0 + BESIDE["docker"])
    assert describe_choices({"n1": "10.0.3.7"}, {"n1": found}) is None
