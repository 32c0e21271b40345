"""Workers whose processes or connections end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from plink.hub.worker import Worker


def vanish(worker: Worker) -> None:
    """As when its process is killed: nobody says a word, and the kernel closes the connections."""
    for control in worker._connected.controls:
        control.close()
    worker._connected.controls = []
    assert worker._client is not None
    worker._client.close()
    worker._client = None


def break_connections(worker: Worker) -> None:
    """As when a firewall forgets them: the data connections of this worker end at both ends."""
    ports = set()
    for addresses in worker._connected.joined.addresses:
        ports |= {int(address.rpartition(":")[2]) for address in addresses}
    own = {control._socket.fileno() for control in worker._connected.controls}
    for entry in Path("/proc/self/fd").iterdir():
        fd = int(entry.name)
        if fd in own:
            continue
        try:
            if "socket:" not in str(entry.readlink()):
                continue
            found = socket.socket(fileno=os.dup(fd))
        except OSError:
            continue
        with found:
            try:
                peer = found.getpeername() if found.family == socket.AF_INET else (None, 0)
            except OSError:
                continue
            if peer[1] in ports and _is_of(worker, found):
                found.shutdown(socket.SHUT_RDWR)


def _is_of(worker: Worker, connection: socket.socket) -> bool:
    return connection.getsockname()[1] in worker._connected.local_ports
