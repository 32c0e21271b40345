"""How fast and how far apart two lab hosts really are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from statistics import quantiles

from support.lab import EXEC_TIMEOUT_S, Lab, program

_SERVER = """
import socket, sys, time
listener = socket.create_server((sys.argv[1], 5301))
# What comes while this process does not run is not read at once, faster than the link.
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
print("listening", flush=True)
connection, _ = listener.accept()
count, start = 0, None
while data := connection.recv(1 << 20):
    # The first burst passes unshaped: the clock starts after it.
    if start is None and count > 1 << 20:
        start, first = time.monotonic(), count
    count += len(data)
print((count - first) * 8 / (time.monotonic() - start) / 1e6)
"""
_CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], 5301)) as connection:
    connection.sendall(bytes(int(sys.argv[2]) << 20))
"""


def p10_us(lab: Lab, source: str, targets: Sequence[str]) -> dict[str, float]:
    """The 10th percentile of 300 round trips to each target in µs, by fping.

    The targets take turns, so that what else the machine does falls on all of them alike.
    """
    # A target may be looked for (ARP) for longer than the round trips are measured.
    lab.exec(source, ["fping", "-q", "-r", "20", *targets])
    argv = ["fping", "-q", "-C", "300", "-p", "3", "-i", "1", *targets]
    percentiles = {}
    for line in lab.exec(source, argv).stderr.splitlines():
        target, colon, times = line.partition(":")
        if colon:
            times_us = [float(time) * 1000 for time in times.split() if time != "-"]
            percentiles[target.strip()] = quantiles(times_us, n=10)[0]
    return percentiles


def transfer_mbit(lab: Lab, source: str, target: str, megabytes: int = 12) -> float:
    """Send so many megabytes from one host to another; return the rate in Mbit/s."""
    address = lab.truth["addresses"][target]
    argv = [*program(), "exec", "--name", lab.name, target, "--"]
    argv += [sys.executable, "-c", _SERVER, address]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()
            lab.exec(source, [sys.executable, "-c", _CLIENT, address, str(megabytes)])
            printed, _ = server.communicate(timeout=EXEC_TIMEOUT_S)
        finally:
            server.kill()
    return float(printed)
