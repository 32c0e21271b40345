"""Two ranks whose hosts are milliseconds apart; prints the congestion control of each.

To be run as the root of a network namespace of its own. Each rank is a thread in another one,
joined by a program that lets packets wait.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from engine.forests import stars
from plink.engine import DirectoryStore, Engine, Options

WAY_S = 0.001
TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001
CLONE_NEWNET = 0x40000000


def end_of_wire(address: str) -> int:
    """A device of this thread's network namespace: what the kernel sends there can be read."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", b"far0", IFF_TUN_NO_PI))
    subprocess.run(["ip", "address", "add", f"{address}/24", "dev", "far0"], check=True)
    subprocess.run(["ip", "link", "set", "far0", "up"], check=True)
    return device


def carry(source: int, target: int) -> None:
    """Bring packets from one end to the other, each late."""
    while True:
        packet = os.read(source, 65536)
        time.sleep(WAY_S)
        os.write(target, packet)


def main(folder: str) -> None:
    ends: dict[int, int] = {}
    are_there = threading.Barrier(2)

    def rank(number: int) -> list[str]:
        if number == 1 and ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "no network namespace")
        address = f"10.99.0.{number + 1}"
        ends[number] = end_of_wire(address)
        are_there.wait(10)
        way = (ends[number], ends[1 - number])
        threading.Thread(target=carry, args=way, daemon=True).start()
        options = Options(addresses=(address,), setup_timeout_s=20.0)
        with Engine(number, 2, DirectoryStore(folder), stars(2), options) as engine:
            engine.barrier().wait(10)
            return [one.congestion_control for one in engine.statistics().connections]

    with ThreadPoolExecutor(2) as threads:
        print(json.dumps(list(threads.map(rank, range(2)))))


if __name__ == "__main__":
    main(sys.argv[1])
