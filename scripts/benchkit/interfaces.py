"""Hosts with several interfaces, each of which is in a network of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from labkit.fleeting import Namespace, namespaces


def address(network: int, host: int) -> str:
    """Of a host's interface in a network; both count from 0."""
    return f"10.79.{network}.{host + 1}"


@contextlib.contextmanager
def hosts_with_interfaces(rates_mbit_s: Sequence[Sequence[int]]) -> Iterator[list[Namespace]]:
    """Hosts whose interfaces carry so much at most, in either direction.

    Args:
        rates_mbit_s: by host, those of its interfaces in network 0, 1 and so on.
    """
    with namespaces(len(rates_mbit_s) + 1) as (switch, *hosts):
        for network in range(max(map(len, rates_mbit_s))):
            switch.run(f"ip link add net{network} type bridge")
            switch.run(f"ip link set net{network} up")
        for number, (host, rates) in enumerate(zip(hosts, rates_mbit_s, strict=True)):
            for network, rate in enumerate(rates):
                name, port = f"eth{network}", f"eth{network}-{number}"
                switch.run(f"ip link add {port} type veth peer name {name} netns {host.pid}")
                switch.run(f"ip link set {port} master net{network} up")
                host.run(f"ip link set {name} up")
                host.run(f"ip address add {address(network, number)}/24 dev {name}")
                _limit(switch, port, rate)
                _limit(host, name, rate)
        yield hosts


def _limit(where: Namespace, device: str, rate_mbit_s: int) -> None:
    where.run(
        f"tc qdisc replace dev {device} root tbf rate {rate_mbit_s}mbit burst 256kb latency 50ms"
    )
