"""Namespaces of the network that vanish with this process, for what needs no whole lab."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
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
        """Where it can be entered."""
        return f"/proc/{self.pid}/ns/net"

    def command(self, argv: Sequence[object]) -> list[str]:
        """The command line that runs `argv` in it."""
        return ["nsenter", f"--net={self.path}", *map(str, argv)]

    def run(self, line: str) -> str:
        """What a command line, whose words have no spaces, says there."""
        argv = self.command(line.split())
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    def batch(self, lines: Iterable[str], program: str = "ip") -> None:
        """Run commands of `ip` or `tc` there, in one process."""
        argv, text = self.command([program, "-batch", "-"]), "".join(f"{line}\n" for line in lines)
        subprocess.run(argv, check=True, input=text, capture_output=True, text=True)

    def configure(self, setting: str, value: object) -> None:
        """Write a network setting such as `ipv4/ip_forward`."""
        script = 'echo "$2" >"/proc/sys/net/$1"'
        subprocess.run(self.command(["sh", "-c", script, "sh", setting, value]), check=True)

    def configure_if_known(self, setting: str, value: object) -> None:
        """The same for a setting that some kernels lack."""
        script = '[ ! -e "/proc/sys/net/$1" ] || echo "$2" >"/proc/sys/net/$1"'
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
