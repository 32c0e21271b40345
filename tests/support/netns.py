"""Networks of a few namespaces that vanish with this process, for tests that need no whole lab."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_SIOCETHTOOL = 0x8946
_ETHTOOL_STXCSUM = 0x17


@dataclass(frozen=True)
class Namespace:
    """A network namespace, kept by a process that ends with ours."""

    pid: int

    @property
    def path(self) -> str:
        return f"/proc/{self.pid}/ns/net"

    def command(self, argv: Sequence[object]) -> list[str]:
        """The command line that runs `argv` in it."""
        return ["nsenter", f"--net={self.path}", *map(str, argv)]

    def run(self, line: str) -> str:
        argv = self.command(line.split())
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    def configure(self, setting: str, value: int) -> None:
        """Write a network setting such as `ipv4/ip_forward`."""
        script = 'echo "$2" >"/proc/sys/net/$1"'
        subprocess.run(self.command(["sh", "-c", script, "sh", setting, value]), check=True)

    def socket(self, family: int, kind: int, protocol: int = 0) -> socket.socket:
        """A socket of this process that lives in the namespace."""
        made: list[socket.socket] = []

        def make() -> None:
            libc = ctypes.CDLL(None, use_errno=True)
            fd = os.open(self.path, os.O_RDONLY)
            try:
                if libc.setns(fd, _CLONE_NEWNET) == 0:
                    made.append(socket.socket(family, kind, protocol))
            finally:
                os.close(fd)

        # Only this thread moves into the namespace.
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        return made[0]

    def compute_checksums(self, interface: str) -> None:
        """Let the kernel fill checksums in, which it leaves to the NIC where there is a cable."""
        with self.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            value = ctypes.create_string_buffer(struct.pack("II", _ETHTOOL_STXCSUM, 0))
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
            fcntl.ioctl(any_socket, _SIOCETHTOOL, request)


@contextlib.contextmanager
def namespaces(count: int) -> Iterator[list[Namespace]]:
    """The given number of namespaces that contain only their loopback interfaces."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            # It ends with its standard input, hence with this process.
            keeper = stack.enter_context(
                subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
            )
            stack.callback(keeper.kill)
            _wait_until_apart(keeper.pid)
            made.append(Namespace(keeper.pid))
            made[-1].run("ip link set lo up")
        yield made


def _wait_until_apart(pid: int) -> None:
    ours = Path("/proc/self/ns/net").readlink()
    while True:
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/ns/net").readlink() != ours:
                return
        os.sched_yield()


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
