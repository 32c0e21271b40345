"""Hosts of a lab with several interfaces: each carries its own address's traffic, at its rate."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from ipaddress import IPv4Network

import pytest

from labkit import wiring
from labkit.arguments import parser, shape_of
from labkit.errors import WrongUseError
from labkit.namespaces import inside
from labkit.shape import Shape
from labkit.state import from_json
from labkit.topology import place
from labkit.wiring import namespace
from support.lab import Lab, lab_cluster
from support.require import require_fping

RATE_MBIT = 40
SENT_BYTES = 3_000_000


def shape(*options: str) -> Shape:
    return shape_of(parser().parse_args(["up", *options]))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--ports", "n01"], "'n01' is not HOST=NUMBER"),
        (["--ports", "n01=4,n01=2"], "names n01 twice"),
        (["--ports", "n01=0"], "n01 would have 0 interfaces, expected 1 to 32"),
        (["--ports", "n01=33"], "n01 would have 33 interfaces"),
        (["--ports", "n01=2", "--routed"], "hosts of a routed lab have one interface"),
    ],
)
def test_what_cannot_be_is_refused(options: list[str], said: str) -> None:
    with pytest.raises(WrongUseError, match=re.escape(said)):
        shape(*options)


def test_others_keep_their_names_and_addresses() -> None:
    subnet = IPv4Network("10.140.3.0/24")
    plain = place("lab", shape("--hosts", "3"), 7, subnet)
    ported = place("lab", shape("--hosts", "3", "--ports", "n02=3", "--ports", "n05=2"), 7, subnet)
    assert [(host.name, host.address, host.rack) for host in plain.hosts] == [
        (host.name, host.address, host.rack) for host in ported.hosts
    ]
    counts = {host.name: len(host.addresses) for host in ported.hosts if host.further}
    assert counts == {"n02": 3, "n05": 2}
    every = [address for host in ported.hosts for address in host.addresses]
    assert len({*every, ported.machine_address}) == 12 + 3 + 1
    ends = [end for cable in wiring.cables(ported) for end in (cable.lower, cable.upper)]
    assert len(set(ends)) == len(ends)
    with pytest.raises(WrongUseError, match="no host 'n13' to have 2 interfaces"):
        place("lab", shape("--hosts", "3", "--ports", "n13=2"), 7, subnet)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    options = ["--ports", "n01=3"]
    with lab_cluster(racks=2, hosts=2, host_rate=f"{RATE_MBIT}mbit", options=options) as standing:
        yield standing


def flow(lab: Lab, by: tuple[str, str], to: tuple[str, str]) -> float:
    """Send from one host's address to another's; Mbit/s of the payload."""
    with inside(namespace(lab.name, to[0])):
        listener = socket.create_server((to[1], 0))
    with inside(namespace(lab.name, by[0])):
        out = socket.create_connection(listener.getsockname(), 5.0, (by[1], 0))
    into, _ = listener.accept()
    began = time.monotonic()
    with listener, out, into:
        received = 0
        sending = threading.Thread(target=out.sendall, args=(bytes(SENT_BYTES),))
        sending.start()
        while received < SENT_BYTES:
            received += len(into.recv(1 << 18))
        sending.join()
        return 8e-6 * received / (time.monotonic() - began)


def carried(lab: Lab, host: str) -> dict[str, int]:
    """Bytes that each interface of a host has sent and received."""
    found = json.loads(lab.exec(host, ["ip", "-s", "-j", "link", "show"]).stdout)
    return {
        link["ifname"]: link["stats64"]["tx"]["bytes"] + link["stats64"]["rx"]["bytes"]
        for link in found
    }


@pytest.mark.lab
@pytest.mark.parametrize("port", [0, 1, 2])
def test_an_interface_carries_what_its_address_sends_and_gets(lab: Lab, port: int) -> None:
    addresses = lab.truth["ports"]["n01"]
    assert addresses[0] == lab.truth["addresses"]["n01"]
    far = next(n for n, rack in lab.truth["hosts"].items() if rack != lab.truth["hosts"]["n01"])
    own, other = ("n01", addresses[port]), (far, lab.truth["addresses"][far])
    before = carried(lab, "n01")
    rates = [flow(lab, own, other), flow(lab, other, own)]
    after = carried(lab, "n01")
    for rate in rates:
        # What a bucket lets through at once adds to it.
        assert 0.5 * RATE_MBIT < rate < 1.4 * RATE_MBIT, rates
    for number in range(3):
        bytes_there = after[f"eth{number}"] - before[f"eth{number}"]
        if number == port:
            assert bytes_there > 2 * SENT_BYTES
        else:
            assert bytes_there < 100_000


@pytest.mark.lab
def test_all_interfaces_are_set_stopped_and_moved_together(lab: Lab) -> None:
    name, addresses = "n01", lab.truth["ports"]["n01"]
    far = next(n for n, rack in lab.truth["hosts"].items() if rack != lab.truth["hosts"][name])
    lab.lab("set", name, "--rate", "10mbit")
    other = (far, lab.truth["addresses"][far])
    assert flow(lab, (name, addresses[2]), other) < 20
    lab.lab("stop", name)
    assert not answering(lab, far, addresses)
    lab.lab("move", name, lab.truth["hosts"][far])
    assert not answering(lab, far, addresses)
    lab.lab("start", name)
    assert answering(lab, far, addresses) == addresses
    text = lab.lab("status")
    assert "+".join(addresses) in text
    state = from_json((lab.dir / "lab.json").read_text(), "lab.json")
    assert list(state.topology.host(name).addresses) == addresses


def answering(lab: Lab, host: str, addresses: list[str]) -> list[str]:
    """Which of them a ping reaches."""
    require_fping()
    ping = ["fping", "-a", "-r", "0", "-t", "500", *addresses]
    return lab.exec(host, ping, check=False).stdout.split()
