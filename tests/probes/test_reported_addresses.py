"""What hosts print about their addresses: recorded, hostile, and from this machine."""

from __future__ import annotations

import ipaddress
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.facts import parse_hostname, parse_ip_addr
from plink.probes.hosts.address import InterfaceAddress

# iproute2 6.1 on Debian 12, with a container bridge, a point-to-point link and an alias.
DEBIAN = r"""
1: lo    inet 127.0.0.1/8 scope host lo\       valid_lft forever preferred_lft forever
1: lo    inet6 ::1/128 scope host \       valid_lft forever preferred_lft forever
2: eth0    inet 10.0.3.7/24 metric 100 brd 10.0.3.255 scope global eth0\       valid_lft forever preferred_lft forever
2: eth0    inet 10.0.3.8/24 scope global secondary eth0:1\       valid_lft forever preferred_lft forever
2: eth0    inet6 2001:db8::7/64 scope global dynamic mngtmpaddr \       valid_lft 86394sec preferred_lft 14394sec
2: eth0    inet6 2001:db8::dead/64 scope global temporary dynamic \       valid_lft 86394sec preferred_lft 14394sec
2: eth0    inet6 2001:db8::beef/64 scope global tentative \       valid_lft forever preferred_lft forever
2: eth0    inet6 fe80::fc:ff:fe00:1/64 scope link \       valid_lft forever preferred_lft forever
3: docker0    inet 172.17.0.1/16 brd 172.17.255.255 scope global docker0\       valid_lft forever preferred_lft forever
4: tun0    inet 10.8.0.1 peer 10.8.0.2/32 scope global tun0\       valid_lft forever preferred_lft forever
7: veth1@if6    inet6 fe80::2/64 scope link \       valid_lft forever preferred_lft forever
"""  # noqa: E501

BUSYBOX = """\
1: lo    inet 127.0.0.1/8 scope host lo
2: eth0    inet 10.0.3.7/24 brd 10.0.3.255 scope global eth0
"""


def test_recorded_output_of_iproute2() -> None:
    assert parse_ip_addr(DEBIAN) == [
        InterfaceAddress("lo", "127.0.0.1"),
        InterfaceAddress("lo", "::1"),
        InterfaceAddress("eth0", "10.0.3.7"),
        InterfaceAddress("eth0", "10.0.3.8"),
        InterfaceAddress("eth0", "2001:db8::7"),
        InterfaceAddress("eth0", "fe80::fc:ff:fe00:1"),
        InterfaceAddress("docker0", "172.17.0.1"),
        InterfaceAddress("tun0", "10.8.0.1"),
        InterfaceAddress("veth1", "fe80::2"),
    ]


def test_recorded_output_of_busybox() -> None:
    assert parse_ip_addr(BUSYBOX) == [
        InterfaceAddress("lo", "127.0.0.1"),
        InterfaceAddress("eth0", "10.0.3.7"),
    ]


def test_hostname_gives_addresses_without_interfaces() -> None:
    assert parse_hostname("10.0.3.7 2001:db8::7 \n") == [
        InterfaceAddress("", "10.0.3.7"),
        InterfaceAddress("", "2001:db8::7"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sh: ip: not found",
        "2: eth0    inet",
        "2: eth0    inet 10.0.0.300/24",
        "2: eth0    inet 10.0.0.3/99",
        "2: an-interface-of-20-chars inet 10.0.0.3/24",
        "2: e\x1b[1m    inet 10.0.0.3/24",
        "2: eth0    link/ether 02:fc:00:00:00:01",
    ],
)
def test_other_lines_are_passed_over(text: str) -> None:
    assert parse_ip_addr(text) == []


def test_a_host_cannot_flood_the_list() -> None:
    assert len(parse_ip_addr("2: eth0 inet 10.0.0.3/24\n" * 5000)) == 1024
    assert len(parse_hostname("10.0.0.3 " * 5000)) == 1024


@given(st.one_of(st.text(), st.text("1: etho0 inet6/24.\\\n@")))
def test_any_text_gives_only_true_addresses(text: str) -> None:
    for found in parse_ip_addr(text) + parse_hostname(text):
        ipaddress.ip_address(found.address)
        assert found.interface.isprintable()


interfaces = st.from_regex(r"[a-z][a-z0-9.-]{0,14}", fullmatch=True)
networks = st.builds(
    lambda address, bits: (str(address), bits % (address.max_prefixlen + 1)),
    st.ip_addresses(),
    st.integers(0, 255),
)


@given(st.lists(st.tuples(interfaces, networks), max_size=8))
def test_what_is_written_is_read_back(listed: list[tuple[str, tuple[str, int]]]) -> None:
    text = ""
    for interface, (address, prefix) in listed:
        family = "inet6" if ":" in address else "inet"
        text += f"3: {interface}    {family} {address}/{prefix} scope global {interface}\\  valid\n"
    expected = [InterfaceAddress(name, address) for name, (address, _) in listed]
    assert parse_ip_addr(text) == expected


@pytest.mark.needs("lab")
@pytest.mark.skipif(shutil.which("ip") is None, reason="needs iproute2")
def test_this_machine_has_loopback() -> None:
    text = subprocess.run(
        ["ip", "-o", "addr", "show"], capture_output=True, text=True, check=True
    ).stdout
    assert InterfaceAddress("lo", "127.0.0.1") in parse_ip_addr(text)
