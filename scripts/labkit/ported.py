"""Racks of hosts that have several interfaces of their own rates, all in one network.

They vanish with this process, as `labkit.fleeting` does. Each interface is a cable of its own, and
a host sends by the interface whose address it sends from, as clouds set their machines up (`ip
rule`, `arp_ignore`, `arp_announce`): so a port of a server carries its own traffic both ways, and
no other's. What names no address of its own leaves by the first interface.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labkit.fleeting import Namespace, namespaces
from labkit.rates import burst_bytes
from labkit.texts import QUEUE_MS

NETWORK = "10.81.0.0/16"
# An interface's address is 10.81.host.interface, both from 1.
_MOST_HOSTS = 254
_FIRST_TABLE = 100
_BRIDGE = "br0"
_UPLINK = "uplink"


@dataclass(frozen=True)
class PortedRack:
    """A rack to be built.

    Args:
        rates_bits: of each host, of each of its interfaces, in bit/s; None is unshaped.
        uplink_rate_bits: of its cable to the spine; None is unshaped.
    """

    rates_bits: Sequence[Sequence[int | None]]
    uplink_rate_bits: int | None = None


@dataclass(frozen=True)
class PortedHost:
    """A standing host.

    Args:
        namespace: that it lives in.
        rack: counted from 0.
        addresses: of its interfaces `eth0`, `eth1` and so on.
    """

    namespace: Namespace
    rack: int
    addresses: tuple[str, ...]

    @property
    def interfaces(self) -> tuple[str, ...]:
        """The names of its interfaces, in the order of the addresses."""
        return tuple(f"eth{number}" for number in range(len(self.addresses)))

    def bytes_through(self) -> list[tuple[int, int]]:
        """Bytes sent and received so far by each interface, as the kernel counts them."""
        found = json.loads(self.namespace.run("ip -s -j link show"))
        counted = {link["ifname"]: link["stats64"] for link in found}
        return [
            (counted[name]["tx"]["bytes"], counted[name]["rx"]["bytes"]) for name in self.interfaces
        ]

    def set_rate(self, interface: int, rate_bits: int | None) -> None:
        """Change what an interface sends at most; what it receives stays."""
        self.namespace.batch([_shaping(f"eth{interface}", rate_bits)], "tc")


@contextlib.contextmanager
def ported_racks(
    racks: Sequence[PortedRack], congestion_control: str | None = None
) -> Iterator[list[PortedHost]]:
    """Racks whose switches hang at a spine; a single rack is one switch and has no uplink.

    Both ends of every cable are shaped to its rate.

    Args:
        racks: with at most 254 hosts in all.
        congestion_control: TCP's on every host, such as `reno`; None leaves the machine's.

    Yields:
        the hosts, rack by rack in the order given.
    """
    rates = [(rack, ports) for rack, one in enumerate(racks) for ports in one.rates_bits]
    if not 0 < len(rates) <= _MOST_HOSTS:
        raise ValueError(f"{len(rates)} hosts, expected 1 to {_MOST_HOSTS}")
    with namespaces(1 + len(racks) + len(rates)) as made:
        spine, switches, homes = made[0], made[1 : 1 + len(racks)], made[1 + len(racks) :]
        for switch in [spine, *switches]:
            switch.configure_if_known("bridge/bridge-nf-call-iptables", 0)
            switch.configure("ipv6/conf/default/disable_ipv6", 1)
            switch.batch([f"link add {_BRIDGE} type bridge stp_state 0 mcast_snooping 0"])
            switch.batch([f"link set {_BRIDGE} up"])
        for number, (switch, rack) in enumerate(zip(switches, racks, strict=True)):
            if len(racks) > 1:
                _plug(switch, _UPLINK, spine, f"r{number}", rack.uplink_rate_bits)
                switch.batch([f"link set {_UPLINK} master {_BRIDGE} up"])
        hosts = []
        for number, (home, (at, ports)) in enumerate(zip(homes, rates, strict=True)):
            addresses = [f"10.81.{number + 1}.{port + 1}" for port in range(len(ports))]
            hosts.append(PortedHost(home, at, tuple(addresses)))
            _settle(home, addresses, congestion_control)
            for port, rate_bits in enumerate(ports):
                _plug(home, f"eth{port}", switches[at], f"h{number}-{port}", rate_bits)
            home.batch(_address_lines(addresses))
        yield hosts


def worker_and_server_rates(
    workers: int, worker_rate_bits: int | None, server_ports: Sequence[int | None]
) -> list[Sequence[int | None]]:
    """Of so many workers with one interface, and of a server with these ports, which comes last."""
    return [*([[worker_rate_bits]] * workers), list(server_ports)]


def _plug(lower: Namespace, name: str, switch: Namespace, port: str, rate_bits: int | None) -> None:
    """A cable from an interface to a port of a switch's bridge."""
    switch.batch(
        [
            f"link add {port} type veth peer name {name} netns {lower.pid}",
            f"link set {port} master {_BRIDGE} up",
        ]
    )
    if rate_bits is not None:
        switch.batch([_shaping(port, rate_bits)], "tc")
        lower.batch([_shaping(name, rate_bits)], "tc")


def _settle(home: Namespace, addresses: Sequence[str], congestion_control: str | None) -> None:
    home.configure("ipv6/conf/default/disable_ipv6", 1)
    if congestion_control is not None:
        home.configure("ipv4/tcp_congestion_control", congestion_control)
    if len(addresses) > 1:
        home.configure("ipv4/conf/all/arp_ignore", 1)
        home.configure("ipv4/conf/all/arp_announce", 2)
        # A reply may arrive by an interface that the main table would not send by.
        for which in ("all", "default"):
            home.configure(f"ipv4/conf/{which}/rp_filter", 0)


def _address_lines(addresses: Sequence[str]) -> Iterator[str]:
    for port, address in enumerate(addresses):
        name, table = f"eth{port}", _FIRST_TABLE + port
        # Only the first knows the network by itself, so that it is the one for whoever asks for
        # no address.
        yield f"address add {address}/{16 if port == 0 else 32} dev {name}"
        yield f"link set {name} up"
        yield f"route add {NETWORK} dev {name} src {address} table {table}"
        yield f"rule add from {address} table {table}"


def _shaping(interface: str, rate_bits: int | None) -> str:
    if rate_bits is None:
        return f"qdisc del dev {interface} root"
    return (
        f"qdisc replace dev {interface} root tbf rate {rate_bits}bit"
        f" burst {burst_bytes(rate_bits)} latency {QUEUE_MS}ms"
    )
