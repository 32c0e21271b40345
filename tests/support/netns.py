"""A network that vanishes with this process, for tests that need no whole lab."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.fleeting import Namespace, namespaces

CLONE_NEWNET = 0x40000000


def enter_namespace(name: str) -> None:
    """Move this thread to a network namespace of `ip netns`.

    Raises:
        OSError: there is none of this name, or this user may not enter it.
    """
    with Path("/run/netns", name).open() as place:
        if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)


@dataclass(frozen=True)
class RoutedPair:
    """A host on either side of a router: 10.77.1.2 and 10.77.2.2, fd77:1::2 and fd77:2::2.

    The router's addresses end in 1. The first host has a second cable into the same network
    (`own0`, without an address on it), as has a machine with a NIC for DPDK alone.
    """

    first: Namespace
    router: Namespace
    second: Namespace


@contextlib.contextmanager
def routed_pair() -> Iterator[RoutedPair]:
    """A standing pair."""
    with namespaces(3) as (first, router, second):
        for number, host in ((1, first), (2, second)):
            router.run(f"ip link add net{number} type bridge")
            for name in ("eth0", "own0"):
                router.run(
                    f"ip link add {name}-{number} type veth peer name {name} netns {host.pid}"
                )
                router.run(f"ip link set {name}-{number} master net{number} up")
                host.run(f"ip link set {name} up")
                host.compute_checksums(name)
            router.run(f"ip link set net{number} up")
            for family, net, bits, extra in (
                ("", f"10.77.{number}.", 24, ""),
                ("-6", f"fd77:{number}::", 64, "nodad"),
            ):
                router.run(f"ip {family} address add {net}1/{bits} dev net{number} {extra}")
                host.run(f"ip {family} address add {net}2/{bits} dev eth0 {extra}")
                host.run(f"ip {family} route add default via {net}1")
            # The kernel would else answer on own0 for the address of eth0.
            host.configure("ipv4/conf/all/arp_ignore", 1)
        for switch in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
            router.configure(switch, 1)
        yield RoutedPair(first, router, second)
